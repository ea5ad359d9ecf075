//! An output that reports errors only on request. It is needed for the writers of other crates
//! that complete their file when they are dropped: after an error, `las` panics then, and `zip`
//! prints a message.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::Arc,
};

use logtool_core::Result;
use parking_lot::Mutex;

/// A writer that returns no errors. It stores the first error, and then ignores all writes.
pub(crate) struct DeferredErrorWriter<W> {
    output: W,
    failure: WriteFailure,
    /// Where the next write would be, and the length that the output would have. Writers subtract
    /// positions, so they must be consistent even after an error.
    position: u64,
    len: u64,
}

/// The first error of an output.
#[derive(Clone, Default)]
pub(crate) struct WriteFailure(Arc<Mutex<Option<io::Error>>>);

impl<W: Write + Seek> DeferredErrorWriter<W> {
    /// Creates a writer to `output`, which is empty. The second value receives the first error.
    pub(crate) fn new(output: W) -> (Self, WriteFailure) {
        let failure = WriteFailure::default();
        (Self { output, failure: failure.clone(), position: 0, len: 0 }, failure)
    }

    pub(crate) fn into_inner(self) -> W {
        self.output
    }

    /// Calls `write`, or returns `ignored_result` if there was an error.
    fn write_unless_failed<T>(
        &mut self,
        ignored_result: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failure = self.failure.0.lock();
        if failure.is_some() {
            return Ok(ignored_result);
        }
        match write(&mut self.output) {
            Err(err) if err.kind() != io::ErrorKind::Interrupted => {
                *failure = Some(err);
                Ok(ignored_result)
            }
            result => result,
        }
    }
}

impl WriteFailure {
    /// Fails with the first error, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        let failure = self.0.lock();
        match &*failure {
            Some(err) => Err(io::Error::new(err.kind(), err.to_string()).into()),
            None => Ok(()),
        }
    }
}

impl<W: Write + Seek> Write for DeferredErrorWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written =
            self.write_unless_failed(bytes.len(), |output| output.write(bytes))?;
        self.position = self.position.saturating_add(written as u64);
        self.len = self.len.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_unless_failed((), Write::flush)
    }
}

impl<W: Write + Seek> Seek for DeferredErrorWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.len.checked_add_signed(distance),
        };
        let before_the_start = io::ErrorKind::InvalidInput;
        let position = position.ok_or(before_the_start)?;
        self.position = self.write_unless_failed(position, |output| output.seek(to))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file on a disk that has space for a single write.
    struct FullDisk(Cursor<Vec<u8>>);

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.get_ref().is_empty() {
                true => self.0.write(bytes),
                false => Err(io::ErrorKind::StorageFull.into()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for FullDisk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn positions_stay_consistent_after_the_error_that_is_kept() {
        let (mut writer, failure) =
            DeferredErrorWriter::new(FullDisk(Cursor::default()));
        writer.write_all(b"abc").unwrap();
        failure.check().unwrap();
        writer.write_all(b"defgh").unwrap();
        assert!(failure.check().is_err());
        assert_eq!(writer.stream_position().unwrap(), 8);
        writer.seek(SeekFrom::Start(2)).unwrap();
        writer.write_all(b"x").unwrap();
        assert_eq!(writer.stream_position().unwrap(), 3);
        assert_eq!(writer.seek(SeekFrom::End(-1)).unwrap(), 7);
        assert!(writer.seek(SeekFrom::Current(-8)).is_err());
        let FullDisk(written) = writer.into_inner();
        assert_eq!(written.into_inner(), b"abc", "nothing is written after the error");
    }
}
