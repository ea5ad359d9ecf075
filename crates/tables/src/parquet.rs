//! Apache Parquet files.
//!
//! ```text
//! PAR1 | row group | row group | ... | footer: the schema, and the offsets of the columns | PAR1
//! ```
//!
//! A record is a row, and its payload is the row in the row format of the crate `arrow-row`.
//! Columns keep their types, except that dictionaries are replaced by their values, and that
//! strings and lists have 32-bit offsets.

// In reading order: each module uses only those above it.
mod error;

mod footer;

mod schema;

mod pages;

mod value_sizes;

mod row_group_sizes;

mod times;

mod cursor;

mod decoder;

mod open_file;

mod format;

pub use self::{
    error::catches_panics,
    format::{FORMAT, Parquet},
};
