//! A temporary file that stores many streams of bytes in interleaved segments.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_core::{Result, describe_io_error};
use parking_lot::Mutex;

use crate::error::at_path;

/// A temporary file. It has no name, so the system deletes it when the program ends.
#[derive(Debug)]
pub(super) struct SpillFile {
    state: Mutex<SpillFileState>,
    /// The directory that errors mention.
    dir: PathBuf,
}

#[derive(Debug)]
struct SpillFileState {
    file: File,
    /// The length of the file.
    len: u64,
}

/// The locations of the bytes of one stream in a [`SpillFile`].
#[derive(Debug, Default)]
pub(super) struct SpillStream {
    segments: Vec<Range<u64>>,
    len: u64,
}

impl SpillFile {
    /// Creates a file in the existing directory `dir`. Errors mention `reported_path` instead.
    pub(super) fn new(dir: &Path, reported_path: &Path) -> Result<Arc<Self>> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let file = tempfile::tempfile_in(dir)
            .map_err(|err| at_path("create a file in", reported_path, err))?;
        let state = Mutex::new(SpillFileState { file, len: 0 });
        Ok(Arc::new(Self { state, dir: reported_path.to_owned() }))
    }

    /// Appends `bytes` to `stream`.
    pub(super) fn push(
        &self,
        stream: &mut SpillStream,
        bytes: &[u8],
    ) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut state = self.state.lock();
        let start = state.len;
        let sought = state.file.seek(SeekFrom::Start(start));
        sought.and_then(|_| state.file.write_all(bytes)).map_err(|err| {
            let dir = self.dir.display();
            let reason = describe_io_error(&err);
            let message = format!("cannot write a temporary file in {dir}: {reason}");
            io::Error::new(err.kind(), message)
        })?;
        state.len += bytes.len() as u64;
        stream.len += bytes.len() as u64;
        match stream.segments.last_mut() {
            Some(segment) if segment.end == start => segment.end = state.len,
            _ => stream.segments.push(start..state.len),
        }
        Ok(())
    }

    /// Returns a reader of `stream`.
    pub(super) fn read<'s>(&'s self, stream: &'s SpillStream) -> SpillReader<'s> {
        SpillReader { spill_file: self, stream, segment_index: 0, segment_offset: 0 }
    }
}

impl SpillStream {
    /// Returns the number of bytes of the stream.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

/// An unbuffered reader of a stream of a [`SpillFile`].
#[derive(Debug)]
pub(super) struct SpillReader<'s> {
    spill_file: &'s SpillFile,
    stream: &'s SpillStream,
    /// The index of the segment that is read next.
    segment_index: usize,
    /// The offset of the next byte in this segment.
    segment_offset: u64,
}

impl Read for SpillReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(segment) = self.stream.segments.get(self.segment_index) else {
            return Ok(0);
        };
        let start = segment.start + self.segment_offset;
        let segment_bytes = usize::try_from(segment.end - start).unwrap_or(usize::MAX);
        let len = buffer.len().min(segment_bytes);
        let mut state = self.spill_file.state.lock();
        state.file.seek(SeekFrom::Start(start))?;
        let read_bytes = state.file.read(&mut buffer[..len])?;
        if read_bytes == 0 && len > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.segment_offset += read_bytes as u64;
        if start + read_bytes as u64 == segment.end {
            self.segment_index += 1;
            self.segment_offset = 0;
        }
        Ok(read_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_read_back_separately() {
        let dir = tempfile::tempdir().unwrap();
        let spill_file = SpillFile::new(dir.path(), dir.path()).unwrap();
        let (mut a, mut b) = (SpillStream::default(), SpillStream::default());
        for (stream, bytes) in
            [(0, "ab"), (0, "c"), (1, "XY"), (0, ""), (0, "def"), (1, "Z")]
        {
            let stream = if stream == 0 { &mut a } else { &mut b };
            spill_file.push(stream, bytes.as_bytes()).unwrap();
        }
        let text = |stream| {
            let mut text = String::new();
            spill_file.read(stream).read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!((text(&a), text(&b)), ("abcdef".into(), "XYZ".into()));
        assert_eq!((a.len(), a.segments.len()), (6, 2));
    }
}
