//! Opening logs and reading parts.

pub(crate) mod continuation;
pub(crate) mod cursor;
pub(crate) mod file_start;
pub(crate) mod open_log;
