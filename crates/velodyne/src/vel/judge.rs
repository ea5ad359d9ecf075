//! Decides whether bytes are a message, and finds the next message after damage.

use logtool_core::{Result, Window};

use crate::vel::wire::{self, HEADER_LEN, Header, SizeField, VALID, VERSION, kind};

/// The number of bytes of a message that are needed to classify it: its header, and the
/// fields that declare the length of an image.
pub(crate) const SIGHT: usize = HEADER_LEN + 20;

/// Times further from the start of the program than this, in milliseconds, are invalid:
/// 285 years.
pub(crate) const MAX_MILLIS: f64 = 9e12;

/// The types with a known layout.
const KNOWN: [u32; 5] = [kind::OBD, kind::GPS, kind::IMAGE, kind::POSE, kind::VELODYNE];

/// The values that unknown types may have.
const UNKNOWN: std::ops::Range<u32> = 1..0x0100_0000;

/// This number of anomalous messages in a row is accepted without another message after
/// them.
const MANY: usize = 16;

/// Classifies the messages of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    pub(crate) size_field: SizeField,
    /// The length of the file.
    pub(crate) end: u64,
}

/// The classification of some bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// A message.
    Message(Message),
    /// A message whose type or time is hardly possible. It is accepted only if other
    /// messages [follow](Judge::leads_on).
    Odd(Message),
    /// A message that extends beyond the end of the file.
    Cut(Message),
    /// The mark that ends the messages.
    End,
    /// Bytes that cannot be a message.
    Nothing,
}

/// The header of a message and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) header: Header,
    /// The length of the message, including size and header.
    pub(crate) len: u64,
    /// Whether the type is known and the data has the length of that type.
    pub(crate) fits: bool,
}

impl Message {
    /// Returns the length of the data.
    pub(crate) fn data_len(&self) -> u64 {
        self.len.saturating_sub(HEADER_LEN as u64)
    }
}

impl Judge {
    /// Classifies the `bytes` of the file at `at`.
    pub(crate) fn look(&self, at: u64, bytes: &[u8]) -> Look {
        if wire::end_mark(bytes) {
            return Look::End;
        }
        let Some((size, header)) = wire::message(bytes) else { return Look::Nothing };
        let Some(data_len) = size.checked_sub(self.size_field.header_bytes()) else {
            return Look::Nothing;
        };
        let is_known = KNOWN.contains(&header.kind);
        let is_possible = is_known || UNKNOWN.contains(&header.kind);
        // Also false for NaN.
        let is_time = header.millis.abs() < MAX_MILLIS;
        let data = bytes.get(HEADER_LEN..).unwrap_or_default();
        let fits = wire::fits(header.kind, data, data_len.into());
        let len = HEADER_LEN as u64 + u64::from(data_len);
        let message = Message { header, len, fits };
        match (is_possible && is_time, at.saturating_add(len) > self.end) {
            (true, false) => Look::Message(message),
            (true, true) => Look::Cut(message),
            (false, false) => Look::Odd(message),
            (false, true) => Look::Nothing,
        }
    }

    /// Returns whether a possible message, the end mark or the end of the file is at
    /// `at`.
    pub(crate) fn goes_on(&self, at: u64, window: &Window<'_>) -> Result<bool> {
        Ok(at == self.end
            || match self.look(at, &window.peek(at, SIGHT)?) {
                Look::Nothing => false,
                Look::Odd(odd) => self.leads_on(at, &odd, window)?,
                Look::Message(_) | Look::Cut(_) | Look::End => true,
            })
    }

    /// Returns whether the sizes of the anomalous `message` at `at` and of those after it
    /// lead to an ordinary message or to the end.
    pub(crate) fn leads_on(
        &self,
        at: u64,
        message: &Message,
        window: &Window<'_>,
    ) -> Result<bool> {
        let mut at = at + message.len;
        for _ in 1..MANY {
            if at == self.end {
                return Ok(true);
            }
            match self.look(at, &window.peek(at, SIGHT)?) {
                Look::Odd(odd) => at += odd.len,
                Look::Cut(message) => return Ok(message.fits),
                Look::Message(_) | Look::End => return Ok(true),
                Look::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the position of the next message at or after `from`. It has a known type
    /// and the length of that type, or two other messages follow it.
    pub(crate) fn next(
        &self,
        from: u64,
        window: &mut Window<'_>,
    ) -> Result<Option<u64>> {
        let mut at = from;
        loop {
            let bytes = window.at(at, 2 * SIGHT)?;
            let is_last = at + bytes.len() as u64 >= self.end;
            let keep = if is_last { HEADER_LEN } else { SIGHT };
            let count = (bytes.len() + 1).saturating_sub(keep);
            for skip in 0..count {
                let here = at + skip as u64;
                let rest = bytes.get(skip..).unwrap_or_default();
                if may_begin(rest) && self.begins(here, rest, window)? {
                    return Ok(Some(here));
                }
            }
            if is_last || count == 0 {
                return Ok(None);
            }
            at += count as u64;
        }
    }

    fn begins(&self, at: u64, bytes: &[u8], window: &Window<'_>) -> Result<bool> {
        let mut message = match self.look(at, bytes) {
            Look::Message(message) => message,
            Look::Cut(message) => return Ok(message.fits),
            Look::Odd(_) | Look::End | Look::Nothing => return Ok(false),
        };
        let mut at = at;
        for _ in 0..2 {
            if message.fits {
                return Ok(true);
            }
            at += message.len;
            message = match self.look(at, &window.peek(at, SIGHT)?) {
                Look::Message(message) => message,
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
