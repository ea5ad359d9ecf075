//! A temporary file that stores many streams of bytes in interleaved segments.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_core::Result;
use parking_lot::Mutex;

use crate::error::at_path;

/// The temporary file. It has no name, so the system deletes it when the program ends.
#[derive(Debug)]
pub(super) struct Spill {
    file_state: Mutex<SpillFile>,
    /// The directory that errors mention.
    dir: PathBuf,
}

#[derive(Debug)]
struct SpillFile {
    file: File,
    end: u64,
}

/// The locations of the bytes of one stream in a [`Spill`].
#[derive(Debug, Default)]
pub(super) struct SpillStream {
    segments: Vec<Range<u64>>,
    len: u64,
}

impl Spill {
    /// Creates a file in the existing directory `dir`. Errors mention `reported_path` instead.
    pub(super) fn new(dir: &Path, reported_path: &Path) -> Result<Arc<Self>> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let file = tempfile::tempfile_in(dir);
        let file =
            file.map_err(|err| at_path("create a file in", reported_path, err))?;
        let file_state = Mutex::new(SpillFile { file, end: 0 });
        Ok(Arc::new(Self { file_state, dir: reported_path.to_owned() }))
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
        let mut file_state = self.file_state.lock();
        let start = file_state.end;
        let written = file_state.file.seek(SeekFrom::Start(start));
        written.and_then(|_| file_state.file.write_all(bytes)).map_err(|err| {
            let dir = self.dir.display();
            let message = format!("cannot write a temporary file in {dir}: {err}");
            io::Error::new(err.kind(), message)
        })?;
        file_state.end += bytes.len() as u64;
        stream.len += bytes.len() as u64;
        match stream.segments.last_mut() {
            Some(last) if last.end == start => last.end = file_state.end,
            _ => stream.segments.push(start..file_state.end),
        }
        Ok(())
    }

    /// Returns a reader of `stream` that starts at byte `start`.
    pub(super) fn read<'s>(
        &'s self,
        stream: &'s SpillStream,
        start: u64,
    ) -> SpillReader<'s> {
        let (mut skip, mut next) = (start, 0);
        while let Some(segment) = stream.segments.get(next) {
            let len = segment.end - segment.start;
            if skip < len {
                break;
            }
            skip -= len;
            next += 1;
        }
        SpillReader { spill: self, stream, next, skip }
    }
}

impl SpillStream {
    /// Returns the number of bytes of the stream.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

/// Reads a stream of a [`Spill`]. It is unbuffered; wrap it in a buffered reader.
#[derive(Debug)]
pub(super) struct SpillReader<'s> {
    spill: &'s Spill,
    stream: &'s SpillStream,
    /// The index of the segment that is read next, and the offset in it.
    next: usize,
    skip: u64,
}

impl Read for SpillReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(segment) = self.stream.segments.get(self.next) else { return Ok(0) };
        let start = segment.start + self.skip;
        let len =
            into.len().min(usize::try_from(segment.end - start).unwrap_or(usize::MAX));
        let mut file_state = self.spill.file_state.lock();
        file_state.file.seek(SeekFrom::Start(start))?;
        let read = file_state.file.read(&mut into[..len])?;
        if read == 0 && len > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.skip += read as u64;
        if start + read as u64 == segment.end {
            (self.next, self.skip) = (self.next + 1, 0);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_read_back_separately() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path(), dir.path()).unwrap();
        let (mut a, mut b) = (SpillStream::default(), SpillStream::default());
        for (stream, bytes) in
            [(0, "ab"), (0, "c"), (1, "XY"), (0, ""), (0, "def"), (1, "Z")]
        {
            let stream = if stream == 0 { &mut a } else { &mut b };
            spill.push(stream, bytes.as_bytes()).unwrap();
        }
        let text = |stream, start| {
            let mut text = String::new();
            spill.read(stream, start).read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!((text(&a, 0), text(&b, 0)), ("abcdef".into(), "XYZ".into()));
        assert_eq!(
            (text(&a, 4), text(&b, 2), text(&b, 3)),
            ("ef".into(), "Z".into(), String::new())
        );
        assert_eq!((a.len(), a.segments.len()), (6, 2));
    }
}
