//! Copies attachments.

use std::ops::Range;

use logtool_core::{
    ClockTransform, Error, ErrorKind, Output, Result, Source, Timestamp,
};

use crate::{
    wire::{self, Attachment, RECORD_HEADER_LEN, op, timestamp},
    write::{Writer, encode::Records},
};

/// The maximum number of bytes that are read for the name of an attachment.
const MAX_HEAD: u64 = 1 << 20;

/// An attachment that was written, with the position of its record.
#[derive(Debug)]
pub(super) struct WrittenAttachment {
    at: u64,
    len: u64,
    attachment: Attachment,
}

impl<W: Output> Writer<W> {
    /// Copies the attachment record at `position` of `source`. Its log time is changed by
    /// `shift`. Returns the name of the attachment.
    ///
    /// # Errors
    /// `Malformed` if the record is not an attachment; `Io` if reading or writing
    /// fails.
    pub(crate) fn attach(
        &mut self,
        source: &dyn Source,
        position: Range<u64>,
        shift: ClockTransform,
        sum: ChecksumMode,
    ) -> Result<String> {
        let malformed = || {
            let message = "the attachment is malformed";
            Error::new(ErrorKind::Malformed, message).with_offset(position.start)
        };
        let end = position.end.min(position.start.saturating_add(MAX_HEAD));
        let first_bytes = source
            .read_at(position.start..end)
            .map_err(|err| Error::new(ErrorKind::Io, "reading").with_source(err))?;
        let content = first_bytes.get(RECORD_HEADER_LEN..).ok_or_else(malformed)?;
        let mut attachment = Attachment::parse(content).ok_or_else(malformed)?;
        self.flush()?;
        let (at, len) = (self.output.position(), position.end - position.start);
        let log_time = attachment.log_time;
        attachment.log_time = shifted_time(log_time, shift);
        if attachment.log_time == log_time && sum == ChecksumMode::Keep {
            self.output.append_from(source, position)?;
        } else {
            let time_at = position.start + RECORD_HEADER_LEN as u64;
            let after = time_at + TIME_LEN;
            let (sum_at, stored) =
                stored_checksum(source, &position, content).ok_or_else(malformed)?;
            let sum = match sum {
                ChecksumMode::Keep => stored,
                ChecksumMode::Drop => 0,
            };
            let change = Change {
                before: log_time,
                is: attachment.log_time,
                rest: sum_at - after,
            };
            self.output.append_from(source, position.start..time_at)?;
            self.output.append(&attachment.log_time.to_le_bytes())?;
            self.output.append_from(source, after..sum_at)?;
            self.output.append(&change.apply_to(sum).to_le_bytes())?;
            // Fields that a later specification adds are not part of the checksum.
            self.output.append_from(source, sum_at + SUM_LEN..position.end)?;
        }
        let name = attachment.name.clone();
        self.attachments.push(WrittenAttachment { at, len, attachment });
        Ok(name)
    }
}

/// How the checksum of an attachment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumMode {
    /// The checksum is kept.
    Keep,
    /// The checksum is wrong, so the copy has none.
    Drop,
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
    const PIECE_LEN: u64 = 1 << 20;
    let read = |bytes: Range<u64>| {
        let read = source.read_at(bytes);
        read.map_err(|err| Error::new(ErrorKind::Io, "reading").with_source(err))
    };
    let first_bytes = read(
        position.start..position.end.min(position.start.saturating_add(MAX_HEAD)),
    )?;
    let content = first_bytes.get(RECORD_HEADER_LEN..).unwrap_or_default();
    let (end, stored) = match stored_checksum(source, position, content) {
        Some((end, stored)) if stored != 0 => (end, stored),
        _ => return Ok(true),
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut at = position.start + RECORD_HEADER_LEN as u64;
    while at < end {
        let next = end.min(at + PIECE_LEN);
        hasher.update(&read(at..next)?);
        at = next;
    }
    Ok(hasher.finalize() == stored)
}

/// Returns the offset and the value of the checksum of the attachment record at `position`
/// of `source`, whose content starts with `content`.
fn stored_checksum(
    source: &dyn Source,
    position: &Range<u64>,
    content: &[u8],
) -> Option<(u64, u32)> {
    let start = position.start + RECORD_HEADER_LEN as u64;
    let at = start.checked_add(wire::attachment_crc(content)?)?;
    let end = at.checked_add(SUM_LEN).filter(|end| *end <= position.end)?;
    let sum = source.read_at(at..end).ok()?;
    Some((at, u32::from_le_bytes(sum.as_ref().try_into().ok()?)))
}

/// The length of a time in bytes.
const TIME_LEN: u64 = 8;
/// The length of a checksum in bytes.
const SUM_LEN: u64 = 4;

/// Changes a time of a file by `shift`. MCAP has no times before 1970; 0 means no time.
pub(crate) fn shifted_time(time: u64, shift: ClockTransform) -> u64 {
    match timestamp(time) {
        // No time, or a time that exceeds the range of `Timestamp`.
        _ if time == 0 => 0,
        Timestamp::MAX => time,
        time => u64::try_from(shift.apply(time).as_nanos()).unwrap_or(0),
    }
}

/// A change of the first bytes of data with a checksum.
struct Change {
    before: u64,
    is: u64,
    /// The number of bytes after the changed ones.
    rest: u64,
}

impl Change {
    /// Returns the CRC-32 of the changed data if `sum` is the CRC-32 of the original
    /// data. A wrong checksum stays wrong. (0 means no checksum.)
    fn apply_to(&self, sum: u32) -> u32 {
        let checksum_of = |time: u64| {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&time.to_le_bytes());
            // The bytes after the change contribute the same to both.
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(0, self.rest));
            hasher.finalize()
        };
        if sum == 0 { 0 } else { sum ^ checksum_of(self.before) ^ checksum_of(self.is) }
    }
}

impl Records {
    pub(super) fn attachment_index(&mut self, attachments: &WrittenAttachment) {
        let WrittenAttachment { at, len, attachment } = attachments;
        self.add(op::ATTACHMENT_INDEX, |content| {
            content
                .u64(*at)
                .u64(*len)
                .u64(attachment.log_time)
                .u64(attachment.create_time);
            content
                .u64(attachment.len)
                .text(&attachment.name)
                .text(&attachment.media_type);
        });
    }
}
