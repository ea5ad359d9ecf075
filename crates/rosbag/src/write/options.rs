//! How a bag is written.

use crate::chunk::Compression;

/// The length that chunks have unless told otherwise, which is that of ROS.
const CHUNK: u32 = 768 << 10;

/// How a bag is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// How chunks are packed; not at all if nothing is said.
    pub compression: Compression,
    /// A chunk that is longer than so many bytes, before it is packed, is ended.
    pub chunk_bytes: u32,
}

impl WriterOptions {
    /// The same, with chunks that are packed like this.
    #[must_use]
    pub const fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The same, with chunks that are ended when they are longer than this. One that
    /// is 2 GiB or longer cannot be read by ROS itself.
    #[must_use]
    pub const fn with_chunk_bytes(mut self, chunk_bytes: u32) -> Self {
        self.chunk_bytes = chunk_bytes;
        self
    }
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { compression: Compression::None, chunk_bytes: CHUNK }
    }
}
