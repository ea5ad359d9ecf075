//! Decompresses the LZ4 frames of a file one after the other.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::{Error, FrameDecoder};

/// A reader of the content of all LZ4 frames of a file.
pub(super) struct Lz4Frames<R: BufRead> {
    frame: FrameDecoder<PackedBytes<R>>,
}

/// The compressed bytes.
struct PackedBytes<R> {
    bytes: R,
    /// Whether more bytes were requested than there are.
    is_exceeded: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    /// Creates a reader of the frames in `bytes`.
    pub(super) fn new(bytes: R) -> Self {
        Self { frame: FrameDecoder::new(PackedBytes { bytes, is_exceeded: false }) }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.frame.read(buffer) {
                // The decoder takes an end between two blocks for the end of the frame.
                Ok(0) if self.frame.get_ref().is_exceeded => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(0) if !buffer.is_empty() => {
                    if self.frame.get_mut().bytes.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                }
                Ok(len) => return Ok(len),
                Err(err) => match skipped_bytes(&err) {
                    Some(len) => self.frame.get_mut().skip(len)?,
                    None => return Err(err),
                },
            }
        }
    }
}

impl<R: BufRead> PackedBytes<R> {
    fn skip(&mut self, len: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.bytes).take(len), &mut io::sink())?;
        if skipped < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl<R: BufRead> Read for PackedBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(buffer)?;
        self.is_exceeded |= len == 0 && !buffer.is_empty();
        Ok(len)
    }
}

/// Returns the length of the skippable frame that `err` is about, if it is about one.
fn skipped_bytes(err: &io::Error) -> Option<u64> {
    match err.get_ref()?.downcast_ref()? {
        Error::SkippableFrame(len) => Some(u64::from(*len)),
        _ => None,
    }
}
