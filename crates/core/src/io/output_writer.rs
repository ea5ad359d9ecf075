//! A writer that tracks its position.

use std::{
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
};

use crate::{
    error::{Error, ErrorKind, Result},
    io::{
        output::{Output, append_source},
        source::Source,
    },
};

/// A writer that appends to an output and tracks its position.
#[derive(Debug)]
pub struct OutputWriter<W> {
    out: W,
    /// The offset of the next byte.
    position: u64,
    /// Whether a write has failed. The content of the output is unknown then.
    has_failed: bool,
}

impl<W: Write + Seek> OutputWriter<W> {
    /// Creates a writer for `out`, whose position is `position`.
    pub fn new(out: W, position: u64) -> Self {
        Self { out, position, has_failed: false }
    }

    /// Returns the offset of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// `Io` if this write or an earlier one failed. The content of the output is unknown
    /// then.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt(|out| out.write_all(bytes))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Appends `bytes`, and leaves an empty buffer in it, see [`Output::write_owned`].
    ///
    /// # Errors
    /// `Io`, like [`append`](Self::append).
    pub fn write_owned(&mut self, bytes: &mut Vec<u8>) -> Result<()>
    where
        W: Output,
    {
        let len = bytes.len() as u64;
        self.attempt(|out| out.write_owned(bytes))?;
        self.position += len;
        Ok(())
    }

    /// Appends `range` of `source`.
    ///
    /// # Errors
    /// `Io`, like [`append`](Self::append), and if the source is too short.
    pub fn append_from(&mut self, source: &dyn Source, range: Range<u64>) -> Result<()>
    where
        W: Output,
    {
        let len = range.end.saturating_sub(range.start);
        self.check()?;
        self.has_failed = true;
        append_source(&mut self.out, source, range)?;
        self.has_failed = false;
        self.position += len;
        Ok(())
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// `Io`, like [`append`](Self::append).
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(Write::flush)
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// `Io`, like [`append`](Self::append).
    pub fn into_inner(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    /// Overwrites the bytes at `position` with `bytes`, and returns the output with its
    /// position at the end.
    ///
    /// # Errors
    /// `Io`, like [`append`](Self::append).
    pub fn finish(mut self, position: u64, bytes: &[u8]) -> Result<W> {
        let end = self.position;
        self.attempt(|out| {
            out.flush()?;
            out.seek(SeekFrom::Start(position))?;
            out.write_all(bytes)?;
            out.flush()?;
            out.seek(SeekFrom::Start(end)).map(drop)
        })?;
        Ok(self.out)
    }

    /// Runs `write`, and stores whether it failed.
    fn attempt(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> Result<()> {
        self.check()?;
        self.has_failed = true;
        write(&mut self.out)?;
        self.has_failed = false;
        Ok(())
    }

    /// Fails if an earlier write failed.
    fn check(&self) -> Result<()> {
        let message = "an earlier write failed, so nothing more is written";
        if self.has_failed { Err(Error::new(ErrorKind::Io, message)) } else { Ok(()) }
    }
}
