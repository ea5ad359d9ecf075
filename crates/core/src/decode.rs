//! Decoders that turn records into Arrow columns.

pub(crate) mod column_budget;
pub(crate) mod columns;
pub(crate) mod raw_decoder;
pub(crate) mod tree;
pub(crate) mod unique_names;
