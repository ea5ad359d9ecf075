//! Appends to a log that is there, though it may end in the middle of a message.
//!
//! PX4 does it after a crash: what the crash left behind goes into the log of the
//! flight that it ended. The flag bits have room for three such sections:
//!
//! ```text
//! 16  u16 size, at least 40   18  'B'
//! 19  compatible flags [8]    27  incompatible flags [8]    35  offsets, 3 × u64
//! ```

use std::io::{ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};

use logtool_core::{Cut, Error, ErrorKind, Result};

use crate::write::{MAGIC, Section, Writer};

/// The incompatible flag that says that the offsets count.
const INCOMPAT_DATA_APPENDED: u8 = 1;

/// How many bytes header and flag bits are, as far as they are known.
const HEAD_BYTES: usize = 16 + 3 + 40;

/// Where the incompatible flags begin.
const INCOMPAT_AT: u64 = 27;

/// Where the offsets begin.
const OFFSETS_AT: u64 = 35;

/// The flags that appending changes.
struct Flags {
    incompat: [u8; 8],
    offsets: [u64; 3],
}

impl<F: Read + Write + Seek> Writer<F> {
    /// Opens a new section at the end of a log, where only data may follow: records of
    /// topics that the log has, lines, informations, changes of parameters.
    ///
    /// A `File` must be open for reading and writing, but not in append mode, in which
    /// the flags could not be changed. The log is whole at all times, even if nothing is
    /// written after this.
    ///
    /// # Errors
    ///
    /// `Unrecognized` if it is no log; `Malformed` if it ends in its flag bits, or has a
    /// section behind its end; `Unsupported` if it has no flag bits, or unknown
    /// incompatible ones; `Limit` if all three sections are taken; `Io` if reading or
    /// writing fails.
    pub fn append(mut file: F) -> Result<Self> {
        let end = file.seek(SeekFrom::End(0))?;
        let mut flags = Flags::read(&mut file, end)?;
        flags.add_section(end)?;

        // The flags go first, as PX4's hardfault_log has it, and not the data. A log
        // that ends in the middle of a message would take appended bytes for the rest
        // of it as long as the flags do not say where it ends, whereas an offset at the
        // very end of the file is just a section with nothing in it. Of the flags, the
        // offset goes first: a half-written one does no harm while the bit is not set.
        // (Where the bit is set already, the offset has to be written at one go, as
        // disks do within a sector.)
        file.seek(SeekFrom::Start(OFFSETS_AT))?;
        file.write_all(&flags.offsets.map(u64::to_le_bytes).concat())?;
        file.seek(SeekFrom::Start(INCOMPAT_AT))?;
        file.write_all(&flags.incompat)?;
        file.flush()?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self::starting(file, Section::Data))
    }
}

impl Flags {
    /// Reads the flags of a log of `end` bytes.
    fn read(file: &mut (impl Read + Seek), end: u64) -> Result<Self> {
        let mut head = [0; HEAD_BYTES];
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut head).map_err(|err| match err.kind() {
            IoErrorKind::UnexpectedEof => broken("too short to have flag bits"),
            _ => err.into(),
        })?;

        let mut cut = Cut::new(&head);
        if cut.bytes(7) != MAGIC.get(..7) {
            return Err(Error::new(ErrorKind::Unrecognized, "not a ULog").at(0));
        }
        let message = cut.bytes(9).and_then(|_| Some((cut.u16()?, cut.u8()?)));
        let size = match message {
            Some((size, b'B')) => size,
            _ => {
                let what = "a log without flag bits cannot be appended to";
                return Err(Error::new(ErrorKind::Unsupported, what).at(16));
            }
        };
        if size < 40 || end < 16 + 3 + u64::from(size) {
            return Err(broken("the flag bits are cut").at(16));
        }
        cut.bytes(8).and_then(|_| Self::parse(cut)).ok_or_else(|| broken("flag bits"))
    }

    fn parse(mut cut: Cut<'_>) -> Option<Self> {
        let mut incompat = [0; 8];
        incompat.copy_from_slice(cut.bytes(8)?);
        Some(Self { incompat, offsets: [cut.u64()?, cut.u64()?, cut.u64()?] })
    }

    /// Enters a section that begins at `end`, where the file ends.
    fn add_section(&mut self, end: u64) -> Result<()> {
        let [first, rest @ ..] = &mut self.incompat;
        if *first & !INCOMPAT_DATA_APPENDED != 0 || rest.iter().any(|byte| *byte != 0) {
            let what = "the log has incompatible flags that nobody knows";
            return Err(Error::new(ErrorKind::Unsupported, what).at(INCOMPAT_AT));
        }
        if *first & INCOMPAT_DATA_APPENDED == 0 {
            // Whatever stands there counts for nothing, and shall not begin to.
            self.offsets = [0; 3];
        }
        *first |= INCOMPAT_DATA_APPENDED;

        if self.offsets.iter().any(|offset| *offset > end) {
            return Err(broken("a section begins behind the end").at(OFFSETS_AT));
        }
        let Some(free) = self.offsets.iter_mut().find(|offset| **offset == 0) else {
            let what = "a fourth appended section; a log has room for three";
            return Err(Error::new(ErrorKind::Limit, what).at(OFFSETS_AT));
        };
        *free = end;
        Ok(())
    }
}

fn broken(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what)
}
