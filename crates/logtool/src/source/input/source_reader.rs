//! Reads a source sequentially.

use std::{
    io::{self, Read},
    sync::Arc,
};

use logtool_core::Source;

/// The number of bytes that are read at once.
const READ_BYTES: u64 = 1 << 20;

/// A source with the interface [`Read`].
pub(crate) struct SourceReader {
    source: Arc<dyn Source>,
    offset: u64,
    failure: Option<io::Error>,
}

impl SourceReader {
    /// Creates a reader at the start of `source`.
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, offset: 0, failure: None }
    }

    /// Returns the error that ended reading, if there was one.
    pub(super) fn end(self) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = READ_BYTES.min(buffer.len() as u64);
        let bytes =
            match self.source.read_at(self.offset..self.offset.saturating_add(len)) {
                Ok(bytes) => bytes,
                Err(err) => {
                    let error = io::Error::new(err.kind(), err.to_string());
                    self.failure = Some(err);
                    return Err(error);
                }
            };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.source.release(self.offset..self.offset + bytes.len() as u64);
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }
}
