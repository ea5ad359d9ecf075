//! Appends to an existing log, even if it ends in the middle of a message.
//!
//! PX4 does this after a crash: the data saved by the crash handler is appended to the
//! log of the flight. The flag bits have space for three appended sections:
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

/// The incompatible flag that declares the offsets valid.
const INCOMPATIBLE_DATA_APPENDED: u8 = 1;

/// The offset of the payload of the flag bits.
const FLAGS_OFFSET: usize = FILE_HEADER_LEN + HEADER_LEN;

/// The minimum length of that payload.
const FLAGS_LEN: usize = 40;

/// The offset of the incompatible flags.
const INCOMPATIBLE_OFFSET: u64 = 27;

/// The offset of the offsets of appended sections.
const APPENDED_OFFSET: u64 = 35;

impl<F: Read + Write + Seek> Writer<F> {
    /// Starts a new section at the end of a log. It may only contain data: records of
    /// existing topics, strings, information and parameter changes.
    ///
    /// A `File` must be open for reading and writing, but not in append mode, in which
    /// the flags could not be changed. The log is valid at all times, even if nothing
    /// is written afterwards.
    ///
    /// # Errors
    ///
    /// `Unrecognized` if the file is not a log; `Malformed` if it ends within its flag
    /// bits, or declares a section after its end; `Unsupported` if it has no flag bits,
    /// or unknown incompatible flags; `Limit` if all three sections are in use; `Io` if
    /// reading or writing fails.
    pub fn append(mut file: F) -> Result<Self> {
        let end = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let mut flags = read_flags(&mut file, end)?;
        add_section(&mut flags, end)?;

        // The flags are written before the data, like in PX4's hardfault_log. In a log
        // that ends in the middle of a message, appended bytes would be read as the
        // rest of that message until the flags declare its end. An offset at the very
        // end of the file is just an empty section. The offset is written before the
        // flag: an incomplete offset is harmless while the flag is not set. (If the
        // flag is already set, the offset must be written atomically, as disks do
        // within a sector.)
        file.seek(SeekFrom::Start(APPENDED_OFFSET))?;
        file.write_all(&flags.appended.map(u64::to_le_bytes).concat())?;
        file.seek(SeekFrom::Start(INCOMPATIBLE_OFFSET))?;
        file.write_all(&flags.incompatible)?;
        file.flush()?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self::with_section(file, Section::Data))
    }
}

/// Reads the flag bits of a log of `end` bytes, from its start.
fn read_flags(file: &mut impl Read, end: u64) -> Result<FlagBits> {
    let mut start = Vec::new();
    file.take((FLAGS_OFFSET + FLAGS_LEN) as u64).read_to_end(&mut start)?;
    if wire::file_header(&start).is_none() {
        return Err(Error::new(ErrorKind::Unrecognized, "not a ULog").with_offset(0));
    }
    let (_, message) = start.split_at_checked(FILE_HEADER_LEN).unwrap_or_default();
    let size = match wire::header(message) {
        Some((size, kind::FLAG_BITS)) => size,
        _ => {
            let message = "a log without flag bits cannot be appended to";
            return Err(Error::new(ErrorKind::Unsupported, message).with_offset(16));
        }
    };
    let payload = message
        .get(HEADER_LEN..)
        .filter(|_| size >= FLAGS_LEN && end >= (FLAGS_OFFSET + size) as u64);
    payload
        .and_then(wire::flag_bits)
        .ok_or_else(|| append_error("the flag bits are truncated").with_offset(16))
}

/// Adds a section that starts at `end`, the length of the file.
fn add_section(flags: &mut FlagBits, end: u64) -> Result<()> {
    let [first_byte, other_bytes @ ..] = &mut flags.incompatible;
    if *first_byte & !INCOMPATIBLE_DATA_APPENDED != 0
        || other_bytes.iter().any(|byte| *byte != 0)
    {
        let message = "the log has unknown incompatible flags";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .with_offset(INCOMPATIBLE_OFFSET));
    }
    if *first_byte & INCOMPATIBLE_DATA_APPENDED == 0 {
        // The existing offsets are not valid, and must not become valid.
        flags.appended = [0; 3];
    }
    *first_byte |= INCOMPATIBLE_DATA_APPENDED;

    if flags.appended.iter().any(|offset| *offset > end) {
        return Err(append_error("a section starts after the end of the file")
            .with_offset(APPENDED_OFFSET));
    }
    let Some(free_offset) = flags.appended.iter_mut().find(|offset| **offset == 0)
    else {
        let message = "a log cannot have more than three appended sections";
        return Err(Error::new(ErrorKind::Limit, message).with_offset(APPENDED_OFFSET));
    };
    *free_offset = end;
    Ok(())
}

fn append_error(message: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, message)
}
