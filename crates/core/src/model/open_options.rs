//! Options for opening a log.

/// Options for opening a log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The length of a block in bytes, unless a single record is longer. The default fits
    /// in the caches of a processor.
    pub block_bytes: u32,
    /// The maximum length of a record or of a decompressed chunk in bytes. A greater
    /// length is treated as corrupt.
    pub record_bytes: u32,
    /// Whether to read a file that requires a newer reader.
    pub force: bool,
    /// Whether to compare an index with the data before it is used, as far as possible
    /// without decompression.
    pub compare_index: bool,
    /// Whether the caller knows the format. Then a damaged start of the file is reported
    /// as damage, rather than as an unknown format.
    pub is_format_given: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            block_bytes: 256 << 10,
            record_bytes: 256 << 20,
            force: false,
            compare_index: false,
            is_format_given: false,
        }
    }
}
