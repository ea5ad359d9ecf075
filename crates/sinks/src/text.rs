//! Values as text: numbers, times and special values.

pub(crate) mod infinities;
pub(crate) mod number;
pub(crate) mod number_format;
pub(crate) mod parallel_rows;
pub(crate) mod shortest_decimal;
pub(crate) mod text_buffer;
pub(crate) mod time_text;
