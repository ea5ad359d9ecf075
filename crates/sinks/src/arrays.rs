//! Tables as arrays: NumPy's `.npz`, MATLAB's `.mat`.
//!
//! Both formats store a column as one array after its length, while tables arrive row by row. So
//! the rows of all tables are first stored column by column in one temporary file. Then one column
//! at a time is read back and written. Memory does not depend on the length of the log.
//!
//! Both formats represent nested and missing values like this:
//!
//! - a list of fixed length adds a dimension: `q` of `float[4]` has a row of 4 for each record;
//! - a struct is represented by its fields;
//! - times are 64-bit nanoseconds;
//! - if a column of integers, booleans or strings has nulls, a boolean array states which values
//!   are present. A missing float is NaN, and a missing time is the least integer.

mod column;
mod mat;
mod npz;
mod spill_file;
mod table;

pub use crate::arrays::{mat::MatSink, npz::NpzSink};
