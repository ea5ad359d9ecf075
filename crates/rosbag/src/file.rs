//! The structure of the file outside chunks: header, top-level records and index.

pub(crate) mod bag;
pub(crate) mod compression_stats;
pub(crate) mod file_header;
pub(crate) mod index;
pub(crate) mod index_entries;
pub(crate) mod toplevel_record;
