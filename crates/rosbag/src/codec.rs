//! Compression and encryption of chunks.

pub(crate) mod compression;
pub(crate) mod encryption;
pub(crate) mod encryption_info;
