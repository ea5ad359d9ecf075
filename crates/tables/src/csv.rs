//! Comma-separated values (RFC 4180), also separated by semicolons or tabs.
//!
//! ```text
//! timestamp,voltage_v,cell_v[0],cell_v[1],message    the names of the columns
//! 5020174,14.33,3.58,3.59,"low, but ""safe"""        a row; a cell in quotes may contain lines
//! 5520174,,3.58,3.59,                                empty cells are null
//! ```
//!
//! The type of a column is derived from all of its cells. A record is a row, and its payload
//! consists of the bytes of the row in the file, without the line end.

// In reading order: each module uses only those above it.
mod row_parser;

mod cell_type;

mod header;

mod columns;

mod cursor;

mod first_pass;

mod decoder;

mod format;

pub use self::format::{Csv, FORMAT};
