//! Where the bytes come from.

use std::{fs::File, io, ops::Range};

use bytes::Bytes;

/// Bytes that can be read at any offset, by many threads at once.
///
/// Everything in memory, a memory map included, is a source by way of [`Bytes`]: a
/// read is then a slice, and nothing is copied. The map itself is made by the
/// application, which alone can promise that nobody shortens the file:
///
/// ```ignore
/// let map = unsafe { memmap2::Mmap::map(&file)? }; // SAFETY: see the application
/// let source = Arc::new(Bytes::from_owner(map));
/// ```
pub trait Source: Send + Sync {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// The bytes of `range`, or as many of them as the source has.
    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes>;

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

/// A file, read with positioned reads.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    len: u64,
}

impl FileSource {
    /// The file as it is now; what is appended later is not seen.
    pub fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file, len })
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let (start, end) = (range.start.min(self.len), range.end.min(self.len));
        let mut buffer = vec![0; end.saturating_sub(start) as usize];
        read_exact_at(&self.file, &mut buffer, start).map_err(|err| {
            match err.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(err.kind(), "the file got shorter while it was read")
                }
                _ => err,
            }
        })?;
        Ok(buffer.into())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(
    file: &File,
    mut buffer: &mut [u8],
    mut offset: u64,
) -> io::Result<()> {
    use std::os::windows::fs::FileExt as _;
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (buffer, offset) = (&mut buffer[n..], offset + n as u64),
        }
    }
    Ok(())
}
