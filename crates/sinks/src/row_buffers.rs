//! Buffers of rows, and the memory that they use.

pub(crate) mod memory_budget;
pub(crate) mod memory_size;
pub(crate) mod row_buffer;
