//! The records in chunks: connections and messages, and the scanner that finds them.

pub(crate) mod chunk_record;
pub(crate) mod record_scanner;
pub(crate) mod version_1;
