//! The trait of outputs that log writers write to.

use std::{
    fs::File,
    io::{self, BufWriter, Cursor, Seek, Write},
    ops::Range,
};

use crate::{
    error::{Error, ErrorKind, Result},
    io::source::Source,
};

/// The size of the blocks in which a source is copied.
const BLOCK_BYTES: u64 = 1 << 20;

/// The smallest page size of any system.
const PAGE_BYTES: usize = 4096;

/// An output to which the bytes of a new log are written.
pub trait Output: Write + Seek + Send {
    /// Writes all of `bytes`, and leaves an empty buffer in it. An output that writes in the
    /// background can take the buffer and replace it by an empty one, which avoids a copy. The default writes the bytes and clears the buffer.
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Appends the first bytes of `range` of `file` that the system can copy without
    /// passing them through the process, and returns their number. The default copies
    /// none.
    fn copy_from_file(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        let _ = (file, range);
        Ok(0)
    }
}

impl Output for File {
    #[cfg(target_os = "linux")]
    fn copy_from_file(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        let mut offset = range.start;
        // After an error, e.g. because the files are on different file systems, the
        // caller copies the remaining bytes itself. It reports the error if that fails,
        // too.
        while let Ok(len) = usize::try_from(range.end.saturating_sub(offset))
            && len > 0
            && let Ok(1..) =
                rustix::fs::copy_file_range(file, Some(&mut offset), &*self, None, len)
        {
        }
        Ok(offset - range.start)
    }
}

impl Output for Cursor<Vec<u8>> {}

impl Output for Cursor<&mut Vec<u8>> {}

impl<O: Output> Output for BufWriter<O> {
    fn copy_from_file(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        self.flush()?;
        self.get_mut().copy_from_file(file, range)
    }
}

impl<O: Output + ?Sized> Output for &mut O {
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).write_owned(bytes)
    }

    fn copy_from_file(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        (**self).copy_from_file(file, range)
    }
}

impl<O: Output + ?Sized> Output for Box<O> {
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).write_owned(bytes)
    }

    fn copy_from_file(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        (**self).copy_from_file(file, range)
    }
}

/// Appends the bytes `range` of `source` to `out`.
///
/// # Errors
/// `Io` if a byte cannot be read or written. Some bytes may have been written then.
pub fn append_source(
    out: &mut (impl Output + ?Sized),
    source: &dyn Source,
    range: Range<u64>,
) -> Result<()> {
    let Range { mut start, end } = range;
    if let Some(file) = source.file() {
        start += out.copy_from_file(file, start..end)?;
    }
    while start < end {
        let block = match source.read_at(start..end.min(start + BLOCK_BYTES)) {
            Ok(block) if !block.is_empty() => block,
            failed => {
                let message = "the bytes to copy can no longer be read";
                let err = Error::new(ErrorKind::Io, message).with_offset(start);
                return Err(match failed {
                    Err(cause) => err.with_source(cause),
                    Ok(_) => err,
                });
            }
        };
        load_pages(&block);
        out.write_all(&block)?;
        start += block.len() as u64;
    }
    Ok(())
}

/// Reads a byte from every page of `bytes`, so that all pages of a memory map are in memory
/// before they are written. If the system finds that a page is missing while it copies the
/// bytes to a file, it discards the data of that write and starts it again.
fn load_pages(bytes: &[u8]) {
    let pages = bytes.iter().step_by(PAGE_BYTES);
    std::hint::black_box(pages.fold(0, |xor, byte| xor ^ byte));
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read as _, SeekFrom},
        sync::Arc,
    };

    use bytes::Bytes;

    use super::*;
    use crate::io::source::FileSource;

    #[test]
    fn range_of_a_source_is_appended_to_every_kind_of_output() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> =
            (0..3 * BLOCK_BYTES).map(|offset| (offset % 251) as u8).collect();
        fs::write(dir.path().join("log"), &bytes).unwrap();
        let file =
            FileSource::new(File::open(dir.path().join("log")).unwrap()).unwrap();
        let memory = Bytes::from(bytes.clone());
        let range = 7..3 * BLOCK_BYTES - 5;
        let expected =
            [b"ab".as_slice(), &bytes[7..bytes.len() - 5], b"c".as_slice()].concat();
        for source in [Arc::new(file) as Arc<dyn Source>, Arc::new(memory)] {
            let append = |out: &mut dyn Output| {
                out.write_all(b"ab").unwrap();
                append_source(out, &*source, range.clone()).unwrap();
                out.write_all(b"c").unwrap();
                out.flush().unwrap();
            };
            let mut in_memory = Cursor::new(Vec::new());
            append(&mut in_memory);
            assert!(in_memory.into_inner() == expected);
            for is_buffered in [false, true] {
                let mut out = tempfile::tempfile_in(dir.path()).unwrap();
                if is_buffered {
                    append(&mut BufWriter::new(out.try_clone().unwrap()));
                } else {
                    append(&mut out);
                }
                let mut written = Vec::new();
                out.seek(SeekFrom::Start(0)).unwrap();
                out.read_to_end(&mut written).unwrap();
                assert!(written == expected, "buffered: {is_buffered}");
            }
        }
    }

    #[test]
    fn bytes_that_the_file_lost_are_an_error_with_their_offset() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("log"), [1; 100]).unwrap();
        let path = dir.path().join("log");
        let file = File::options().read(true).write(true).open(path).unwrap();
        let source = FileSource::new(file.try_clone().unwrap()).unwrap();
        file.set_len(40).unwrap();
        let mut out = tempfile::tempfile_in(dir.path()).unwrap();
        let err = append_source(&mut out, &source, 10..100).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Io);
    }
}
