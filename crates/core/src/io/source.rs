//! Where the bytes come from.

mod buffer_pool;
mod file;
mod prefetch;

use std::{io, ops::Range};

use bytes::Bytes;

pub use self::file::FileSource;

/// Bytes that can be read at any offset, by many threads at once.
///
/// Everything in memory, a memory map included, is a source by way of [`Bytes`]: a
/// read is then a slice, and nothing is copied. The map itself is made by the
/// application, which alone can promise that nobody shortens the file:
///
/// ```text
/// let map = unsafe { memmap2::Mmap::map(&file)? }; // SAFETY: see the application
/// let source = Arc::new(Bytes::from_owner(map));
/// ```
pub trait Source: Send + Sync {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// The bytes of `range`, or as many of them as the source has.
    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// The same of a few bytes, of which nobody wants the neighbours: a memory map may copy
    /// them, which is quicker than to map the pages around them, and then has nothing to
    /// [release](Self::release).
    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_at(range)
    }

    /// Says that somebody will soon [peek](Self::peek) at places all over `range`, so close to
    /// each other that to read all of it takes less time than to find each of them.
    fn will_peek(&self, range: Range<u64>) {
        let _ = range;
    }

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Says that nobody will soon read `range` again, so that a memory map may let its
    /// pages go. Reading it all the same stays right.
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
