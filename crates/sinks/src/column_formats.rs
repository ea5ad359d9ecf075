//! Formats that store a table column by column.

pub(crate) mod flight_review;
pub(crate) mod ipc;
pub(crate) mod one_dictionary;
pub(crate) mod parquet;
pub(crate) mod spark;
