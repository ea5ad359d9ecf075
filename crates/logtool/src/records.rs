//! The records of open logs: their tables, messages and signals.

pub mod labels;
pub mod log;
pub(crate) mod message_text;
pub(crate) mod number_table;
pub(crate) mod parallel;
pub mod read;
pub mod rows;
pub mod series;
pub(crate) mod signals;
pub mod translate;
