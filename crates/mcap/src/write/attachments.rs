//! Copies attachments.

use std::ops::Range;

use bytes::Bytes;
use logtool_core::{
    ByteReader, ClockTransform, Error, ErrorKind, Output, Result, Source, Timestamp,
};

use crate::{
    wire::{self, Attachment, RECORD_HEADER_LEN, op, timestamp},
    write::{Writer, encode::Records},
};

/// The number of bytes in which the name and the media type of an attachment must be.
const MAX_HEADER_LEN: u64 = 1 << 20;
/// The number of bytes that are read at a time to verify a checksum.
const WINDOW_BYTES: u64 = 1 << 20;

/// The length of a time in bytes.
const TIME_LEN: u64 = 8;
/// The length of a checksum in bytes.
const CHECKSUM_LEN: u64 = 4;

/// An attachment that was written.
#[derive(Debug)]
pub(super) struct WrittenAttachment {
    /// The offset and the length of its record.
    record_offset: u64,
    record_len: u64,
    attachment: Attachment,
}

impl<W: Output> Writer<W> {
    /// Copies the attachment record at `position` of `source`, with its log time changed by
    /// `shift`. Returns the name of the attachment.
    ///
    /// # Errors
    /// `Malformed` if the record is not an attachment; `Io` if reading or writing
    /// fails.
    pub(crate) fn copy_attachment(
        &mut self,
        source: &dyn Source,
        position: Range<u64>,
        shift: ClockTransform,
        checksum_mode: ChecksumMode,
    ) -> Result<String> {
        let malformed = || {
            let message = "the fields of the attachment exceed its record";
            Error::new(ErrorKind::Malformed, message).with_offset(position.start)
        };
        let content = read_header(source, &position)?;
        let mut attachment = Attachment::parse(&content).ok_or_else(malformed)?;
        self.flush()?;
        let record_offset = self.output.position();
        let record_len = position.end - position.start;
        let old_time = attachment.log_time;
        let new_time = shifted_time(old_time, shift);
        attachment.log_time = new_time;
        if new_time == old_time && checksum_mode == ChecksumMode::Keep {
            self.output.append_from(source, position)?;
        } else {
            let time_start = position.start + RECORD_HEADER_LEN as u64;
            let time_end = time_start + TIME_LEN;
            let (checksum_start, old_checksum) =
                stored_checksum(source, &position, &content)?.ok_or_else(malformed)?;
            let trailing_len = checksum_start - time_end;
            let checksum = match checksum_mode {
                ChecksumMode::Keep => {
                    updated_checksum(old_checksum, old_time, new_time, trailing_len)
                }
                ChecksumMode::Remove => NO_CHECKSUM,
            };
            self.output.append_from(source, position.start..time_start)?;
            self.output.append(&new_time.to_le_bytes())?;
            self.output.append_from(source, time_end..checksum_start)?;
            self.output.append(&checksum.to_le_bytes())?;
            // The checksum does not cover the fields that a later specification adds.
            self.output
                .append_from(source, checksum_start + CHECKSUM_LEN..position.end)?;
        }
        let name = attachment.name.clone();
        self.attachments.push(WrittenAttachment {
            record_offset,
            record_len,
            attachment,
        });
        Ok(name)
    }
}

/// The value of the checksum field of an attachment without a checksum.
const NO_CHECKSUM: u32 = 0;

/// How the checksum of an attachment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumMode {
    /// The copy has the same checksum, updated for a changed time.
    Keep,
    /// The copy has no checksum.
    Remove,
}

/// Returns true if the attachment record at `position` of `source` has a correct checksum,
/// or none.
///
/// # Errors
/// `Io` if reading fails.
pub(crate) fn has_valid_checksum(
    source: &dyn Source,
    position: &Range<u64>,
) -> Result<bool> {
    let content = read_header(source, position)?;
    let (checksum_start, stored) = match stored_checksum(source, position, &content)? {
        Some((start, stored)) if stored != NO_CHECKSUM => (start, stored),
        _ => return Ok(true),
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut offset = position.start + RECORD_HEADER_LEN as u64;
    while offset < checksum_start {
        let end = checksum_start.min(offset + WINDOW_BYTES);
        hasher.update(&read_source(source, offset..end)?);
        offset = end;
    }
    Ok(hasher.finalize() == stored)
}

/// Returns the first bytes of the content of the attachment record at `position` of
/// `source`.
fn read_header(source: &dyn Source, position: &Range<u64>) -> Result<Bytes> {
    let end = position.end.min(position.start.saturating_add(MAX_HEADER_LEN));
    let first_bytes = read_source(source, position.start..end)?;
    Ok(first_bytes.slice(RECORD_HEADER_LEN.min(first_bytes.len())..))
}

/// Reads `bytes` of `source`. The error states that reading failed, and not writing.
fn read_source(source: &dyn Source, bytes: Range<u64>) -> Result<Bytes> {
    source.read_at(bytes).map_err(|err| {
        Error::new(ErrorKind::Io, "the attachment cannot be read").with_source(err)
    })
}

/// Returns the offset and the value of the checksum of the attachment record at `position`
/// of `source`, whose content starts with `content`. Returns `None` if the record ends
/// before its checksum.
fn stored_checksum(
    source: &dyn Source,
    position: &Range<u64>,
    content: &[u8],
) -> Result<Option<(u64, u32)>> {
    let content_start = position.start + RECORD_HEADER_LEN as u64;
    let range = wire::attachment_crc_offset(content)
        .and_then(|offset| content_start.checked_add(offset))
        .and_then(|start| Some(start..start.checked_add(CHECKSUM_LEN)?))
        .filter(|range| range.end <= position.end);
    let Some(range) = range else { return Ok(None) };
    let stored = ByteReader::new(&read_source(source, range.clone())?).u32();
    Ok(stored.map(|stored| (range.start, stored)))
}

/// Changes a time of a file by `shift`. MCAP has no times before 1970; 0 means no time.
pub(crate) fn shifted_time(time: u64, shift: ClockTransform) -> u64 {
    match timestamp(time) {
        // No time, or a time that exceeds the range of `Timestamp`.
        _ if time == 0 => 0,
        Timestamp::MAX => time,
        time => u64::try_from(shift.apply(time).as_nanos()).unwrap_or(0),
    }
}

/// Returns the CRC-32 of data after a change of the time at its start. `checksum` is the
/// CRC-32 before the change; a wrong checksum stays wrong. The time is followed by
/// `trailing_len` bytes.
fn updated_checksum(
    checksum: u32,
    old_time: u64,
    new_time: u64,
    trailing_len: u64,
) -> u32 {
    if checksum == NO_CHECKSUM {
        return NO_CHECKSUM;
    }
    // The trailing bytes contribute the same to both checksums, so they can be zeros.
    let checksum_with = |time: u64| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&time.to_le_bytes());
        hasher.combine(&crc32fast::Hasher::new_with_initial_len(0, trailing_len));
        hasher.finalize()
    };
    checksum ^ checksum_with(old_time) ^ checksum_with(new_time)
}

impl Records {
    pub(super) fn attachment_index(&mut self, written: &WrittenAttachment) {
        let WrittenAttachment { record_offset, record_len, attachment } = written;
        self.add(op::ATTACHMENT_INDEX, |content| {
            content
                .u64(*record_offset)
                .u64(*record_len)
                .u64(attachment.log_time)
                .u64(attachment.create_time);
            content
                .u64(attachment.data_len)
                .text(&attachment.name)
                .text(&attachment.media_type);
        });
    }
}
