//! The process that runs Python: its threads, its memory, calls of the library and long jobs.

pub(crate) mod allocator;
pub(crate) mod call;
pub(crate) mod job;
pub(crate) mod process;
