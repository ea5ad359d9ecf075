//! Appends to a log that is there, though it may end in the middle of a message.
//!
//! PX4 does it after a crash: what the crash left behind goes into the log of the
//! flight that it ended. The flag bits have room for three such sections:
//!
//! ```text
//! 16  u16 size, at least 40   18  'B'
//! 19  compatible flags [8]    27  incompatible flags [8]    35  offsets, 3 × u64
//! ```

use std::io::{Read, Seek, SeekFrom, Write};

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    wire::{self, FILE_HEADER_LEN, FlagBits, HEADER_LEN, kind},
    write::{Section, Writer},
};

/// The incompatible flag that says that the offsets count.
const INCOMPAT_DATA_APPENDED: u8 = 1;

/// Where the payload of the flag bits begins.
const FLAGS_AT: usize = FILE_HEADER_LEN + HEADER_LEN;

/// How long that payload is at least.
const FLAGS_LEN: usize = 40;

/// Where the incompatible flags begin.
const INCOMPAT_AT: u64 = 27;

/// Where the offsets begin.
const OFFSETS_AT: u64 = 35;

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
        file.seek(SeekFrom::Start(0))?;
        let mut flags = read_flags(&mut file, end)?;
        add_section(&mut flags, end)?;

        // The flags go first, as PX4's hardfault_log has it, and not the data. A log
        // that ends in the middle of a message would take appended bytes for the rest
        // of it as long as the flags do not say where it ends, whereas an offset at the
        // very end of the file is just a section with nothing in it. Of the flags, the
        // offset goes first: a half-written one does no harm while the bit is not set.
        // (Where the bit is set already, the offset has to be written at one go, as
        // disks do within a sector.)
        file.seek(SeekFrom::Start(OFFSETS_AT))?;
        file.write_all(&flags.appended.map(u64::to_le_bytes).concat())?;
        file.seek(SeekFrom::Start(INCOMPAT_AT))?;
        file.write_all(&flags.incompatible)?;
        file.flush()?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self::starting(file, Section::Data))
    }
}

/// Reads the flags of a log of `end` bytes, from its start.
fn read_flags(file: &mut impl Read, end: u64) -> Result<FlagBits> {
    let mut head = Vec::new();
    file.take((FLAGS_AT + FLAGS_LEN) as u64).read_to_end(&mut head)?;
    if wire::file_header(&head).is_none() {
        return Err(Error::new(ErrorKind::Unrecognized, "not a ULog").at(0));
    }
    let (_, message) = head.split_at_checked(FILE_HEADER_LEN).unwrap_or_default();
    let size = match wire::header(message) {
        Some((size, kind::FLAG_BITS)) => size,
        _ => {
            let what = "a log without flag bits cannot be appended to";
            return Err(Error::new(ErrorKind::Unsupported, what).at(16));
        }
    };
    let payload = message
        .get(HEADER_LEN..)
        .filter(|_| size >= FLAGS_LEN && end >= (FLAGS_AT + size) as u64);
    payload
        .and_then(wire::flag_bits)
        .ok_or_else(|| broken("the flag bits are cut").at(16))
}

/// Enters a section that begins at `end`, where the file ends.
fn add_section(flags: &mut FlagBits, end: u64) -> Result<()> {
    let [first, rest @ ..] = &mut flags.incompatible;
    if *first & !INCOMPAT_DATA_APPENDED != 0 || rest.iter().any(|byte| *byte != 0) {
        let what = "the log has incompatible flags that nobody knows";
        return Err(Error::new(ErrorKind::Unsupported, what).at(INCOMPAT_AT));
    }
    if *first & INCOMPAT_DATA_APPENDED == 0 {
        // Whatever stands there counts for nothing, and shall not begin to.
        flags.appended = [0; 3];
    }
    *first |= INCOMPAT_DATA_APPENDED;

    if flags.appended.iter().any(|offset| *offset > end) {
        return Err(broken("a section begins behind the end").at(OFFSETS_AT));
    }
    let Some(free) = flags.appended.iter_mut().find(|offset| **offset == 0) else {
        let what = "a fourth appended section; a log has room for three";
        return Err(Error::new(ErrorKind::Limit, what).at(OFFSETS_AT));
    };
    *free = end;
    Ok(())
}

fn broken(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what)
}
