//! Sources of bytes.

mod buffer_pool;
mod file;
mod prefetch;

use std::{fs::File, io, ops::Range};

use bytes::Bytes;

pub use self::file::FileSource;

/// Bytes that several threads can read at any offset.
///
/// [`Bytes`] are the source of everything in memory, including memory maps: reading
/// returns a slice without copying it. Applications create memory maps, because only an
/// application can promise that the file is not truncated while it is mapped:
///
/// ```text
/// let map = unsafe { memmap2::Mmap::map(&file)? }; // SAFETY: see the application
/// let source = Arc::new(Bytes::from_owner(map));
/// ```
pub trait Source: Send + Sync {
    /// Returns the number of bytes.
    fn len(&self) -> u64;

    /// Returns the bytes of `range`, or as many of them as the source has.
    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Reads a few bytes. Unlike in [`read_at`](Self::read_at), a memory map can copy the
    /// bytes instead of mapping the pages that contain them. That is faster, and the bytes
    /// need not be [released](Self::release).
    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_at(range)
    }

    /// Announces many small reads with [`peek`](Self::peek) in `range`. They will be so
    /// close to each other that reading the whole range at once is faster.
    fn will_peek(&self, range: Range<u64>) {
        let _ = range;
    }

    /// Returns the file that has the same bytes at the same offsets, if there is one. The
    /// system can copy them to another file without passing them through the process.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Announces that `range` is not needed again soon, so that a memory map can unmap
    /// its pages. The range can still be read again.
    fn release(&self, range: Range<u64>) {
        let _ = range;
    }
}

impl Source for Bytes {
    fn len(&self) -> u64 {
        Bytes::len(self) as u64
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let clamp = |offset: u64| offset.min(Source::len(self)) as usize;
        Ok(self.slice(clamp(range.start)..clamp(range.end).max(clamp(range.start))))
    }
}
