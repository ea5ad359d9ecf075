//! Decides whether bytes are a message, and finds the next message after damage.

use logtool_core::{Result, WindowReader};

use crate::vel::wire::{self, HEADER_LEN, Header, SizeField, VALID, VERSION, kind};

/// The number of bytes of a message that are needed to classify it: its header, and the
/// fields that declare the length of an image.
pub(crate) const CLASSIFIED_BYTES: usize = HEADER_LEN + 20;

/// Times further from the start of the program than this, in milliseconds, are invalid:
/// 285 years.
pub(crate) const MAX_MILLIS: f64 = 9e12;

/// The types with a known layout.
const KNOWN: [u32; 5] = [kind::OBD, kind::GPS, kind::IMAGE, kind::POSE, kind::VELODYNE];

/// The values that unknown types may have.
const UNKNOWN: std::ops::Range<u32> = 1..0x0100_0000;

/// This number of anomalous messages in a row is accepted without another message after
/// them.
const MAX_ANOMALOUS: usize = 16;

/// Classifies the messages of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageClassifier {
    pub(crate) size_field: SizeField,
    /// The length of the file.
    pub(crate) end: u64,
}

/// The classification of some bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Classification {
    /// A message.
    Message(MessageExtent),
    /// A message whose type or time is hardly possible. It is accepted only if other
    /// messages [follow](MessageClassifier::leads_to_message).
    Anomalous(MessageExtent),
    /// A message that extends beyond the end of the file.
    Truncated(MessageExtent),
    /// The mark that ends the messages.
    EndMark,
    /// Bytes that cannot be a message.
    Invalid,
}

/// The header of a message and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessageExtent {
    pub(crate) header: Header,
    /// The length of the message, including size and header.
    pub(crate) len: u64,
    /// Whether the type is known and the data has the length of that type.
    pub(crate) fits: bool,
}

impl MessageExtent {
    /// Returns the length of the data.
    pub(crate) fn data_len(&self) -> u64 {
        self.len.saturating_sub(HEADER_LEN as u64)
    }
}

impl MessageClassifier {
    /// Classifies the `bytes` of the file at `at`.
    pub(crate) fn classify(&self, at: u64, bytes: &[u8]) -> Classification {
        if wire::end_mark(bytes) {
            return Classification::EndMark;
        }
        let Some((size, header)) = wire::message(bytes) else {
            return Classification::Invalid;
        };
        let Some(data_len) = size.checked_sub(self.size_field.header_bytes()) else {
            return Classification::Invalid;
        };
        let is_known = KNOWN.contains(&header.kind);
        let is_possible = is_known || UNKNOWN.contains(&header.kind);
        // Also false for NaN.
        let is_time = header.millis.abs() < MAX_MILLIS;
        let data = bytes.get(HEADER_LEN..).unwrap_or_default();
        let fits = wire::fits(header.kind, data, data_len.into());
        let len = HEADER_LEN as u64 + u64::from(data_len);
        let message = MessageExtent { header, len, fits };
        match (is_possible && is_time, at.saturating_add(len) > self.end) {
            (true, false) => Classification::Message(message),
            (true, true) => Classification::Truncated(message),
            (false, false) => Classification::Anomalous(message),
            (false, true) => Classification::Invalid,
        }
    }

    /// Returns whether a possible message, the end mark or the end of the file is at
    /// `at`.
    pub(crate) fn continues_at(
        &self,
        at: u64,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        Ok(at == self.end
            || match self.classify(at, &window.peek(at, CLASSIFIED_BYTES)?) {
                Classification::Invalid => false,
                Classification::Anomalous(anomaly) => {
                    self.leads_to_message(at, &anomaly, window)?
                }
                Classification::Message(_)
                | Classification::Truncated(_)
                | Classification::EndMark => true,
            })
    }

    /// Returns whether the sizes of the anomalous `message` at `at` and of those after it
    /// lead to an ordinary message or to the end.
    pub(crate) fn leads_to_message(
        &self,
        at: u64,
        message: &MessageExtent,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let mut at = at + message.len;
        for _ in 1..MAX_ANOMALOUS {
            if at == self.end {
                return Ok(true);
            }
            match self.classify(at, &window.peek(at, CLASSIFIED_BYTES)?) {
                Classification::Anomalous(anomaly) => at += anomaly.len,
                Classification::Truncated(message) => return Ok(message.fits),
                Classification::Message(_) | Classification::EndMark => {
                    return Ok(true);
                }
                Classification::Invalid => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the position of the next message at or after `from`. It has a known type
    /// and the length of that type, or two other messages follow it.
    pub(crate) fn next(
        &self,
        from: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        let mut at = from;
        loop {
            let bytes = window.read_at(at, 2 * CLASSIFIED_BYTES)?;
            let is_last = at + bytes.len() as u64 >= self.end;
            let keep = if is_last { HEADER_LEN } else { CLASSIFIED_BYTES };
            let count = (bytes.len() + 1).saturating_sub(keep);
            for skip in 0..count {
                let offset = at + skip as u64;
                let rest = bytes.get(skip..).unwrap_or_default();
                if may_begin(rest) && self.is_message_start(offset, rest, window)? {
                    return Ok(Some(offset));
                }
            }
            if is_last || count == 0 {
                return Ok(None);
            }
            at += count as u64;
        }
    }

    fn is_message_start(
        &self,
        at: u64,
        bytes: &[u8],
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let mut message = match self.classify(at, bytes) {
            Classification::Message(message) => message,
            Classification::Truncated(message) => return Ok(message.fits),
            Classification::Anomalous(_)
            | Classification::EndMark
            | Classification::Invalid => return Ok(false),
        };
        let mut at = at;
        for _ in 0..2 {
            if message.fits {
                return Ok(true);
            }
            at += message.len;
            message = match self.classify(at, &window.peek(at, CLASSIFIED_BYTES)?) {
                Classification::Message(message) => message,
                _ => return Ok(false),
            };
        }
        Ok(true)
    }
}

/// Returns whether an ordinary message header may start here.
fn may_begin(bytes: &[u8]) -> bool {
    let Some((_, header)) = wire::message(bytes) else { return false };
    KNOWN.contains(&header.kind)
        || header.validity == VALID
            && header.version == VERSION
            && UNKNOWN.contains(&header.kind)
}
