//! The head of a ULog: its header, its flag bits, and the sections that they tell of.

use std::ops::Range;

use logtool_core::{Error, ErrorKind, OpenOptions, Result, Source, Timestamp};

use crate::{
    header::Head,
    wire::{self, kind},
};

/// The one incompatible flag that is known: sections of data were appended.
const DATA_APPENDED: u8 = 1;
/// The newest version of the format that there is.
const NEWEST_VERSION: u8 = 1;

/// Reads the head; says where the sections of the file are.
pub(crate) fn read(
    source: &dyn Source,
    options: OpenOptions,
) -> Result<(Head, Vec<Range<u64>>)> {
    let head =
        source.read_at(0..(wire::FILE_HEADER_LEN + wire::MAX_MESSAGE_LEN) as u64)?;
    if head.starts_with(wire::ENCRYPTED_MAGIC) {
        let what = "it is an encrypted ULog (.ulge); decrypt it first, with the private \
                    key of the vehicle's owner and PX4's Tools/decrypt_ulog.py";
        return Err(Error::new(ErrorKind::Unsupported, what).at(0));
    }
    let Some(file_header) = wire::file_header(&head) else {
        let what = match head.starts_with(&wire::MAGIC) {
            true => "a ULog that is cut inside its header of 16 bytes",
            false => "no ULog: it does not begin with the bytes 55 4c 6f 67 01 12 35",
        };
        return Err(Error::new(ErrorKind::Unrecognized, what).at(0));
    };
    let start = Timestamp::from_micros(file_header.start);
    let mut header = Head { version: file_header.version, start, ..Head::default() };
    let flags = head.get(wire::FILE_HEADER_LEN..).and_then(|rest| {
        let (size, kind) = wire::header(rest)?;
        let payload = rest.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
        (kind == kind::FLAG_BITS).then(|| wire::flag_bits(payload))?
    });
    let mut appended = Vec::new();
    if let Some(flags) = flags {
        header.compatible_flags = flags.compatible;
        header.incompatible_flags = flags.incompatible;
        refuse_unknown(&flags.incompatible, options)?;
        if flags.incompatible[0] & DATA_APPENDED != 0 {
            appended = flags.appended.into_iter().filter(|at| *at != 0).collect();
            appended.sort_unstable();
            header.appended = appended.clone();
        }
    }
    let start = wire::FILE_HEADER_LEN as u64;
    let mut sections = Vec::new();
    let mut from = start;
    for at in appended.into_iter().filter(|at| *at > start && *at < source.len()) {
        sections.push(from..at);
        from = at;
    }
    sections.push(from..source.len());
    sections.retain(|section| !section.is_empty());
    Ok((header, sections))
}

/// What is odd about the head.
pub(crate) fn remarks(header: &Head, len: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if header.version > NEWEST_VERSION {
        let version = header.version;
        remarks.push(format!(
            "version {version} of ULog, newer than any known, is read as 1"
        ));
    }
    let odd = |at: &&u64| **at >= len || **at <= wire::FILE_HEADER_LEN as u64;
    for at in header.appended.iter().filter(odd) {
        remarks.push(format!(
            "a section is said to be appended at byte {at}, where none is"
        ));
    }
    for (byte, bits) in header.compatible_flags.iter().enumerate() {
        let known = u8::from(byte == 0); // default parameters
        if bits & !known != 0 {
            remarks.push(format!(
                "unknown compatible flags, ignored: byte {byte}, {bits:#010b}"
            ));
        }
    }
    remarks
}

fn refuse_unknown(flags: &[u8; 8], options: OpenOptions) -> Result<()> {
    for (byte, bits) in flags.iter().enumerate() {
        let unknown = bits & if byte == 0 { !DATA_APPENDED } else { !0 };
        if unknown != 0 && !options.force {
            let bit = unknown.trailing_zeros();
            let what = format!(
                "the log says that it cannot be read by programs that do not know its \
                 incompatible flag bit {bit} of byte {byte}"
            );
            return Err(
                Error::new(ErrorKind::Unsupported, what).at(16 + 3 + 8 + byte as u64)
            );
        }
    }
    Ok(())
}
