//! Reads the header, the flag bits and the section boundaries at the start of a ULog.

use std::ops::Range;

use logtool_core::{
    Damage, DamageKind, Error, ErrorKind, OpenOptions, Result, Source, Timestamp,
};

use crate::{
    declarations::metadata::FileHeader,
    encryption,
    topics::resync,
    wire::{self, FixedHeader, kind},
};

/// The only known incompatible flag: sections of data were appended.
const DATA_APPENDED: u8 = 1;
/// The newest known version of the format.
const NEWEST_VERSION: u8 = 1;

/// The header of a file, and the sections that contain its messages.
pub(crate) struct FileStart {
    pub(crate) file_header: FileHeader,
    pub(crate) sections: Vec<Range<u64>>,
    /// The damage to report if the header is lost.
    pub(crate) header_damage: Option<Damage>,
}

/// Reads the start of the file. A log whose header is lost is recognized by its chain
/// of messages.
pub(crate) fn read(source: &dyn Source, options: OpenOptions) -> Result<FileStart> {
    let start_bytes =
        source.read_at(0..(wire::FILE_HEADER_LEN + wire::MAX_MESSAGE_LEN) as u64)?;
    if start_bytes.starts_with(wire::ENCRYPTED_MAGIC) {
        return Err(encryption::needs_key(source));
    }
    let (file_header, start) = match wire::file_header(&start_bytes) {
        Some(file_header) => (file_header, wire::FILE_HEADER_LEN),
        None => match resync::without_header(&start_bytes) {
            Some(start) => (FixedHeader { version: 0, start: 0 }, start),
            None if options.is_format_given => {
                let start = wire::FILE_HEADER_LEN.min(start_bytes.len());
                (FixedHeader { version: 0, start: 0 }, start)
            }
            None => {
                let message = if start_bytes.starts_with(&wire::MAGIC) {
                    "a ULog that is truncated within its header of 16 bytes"
                } else {
                    "not a ULog: it does not start with the bytes 55 4c 6f 67 01 12 35"
                };
                return Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0));
            }
        },
    };
    let header_damage = wire::file_header(&start_bytes).is_none().then(|| {
        let header_damage = Damage::new(DamageKind::Garbled, 0..start as u64);
        header_damage.with_reason("the header is lost, including the start of logging")
    });
    // Offsets in the flag bits are relative to the header.
    let missing_len = (wire::FILE_HEADER_LEN - start) as u64;
    let mut header = FileHeader {
        version: file_header.version,
        start: Timestamp::from_micros(file_header.start),
        ..FileHeader::default()
    };
    let flags = start_bytes.get(start..).and_then(|messages| {
        let (size, kind) = wire::header(messages)?;
        let payload = messages.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
        (kind == kind::FLAG_BITS).then(|| wire::flag_bits(payload))?
    });
    let mut appended = Vec::new();
    if let Some(flags) = flags {
        header.compatible_flags = flags.compatible;
        header.incompatible_flags = flags.incompatible;
        reject_unknown_flags(&flags.incompatible, options)?;
        if flags.incompatible[0] & DATA_APPENDED != 0 {
            appended =
                flags.appended.into_iter().filter(|offset| *offset != 0).collect();
            appended.sort_unstable();
            header.appended = appended.clone();
        }
    }
    let start = start as u64;
    let mut sections = Vec::new();
    let mut section_start = start;
    let appended =
        appended.into_iter().map(|offset| offset.saturating_sub(missing_len));
    for offset in appended.filter(|offset| *offset > start && *offset < source.len()) {
        sections.push(section_start..offset);
        section_start = offset;
    }
    sections.push(section_start..source.len());
    sections.retain(|section| !section.is_empty());
    Ok(FileStart { file_header: header, sections, header_damage })
}

/// Returns notes about anomalies of the header.
pub(crate) fn remarks(header: &FileHeader, len: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if header.version > NEWEST_VERSION {
        let version = header.version;
        remarks.push(format!(
            "version {version} of ULog is newer than any known version; it is read as version 1"
        ));
    }
    let is_outside =
        |offset: &&u64| **offset >= len || **offset <= wire::FILE_HEADER_LEN as u64;
    for offset in header.appended.iter().filter(is_outside) {
        remarks.push(format!(
            "an appended section is declared at byte {offset}, outside the log"
        ));
    }
    for (byte, bits) in header.compatible_flags.iter().enumerate() {
        let known_bits = u8::from(byte == 0); // default parameters
        if bits & !known_bits != 0 {
            remarks.push(format!(
                "unknown compatible flags are ignored: byte {byte}, {bits:#010b}"
            ));
        }
    }
    remarks
}

/// Returns an error if an unknown incompatible flag is set, unless `options` force the log open.
fn reject_unknown_flags(flags: &[u8; 8], options: OpenOptions) -> Result<()> {
    for (byte, bits) in flags.iter().enumerate() {
        let unknown_bits = bits & if byte == 0 { !DATA_APPENDED } else { !0 };
        if unknown_bits != 0 && !options.force {
            let bit = unknown_bits.trailing_zeros();
            let message = format!(
                "the log can be read only by programs that know its incompatible flag bit \
                 {bit} of byte {byte}"
            );
            let error = Error::new(ErrorKind::IncompatibleFlag, message);
            return Err(error.with_offset(16 + 3 + 8 + byte as u64));
        }
    }
    Ok(())
}
