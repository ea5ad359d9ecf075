//! Formats that store a table row by row, as text.

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod json_lines;
