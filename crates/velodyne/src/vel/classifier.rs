//! Decides whether bytes are a message, and finds the next message after damage.

use logtool_core::{Result, WindowReader};

use crate::vel::wire::{self, HEADER_LEN, Header, SizeField, VALID, VERSION, kind};

/// The number of bytes of a message that are needed to classify it: its header, and the
/// fields that declare the length of an image.
pub(crate) const CLASSIFIED_BYTES: usize = HEADER_LEN + 20;

/// The maximum difference between a time and the start of the program, in milliseconds.
const MAX_MILLIS: f64 = 9e12;

/// The types with a known layout.
const KNOWN_TYPES: [u32; 5] =
    [kind::OBD, kind::GPS, kind::IMAGE, kind::POSE, kind::VELODYNE];

/// The values that unknown types may have.
const UNKNOWN_TYPES: std::ops::Range<u32> = 1..0x0100_0000;

/// This number of anomalous messages in a row is accepted, whatever follows them.
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

/// The header and the length of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessageExtent {
    pub(crate) header: Header,
    /// The length of the message, including the size field and the header.
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
        if wire::is_end_mark(bytes) {
            return Classification::EndMark;
        }
        let Some((size, header)) = wire::message(bytes) else {
            return Classification::Invalid;
        };
        let Some(data_len) = size.checked_sub(self.size_field.header_bytes()) else {
            return Classification::Invalid;
        };
        let is_possible_type =
            KNOWN_TYPES.contains(&header.kind) || UNKNOWN_TYPES.contains(&header.kind);
        let data = bytes.get(HEADER_LEN..).unwrap_or_default();
        let fits = wire::is_valid_len(header.kind, data, data_len.into());
        let len = HEADER_LEN as u64 + u64::from(data_len);
        let message = MessageExtent { header, len, fits };
        let is_plausible = is_possible_type && is_plausible_time(header.millis);
        match (is_plausible, at.saturating_add(len) > self.end) {
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

    /// Returns whether the sizes of the anomalous `message` at `at`, and of anomalous
    /// messages after it, lead to an ordinary message or to the end.
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

    /// Returns the position of the next message at or after `start`. It has a known type
    /// and the length of that type, or two other messages follow it.
    pub(crate) fn find_next(
        &self,
        start: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        let mut window_start = start;
        loop {
            let bytes = window.read_at(window_start, 2 * CLASSIFIED_BYTES)?;
            let is_last = window_start + bytes.len() as u64 >= self.end;
            // A candidate needs `CLASSIFIED_BYTES` bytes, unless the file ends before.
            let min_bytes = if is_last { HEADER_LEN } else { CLASSIFIED_BYTES };
            let candidates = (bytes.len() + 1).saturating_sub(min_bytes);
            for index in 0..candidates {
                let at = window_start + index as u64;
                let message_bytes = bytes.get(index..).unwrap_or_default();
                if may_be_message(message_bytes)
                    && self.is_message_start(at, message_bytes, window)?
                {
                    return Ok(Some(at));
                }
            }
            if is_last || candidates == 0 {
                return Ok(None);
            }
            window_start += candidates as u64;
        }
    }

    /// Returns whether a message starts at `at`, as for [`find_next`](Self::find_next).
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

/// Returns whether `millis` is a time within 285 years of the start of the program. This is
/// false for NaN.
pub(crate) fn is_plausible_time(millis: f64) -> bool {
    millis.abs() < MAX_MILLIS
}

/// Returns whether `bytes` may start with the header of an ordinary message. This rejects
/// most bytes quickly.
fn may_be_message(bytes: &[u8]) -> bool {
    let Some((_, header)) = wire::message(bytes) else { return false };
    KNOWN_TYPES.contains(&header.kind)
        || header.validity == VALID
            && header.version == VERSION
            && UNKNOWN_TYPES.contains(&header.kind)
}
