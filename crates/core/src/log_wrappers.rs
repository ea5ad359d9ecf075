//! Logs that change the records, times or columns of another log while it is read.

pub(crate) mod payload_log;
pub(crate) mod shifted_log;
pub(crate) mod translated_log;
pub(crate) mod usable_times;
