//! Sources of bytes.

mod buffer_pool;
mod file;
mod prefetch;

use std::{fs::File, io, ops::Range};

use bytes::Bytes;

pub use self::file::FileSource;

/// Bytes that several threads can read at any offset.
///
/// Everything in memory is a source by means of [`Bytes`], including a memory map: a read
/// is then a slice without a copy. The application creates the map, because only the
/// application can promise that the file is not truncated:
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

    /// Reads a few bytes without their surroundings. A memory map can copy them instead
    /// of mapping the pages around them, which is faster, and nothing needs to be
    /// [released](Self::release).
    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_at(range)
    }

    /// Announces that many small reads with [`peek`](Self::peek) follow in `range`, so
    /// close to each other that reading all of it is faster than single reads.
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
    /// its pages. Reading it again is still allowed.
    fn release(&self, range: Range<u64>) {
        let _ = range;
    }
}

impl Source for Bytes {
    fn len(&self) -> u64 {
        Bytes::len(self) as u64
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let clamp = |at: u64| at.min(Source::len(self)) as usize;
        Ok(self.slice(clamp(range.start)..clamp(range.end).max(clamp(range.start))))
    }
}
