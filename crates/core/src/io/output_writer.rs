//! Where a log is written to.

use std::{
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
};

use crate::{
    error::{Error, ErrorKind, Result},
    io::{output::Output, source::Source},
};

/// How much of a source is copied at once.
const PIECE: u64 = 1 << 20;

/// An output, which is written from the start to the end.
#[derive(Debug)]
pub struct OutputWriter<W> {
    out: W,
    /// Where the next byte goes.
    at: u64,
    /// Whether writing failed once: then nobody knows what is there.
    has_failed: bool,
}

impl<W: Write + Seek> OutputWriter<W> {
    /// Goes on at `at`, where `out` stands.
    pub fn new(out: W, at: u64) -> Self {
        Self { out, at, has_failed: false }
    }

    /// Where the next byte goes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// `Io` if writing fails, or did before: then nobody knows what is there.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt(|out| out.write_all(bytes))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Appends `bytes`, and [takes](Output::write_owned) their memory, or leaves it.
    ///
    /// # Errors
    /// `Io`, as of [`put`](Self::put).
    pub fn write_owned(&mut self, bytes: &mut Vec<u8>) -> Result<()>
    where
        W: Output,
    {
        let len = bytes.len() as u64;
        self.attempt(|out| out.write_owned(bytes))?;
        self.at += len;
        Ok(())
    }

    /// Appends `range` of `source`.
    ///
    /// # Errors
    /// `Io`, as of [`put`](Self::put), and if there are no such bytes.
    pub fn put_from(&mut self, source: &dyn Source, range: Range<u64>) -> Result<()> {
        let Range { mut start, end } = range;
        while start < end {
            let piece = source.read_at(start..end.min(start + PIECE));
            let piece = match piece {
                Ok(piece) if !piece.is_empty() => piece,
                other => {
                    self.has_failed = true;
                    let what = "bytes to copy that were there cannot be read again";
                    let err = Error::new(ErrorKind::Io, what).at(start);
                    return Err(match other {
                        Err(cause) => err.from_source(cause),
                        Ok(_) => err,
                    });
                }
            };
            touch(&piece);
            self.put(&piece)?;
            start += piece.len() as u64;
        }
        Ok(())
    }

    /// Sends on what was written so far.
    ///
    /// # Errors
    /// `Io`, as of [`put`](Self::put).
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(Write::flush)
    }

    /// Sends all on, and gives the output back.
    ///
    /// # Errors
    /// `Io`, as of [`put`](Self::put).
    pub fn end(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    /// Writes `bytes` over those at `at`, when all else is written.
    ///
    /// # Errors
    /// `Io`, as of [`put`](Self::put).
    pub fn finish(mut self, at: u64, bytes: &[u8]) -> Result<W> {
        let end = self.at;
        self.attempt(|out| {
            out.flush()?;
            out.seek(SeekFrom::Start(at))?;
            out.write_all(bytes)?;
            out.flush()?;
            out.seek(SeekFrom::Start(end)).map(drop)
        })?;
        Ok(self.out)
    }

    fn attempt(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> Result<()> {
        if self.has_failed {
            let what = "nothing more is written where writing failed";
            return Err(Error::new(ErrorKind::Io, what));
        }
        self.has_failed = true;
        write(&mut self.out)?;
        self.has_failed = false;
        Ok(())
    }
}
/// Looks at every page of `bytes`, so that those of a memory map are there. Where one is
/// not when the system copies it to a file, that clears what it was to write and begins
/// anew.
fn touch(bytes: &[u8]) {
    let pages = bytes.iter().step_by(PAGE);
    std::hint::black_box(pages.fold(0, |all, byte| all ^ byte));
}

/// No page is smaller.
const PAGE: usize = 4096;
