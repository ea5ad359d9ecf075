//! Options for writing a bag.

use crate::codec::compression::Compression;

/// The default size of chunks before compression, which is that of ROS.
const DEFAULT_CHUNK_BYTES: u32 = 768 << 10;

/// Options for writing a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The compression of chunks; the default is `None`.
    pub compression: Compression,
    /// The size before compression, in bytes, above which a chunk is ended.
    pub chunk_bytes: u32,
}

impl WriterOptions {
    /// Sets the compression of chunks.
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the size before compression, in bytes, above which a chunk is ended. ROS cannot read
    /// chunks of 2 GiB or more.
    #[must_use]
    pub const fn with_chunk_bytes(mut self, chunk_bytes: u32) -> Self {
        self.chunk_bytes = chunk_bytes;
        self
    }
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { compression: Compression::None, chunk_bytes: DEFAULT_CHUNK_BYTES }
    }
}
