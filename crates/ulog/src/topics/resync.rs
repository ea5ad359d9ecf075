//! Finds the next message after a damaged range.
//!
//! A message is only a size, a type and bytes, so nothing marks its start except the
//! messages themselves. After damage, reading continues at the first offset that is
//! followed by a chain of plausible messages, or at the next sync message, whichever
//! comes first. A header is plausible if its type is known, the message fits into the
//! section, and the payload has the form of its type. For example, a data message of 57
//! bytes must have the id of a topic whose records are 55 bytes long, which random
//! bytes have once in many millions.

use crate::{
    declarations::formats::Formats,
    topics::streams::Streams,
    wire::{self, kind},
};

/// The number of strong messages in a chain.
const MIN_STRONG: u32 = 3;
/// The maximum number of messages inspected for a chain.
const MAX_MESSAGES: u32 = 16;
/// The maximum number of bytes of a string that are inspected.
const MAX_TEXT: usize = 64;
/// The maximum length of a name that is inspected. Every byte of garbage is tried as a
/// start, and could declare a name of 64 KiB.
const MAX_NAME: usize = 256;

/// How likely the bytes are a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plausibility {
    /// The bytes are not a message.
    No,
    /// The bytes may be a message.
    Weak(usize),
    /// The bytes are very likely a message.
    Strong(usize),
    /// A sync message, with its 8 magic bytes.
    Sync(usize),
}

/// The declarations that are used to recognize messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageDetector<'j> {
    pub(crate) streams: &'j Streams,
    pub(crate) formats: &'j Formats,
}

impl MessageDetector<'_> {
    /// Returns how likely a message starts at the start of `bytes`, which end at the
    /// end of the section. Lengths include the message header.
    pub(crate) fn classify(&self, bytes: &[u8]) -> Plausibility {
        let Some((size, kind)) = wire::header(bytes) else { return Plausibility::No };
        let len = wire::HEADER_LEN + size;
        let Some(payload) = bytes.get(wire::HEADER_LEN..len) else {
            return Plausibility::No;
        };
        let weak_if = |is_plausible: bool| {
            if is_plausible { Plausibility::Weak(len) } else { Plausibility::No }
        };
        let strong_if = |is_plausible: bool| {
            if is_plausible { Plausibility::Strong(len) } else { Plausibility::No }
        };
        match kind {
            kind::DATA => match wire::data(payload) {
                Some((id, record)) => match self.streams.by_id(id) {
                    Some(stream) if !stream.is_valid_len(record.len()) => {
                        Plausibility::No
                    }
                    Some(stream) if stream.max_len != u32::MAX => {
                        Plausibility::Strong(len)
                    }
                    _ => weak_if(!record.is_empty()),
                },
                None => Plausibility::No,
            },
            kind::SYNC if payload == wire::SYNC => Plausibility::Sync(len),
            kind::STRING | kind::TAGGED_STRING => {
                let string = wire::logged_string(kind, payload);
                strong_if(string.is_some_and(|string| {
                    is_level(string.level)
                        && string.text.iter().take(MAX_TEXT).all(is_text)
                }))
            }
            kind::DROPOUT => weak_if(size == 2),
            kind::UNSUBSCRIPTION => weak_if(size == 2),
            kind::SUBSCRIPTION => {
                let subscription =
                    wire::subscription(payload.get(..MAX_NAME).unwrap_or(payload));
                strong_if(subscription.is_some_and(|s| self.formats.contains(s.name)))
            }
            kind::INFO | kind::PARAMETER => {
                strong_if(is_keyed(wire::keyed_value(payload)))
            }
            kind::INFO_MULTIPLE | kind::DEFAULT_PARAMETER => {
                let keyed = wire::flagged_keyed_value(payload);
                strong_if(is_keyed(keyed.map(|(_, keyed)| keyed)))
            }
            kind::FORMAT => strong_if(is_format(payload)),
            _ => Plausibility::No,
        }
    }

    /// Returns true if a chain of messages starts at the start of `bytes`, which end at
    /// the end of the section.
    pub(crate) fn starts_chain(&self, bytes: &[u8]) -> bool {
        let (mut remaining, mut strong_count) = (bytes, 0);
        for index in 0..MAX_MESSAGES {
            let len = match self.classify(remaining) {
                Plausibility::Sync(_) => return true,
                Plausibility::Strong(len) => {
                    strong_count += 1;
                    len
                }
                Plausibility::Weak(len) if index > 0 => len,
                Plausibility::Weak(_) | Plausibility::No => return false,
            };
            remaining = remaining.get(len..).unwrap_or_default();
            if strong_count >= MIN_STRONG
                || (remaining.is_empty() && strong_count == index + 1)
            {
                return true;
            }
        }
        false
    }

    /// Returns the offset of the next message in `bytes`, which do not start with a message.
    /// Returns `None` if no message starts before the last `lookahead` bytes, which are reserved
    /// for the chain of messages after it.
    pub(crate) fn find_next(&self, bytes: &[u8], lookahead: usize) -> Option<usize> {
        self.find_from(bytes, 1, lookahead)
    }

    /// Like [`find_next`](Self::find_next), but searches from the byte `start` on.
    pub(crate) fn find_from(
        &self,
        bytes: &[u8],
        start: usize,
        lookahead: usize,
    ) -> Option<usize> {
        let last = bytes.len().saturating_sub(lookahead.max(wire::HEADER_LEN));
        (start..=last).find(|offset| {
            bytes.get(offset + 2).is_some_and(|kind| is_known(*kind))
                && self.starts_chain(bytes.get(*offset..).unwrap_or_default())
        })
    }
}

/// Returns the offset of the first message of a log whose header of 16 bytes is lost:
/// after the damaged header, or at the start of a file without it. There may be flag
/// bits, and a chain of messages must follow.
pub(crate) fn without_header(head: &[u8]) -> Option<usize> {
    let detector =
        MessageDetector { streams: &Streams::default(), formats: &Formats::default() };
    [wire::FILE_HEADER_LEN, 0].into_iter().find(|offset| {
        let messages = head.get(*offset..).unwrap_or_default();
        let flags_len = match wire::header(messages) {
            Some((size, kind::FLAG_BITS)) => wire::HEADER_LEN + size,
            _ => 0,
        };
        messages
            .get(flags_len..)
            .is_some_and(|chain| !chain.is_empty() && detector.starts_chain(chain))
    })
}

/// Returns true if the specification defines messages of this type.
pub(crate) fn is_known(kind: u8) -> bool {
    b"DLCSAIMPQFBRO".contains(&kind)
}

fn is_level(level: u8) -> bool {
    level < 8 || (b'0'..=b'7').contains(&level)
}

fn is_text(byte: &u8) -> bool {
    *byte >= b' ' && *byte != 0x7f || b"\t\n\r\x1b".contains(byte)
}

/// Returns true if `payload` starts with a name, a colon and text.
fn is_format(payload: &[u8]) -> bool {
    let colon = payload.iter().take(MAX_NAME).position(|byte| *byte == b':');
    colon.is_some_and(|len| len > 0 && payload.iter().take(len + MAX_TEXT).all(is_text))
}

fn is_keyed(keyed: Option<wire::KeyedValue<'_>>) -> bool {
    keyed.is_some_and(|keyed| {
        let base = crate::declarations::formats::split_array(keyed.type_name)
            .map(|(base, _)| base);
        base.is_some_and(|base| crate::declarations::formats::primitive(base).is_some())
            && keyed.name.bytes().all(|byte| is_text(&byte))
    })
}

/// Returns true if the section ends after a message, or if another message follows it. `remaining`
/// are the bytes after the message. Messages of unknown types are skipped.
pub(crate) fn is_followed_by_message(
    detector: &MessageDetector<'_>,
    mut remaining: &[u8],
) -> bool {
    for _ in 0..MAX_MESSAGES {
        if detector.classify(remaining) != Plausibility::No
            || remaining.len() < wire::HEADER_LEN
        {
            return true;
        }
        let Some((size, kind)) = wire::header(remaining) else { return true };
        let next = remaining.get(wire::HEADER_LEN + size..);
        match next {
            None => return is_known(kind), // truncated
            // Another message that is lost, e.g. of an undeclared topic.
            Some(next) if is_known(kind) && size > 0 => remaining = next,
            Some(next) if kind.is_ascii_alphabetic() && size > 0 => remaining = next,
            Some(_) => return false,
        }
    }
    false
}
