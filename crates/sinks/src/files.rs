//! Output files: their names, and writing them so that they are complete or absent.

pub(crate) mod background_writer;
pub(crate) mod deferred_error_writer;
pub(crate) mod file_name;
pub(crate) mod partition;
pub(crate) mod staged_outputs;
