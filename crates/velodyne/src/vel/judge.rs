//! Whether some bytes are a message, and where the next one is after damage.

use logtool_core::{Result, Window};

use crate::vel::wire::{self, HEADER_LEN, Header, SizeField, VALID, VERSION, kind};

/// How much of a message has to be seen to judge it: its header, and what says how long
/// the data of a picture is.
pub(crate) const SIGHT: usize = HEADER_LEN + 20;

/// Times further from the program's start than this, in milliseconds, are none: 285
/// years.
pub(crate) const MAX_MILLIS: f64 = 9e12;

/// The types of which the layout is known.
const KNOWN: [u32; 5] = [kind::OBD, kind::GPS, kind::IMAGE, kind::POSE, kind::VELODYNE];

/// The types that a message can have of which nothing is known.
const UNKNOWN: std::ops::Range<u32> = 1..0x0100_0000;

/// So many odd messages that follow on each other need no other behind them.
const MANY: usize = 16;

/// Judges messages of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    pub(crate) size_field: SizeField,
    /// Where the file ends.
    pub(crate) end: u64,
}

/// What some bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// A message.
    Message(Message),
    /// The same, but of a type or of a time that is hardly one: who surveys a file believes it
    /// where others [follow](Judge::leads_on).
    Odd(Message),
    /// A message that goes beyond the end of the file.
    Cut(Message),
    /// The mark that says that there are no more messages.
    End,
    /// Nothing that could be a message.
    Nothing,
}

/// A message as its header says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) header: Header,
    /// Of all of it, size and header included.
    pub(crate) len: u64,
    /// Whether it is of a known type, and its data has the length that it should have.
    pub(crate) fits: bool,
}

impl Message {
    /// How many bytes its data has.
    pub(crate) fn data_len(&self) -> u64 {
        self.len.saturating_sub(HEADER_LEN as u64)
    }
}

impl Judge {
    /// What lies at `at`, where the file has `bytes`.
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
        // Not a number is no time either.
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

    /// Whether something that could be a message, or the end, lies at `at`.
    pub(crate) fn goes_on(&self, at: u64, window: &Window<'_>) -> Result<bool> {
        Ok(at == self.end
            || match self.look(at, &window.peek(at, SIGHT)?) {
                Look::Nothing => false,
                Look::Odd(odd) => self.leads_on(at, &odd, window)?,
                Look::Message(_) | Look::Cut(_) | Look::End => true,
            })
    }

    /// Whether the sizes of the odd `message` at `at`, and of those behind it, lead to one
    /// that is not, or to the end.
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

    /// Where the next message begins, from `from` on: one of a known type that has the
    /// length that it should have, or one on which two others follow.
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

/// Whether the header of a message that nothing speaks against may begin here.
fn may_begin(bytes: &[u8]) -> bool {
    let Some((_, header)) = wire::message(bytes) else { return false };
    KNOWN.contains(&header.kind)
        || header.validity == VALID
            && header.version == VERSION
            && UNKNOWN.contains(&header.kind)
}
