//! Tables in CSV and Parquet files as logs.
//!
//! Each file is a log with one topic. One column, the [time column](time_column), contains the
//! times of the rows. The other columns are the columns of the topic.
//!
//! ```text
//! flight.csv                          the topic "flight"
//! timestamp,voltage_v,cell_v[0],...   the first line has the names of the columns
//! 5020174,14.33,3.58,...              each other line is a record
//! ```

pub mod time_column;

mod column_names;

mod flat_columns;

pub mod csv;

pub mod parquet;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
