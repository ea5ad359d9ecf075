//! Tables as arrays: NumPy's `.npz`, MATLAB's `.mat`.
//!
//! Both want a column whole and with its length before it, and tables come by rows. So
//! the rows of all tables are put down in one temporary file, column by column, and what
//! is then read back of it is one column at a time, whatever the log is long.
//!
//! What is nested becomes arrays like this, in both:
//!
//! - a list of fixed length is one more dimension: `q` of `float[4]` has a row of 4 for
//!   each record;
//! - a struct is its fields;
//! - times are 64-bit nanoseconds;
//! - where a number, a truth or a text may be missing, and some are, an array of truths
//!   says where there is one. A missing float is NaN, a missing time the least integer.

mod column;
mod mat;
mod npz;
mod spill;
mod table;

pub use crate::arrays::{mat::MatSink, npz::NpzSink};
