//! Formats that store a table column by column.

pub(crate) mod dictionary_unifier;
pub(crate) mod flight_review;
pub(crate) mod ipc;
pub(crate) mod parquet;
pub(crate) mod spark;
