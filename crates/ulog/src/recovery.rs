//! Where a log can be read again after a broken stretch.
//!
//! A message is only a size, a type and bytes, so nothing says where the next begins
//! but the messages themselves. After damage, reading goes on at the first place from
//! which a chain of plausible messages follows, or at the next sync message, whichever
//! comes first. A header is plausible when its type is known, it fits into the section,
//! and what it holds has the form of its type: a data message of 57 bytes has to carry
//! the id of a topic whose records are 55 bytes long, which random bytes do once in
//! many million.

use crate::{
    formats::Formats,
    streams::Streams,
    wire::{self, kind},
};

/// How many strong messages make a chain.
const STRONG: u32 = 3;
/// How many messages are looked at for that.
const HOPS: u32 = 16;
/// How many bytes of a text are looked at.
const TEXT: usize = 64;
/// The longest name that is looked at: garbage is asked at every byte, and what it says
/// to be a name may be 64 KiB long.
const NAME: usize = 256;

/// What a message's header and form say for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plausible {
    /// Nothing: it is none.
    No,
    /// It may be one.
    Weak(usize),
    /// It very likely is one.
    Strong(usize),
    /// It is a sync message, with its 8 bytes of magic.
    Sync(usize),
}

/// All that a guess goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'j> {
    pub(crate) streams: &'j Streams,
    pub(crate) formats: &'j Formats,
}

impl Judge<'_> {
    /// How plausible it is that a message begins at the start of `bytes`, which end
    /// where the section does. The length includes the header.
    pub(crate) fn message(&self, bytes: &[u8]) -> Plausible {
        let Some((size, kind)) = wire::header(bytes) else { return Plausible::No };
        let len = wire::HEADER_LEN + size;
        let Some(payload) = bytes.get(wire::HEADER_LEN..len) else {
            return Plausible::No;
        };
        let weak_if = |is: bool| if is { Plausible::Weak(len) } else { Plausible::No };
        let strong_if =
            |is: bool| if is { Plausible::Strong(len) } else { Plausible::No };
        match kind {
            kind::DATA => match wire::data(payload) {
                Some((id, record)) => match self.streams.by_id(id) {
                    Some(stream) if !stream.fits(record.len()) => Plausible::No,
                    Some(stream) if stream.max_len != u32::MAX => {
                        Plausible::Strong(len)
                    }
                    _ => weak_if(!record.is_empty()),
                },
                None => Plausible::No,
            },
            kind::SYNC if payload == wire::SYNC => Plausible::Sync(len),
            kind::STRING | kind::TAGGED_STRING => {
                let string = wire::logged_string(kind, payload);
                strong_if(string.is_some_and(|string| {
                    is_level(string.level) && string.text.iter().take(TEXT).all(is_text)
                }))
            }
            kind::DROPOUT => weak_if(size == 2),
            kind::UNSUBSCRIPTION => weak_if(size == 2),
            kind::SUBSCRIPTION => {
                let is_one = wire::subscription(payload.get(..NAME).unwrap_or(payload));
                strong_if(is_one.is_some_and(|s| self.formats.contains(s.name)))
            }
            kind::INFO | kind::PARAMETER => strong_if(is_keyed(wire::keyed(payload))),
            kind::INFO_MULTIPLE | kind::DEFAULT_PARAMETER => {
                let keyed = wire::flagged_keyed(payload);
                strong_if(is_keyed(keyed.map(|(_, keyed)| keyed)))
            }
            kind::FORMAT => strong_if(is_format(payload)),
            _ => Plausible::No,
        }
    }

    /// Whether a chain of messages begins at the start of `bytes`, which end where the
    /// section does.
    pub(crate) fn chain(&self, bytes: &[u8]) -> bool {
        let (mut rest, mut strong) = (bytes, 0);
        for hop in 0..HOPS {
            let len = match self.message(rest) {
                Plausible::Sync(_) => return true,
                Plausible::Strong(len) => {
                    strong += 1;
                    len
                }
                Plausible::Weak(len) if hop > 0 => len,
                Plausible::Weak(_) | Plausible::No => return false,
            };
            rest = rest.get(len..).unwrap_or_default();
            if strong >= STRONG || (rest.is_empty() && strong == hop + 1) {
                return true;
            }
        }
        false
    }

    /// How far it is from the start of `bytes`, where no message is, to where messages
    /// begin again; nothing where they do not before the last `keep` bytes.
    pub(crate) fn next(&self, bytes: &[u8], keep: usize) -> Option<usize> {
        self.first(bytes, 1, keep)
    }

    /// The same, from the byte `from` on.
    pub(crate) fn first(
        &self,
        bytes: &[u8],
        from: usize,
        keep: usize,
    ) -> Option<usize> {
        let last = bytes.len().saturating_sub(keep.max(wire::HEADER_LEN));
        (from..=last).find(|at| {
            bytes.get(at + 2).is_some_and(|kind| is_known(*kind))
                && self.chain(bytes.get(*at..).unwrap_or_default())
        })
    }
}

/// Returns where the first message of a log begins whose header of 16 bytes is lost: behind it,
/// or at the start of a file that lacks it. Flag bits may come first, and a chain of messages
/// has to follow.
pub(crate) fn without_header(head: &[u8]) -> Option<usize> {
    let judge = Judge { streams: &Streams::default(), formats: &Formats::default() };
    [wire::FILE_HEADER_LEN, 0].into_iter().find(|at| {
        let messages = head.get(*at..).unwrap_or_default();
        let flags_len = match wire::header(messages) {
            Some((size, kind::FLAG_BITS)) => wire::HEADER_LEN + size,
            _ => 0,
        };
        messages
            .get(flags_len..)
            .is_some_and(|rest| !rest.is_empty() && judge.chain(rest))
    })
}

/// Whether messages of this type are in the specification.
pub(crate) fn is_known(kind: u8) -> bool {
    b"DLCSAIMPQFBRO".contains(&kind)
}

fn is_level(level: u8) -> bool {
    level < 8 || (b'0'..=b'7').contains(&level)
}

fn is_text(byte: &u8) -> bool {
    *byte >= b' ' && *byte != 0x7f || b"\t\n\r\x1b".contains(byte)
}

/// Whether a name, a colon and a text begin `payload`.
fn is_format(payload: &[u8]) -> bool {
    let colon = payload.iter().take(NAME).position(|byte| *byte == b':');
    colon.is_some_and(|len| len > 0 && payload.iter().take(len + TEXT).all(is_text))
}

fn is_keyed(keyed: Option<wire::Keyed<'_>>) -> bool {
    keyed.is_some_and(|keyed| {
        let base = crate::formats::array(keyed.type_name).map(|(base, _)| base);
        base.is_some_and(|base| crate::formats::primitive(base).is_some())
            && keyed.name.bytes().all(|byte| is_text(&byte))
    })
}

/// Whether `rest`, which comes after a message, is what comes after messages: the end,
/// or another one. Messages of unknown types are passed over.
pub(crate) fn follows(judge: &Judge<'_>, mut rest: &[u8]) -> bool {
    for _ in 0..HOPS {
        if judge.message(rest) != Plausible::No || rest.len() < wire::HEADER_LEN {
            return true;
        }
        let Some((size, kind)) = wire::header(rest) else { return true };
        let next = rest.get(wire::HEADER_LEN + size..);
        match next {
            None => return is_known(kind), // cut
            // Another that is lost: of a topic not declared, say.
            Some(next) if is_known(kind) && size > 0 => rest = next,
            Some(next) if kind.is_ascii_alphabetic() && size > 0 => rest = next,
            Some(_) => return false,
        }
    }
    false
}
