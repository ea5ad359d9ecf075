//! Building the manifest: from the index, or from a scan of the file.

pub(crate) mod chunk_statistics;
pub(crate) mod manifest_builder;
pub(crate) mod scan;
