//! Sources that are files.

use std::{fs::File, io, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::io::source::{Source, buffer_pool::BufferPool, prefetch};

/// The size of a cache line. Bytes are read to the same offset within a cache line as they
/// have in the file. With other offsets, the copy from the page cache of the system can be
/// slow: on an AMD EPYC, it took 2 to 4.5 times as long if the destination had an offset in
/// its page that was up to 16 bytes larger than that of the source.
const CACHE_LINE_BYTES: usize = 64;

/// A file that is read with positioned reads.
#[derive(Debug)]
pub struct FileSource {
    file: Arc<File>,
    len: u64,
    pool: Arc<BufferPool>,
}

impl FileSource {
    /// Creates a source with the current length of the file. Bytes that are appended
    /// later are ignored.
    pub fn new(file: impl Into<Arc<File>>) -> io::Result<Self> {
        let file = file.into();
        let len = file.metadata()?.len();
        Ok(Self { file, len, pool: Arc::default() })
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let (start, end) = (range.start.min(self.len), range.end.min(self.len));
        let len = end.saturating_sub(start) as usize;
        let mut pooled = self.pool.lend(len + CACHE_LINE_BYTES);
        let buffer = pooled.buffer();
        buffer.reserve_exact(len + CACHE_LINE_BYTES);
        let padding =
            (start as usize).wrapping_sub(buffer.as_ptr().addr()) % CACHE_LINE_BYTES;
        buffer.resize(padding, 0);
        read_exact_at(&self.file, start, len, buffer).map_err(|err| {
            match err.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(err.kind(), "the file got shorter while it was read")
                }
                _ => err,
            }
        })?;
        Ok(pooled.into_bytes().slice(padding..))
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn will_peek(&self, range: Range<u64>) {
        prefetch::read(&self.file, range.start..range.end.min(self.len));
    }
}

/// Appends the `len` bytes at `offset` to `bytes`.
fn read_exact_at(
    file: &File,
    offset: u64,
    len: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let end = bytes.len() + len;
    while bytes.len() < end {
        let remaining = end - bytes.len();
        match read_at(file, offset + (len - remaining) as u64, remaining, bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(err) if err.kind() != io::ErrorKind::Interrupted => return Err(err),
            _ => {}
        }
    }
    bytes.truncate(end); // the capacity may have been larger
    Ok(())
}

/// Appends the bytes at `offset` to `bytes` up to their capacity, without clearing the
/// memory first. Returns the number of bytes.
#[cfg(unix)]
fn read_at(
    file: &File,
    offset: u64,
    _: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(bytes), offset)?)
}

/// Appends up to `len` bytes at `offset` to `bytes`. Returns the number of bytes.
#[cfg(windows)]
fn read_at(
    file: &File,
    offset: u64,
    len: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<usize> {
    let old_len = bytes.len();
    bytes.resize(old_len + len, 0);
    let read =
        std::os::windows::fs::FileExt::seek_read(file, &mut bytes[old_len..], offset);
    bytes.truncate(old_len + *read.as_ref().unwrap_or(&0));
    read
}

/// Fails, because this system has no positioned reads. Logs can only be read from memory.
#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: u64, _: usize, _: &mut Vec<u8>) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_returns_the_available_bytes_of_any_range() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> =
            (0..700_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        std::fs::write(&file, &bytes).unwrap();
        let source = FileSource::new(file.reopen().unwrap()).unwrap();
        for (start, end) in [(0, 1), (5, 5), (3, 600_001), (699_990, u64::MAX)] {
            let expected = &bytes[start as usize..bytes.len().min(end as usize)];
            let read = source.read_at(start..end).unwrap();
            assert!(read == expected, "{start}..{end}");
            assert_eq!(
                read.as_ptr().addr() % CACHE_LINE_BYTES,
                start as usize % CACHE_LINE_BYTES
            );
        }
        assert!(source.read_at(700_000..700_001).unwrap().is_empty());
    }

    #[test]
    fn truncated_file_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, [7; 100]).unwrap();
        let source = FileSource::new(file.reopen().unwrap()).unwrap();
        file.as_file().set_len(40).unwrap();
        assert_eq!(source.read_at(0..40).unwrap(), &[7; 40][..]);
        let err = source.read_at(30..60).unwrap_err();
        assert!(err.to_string().contains("got shorter"), "{err}");
    }
}
