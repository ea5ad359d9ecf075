//! The records of version 1.2, which ROS wrote before its first release.
//!
//! ```text
//! op  record       fields                                    data
//!  1  definition   topic, md5, type, def                     none
//!  2  message      topic, md5, type, sec u32, nsec u32,      the message
//!                  callerid, latching
//!  3  file header  index_pos u64                             spaces
//!  4  index data   ver u32 = 0, topic, count                 count × (time | file offset u64)
//! ```
//! (ROS wiki, "Bags/Format/1.2".) There are no chunks, and no connections: each message
//! says what is told of its connection in version 2.0, but for the definition. Here they
//! have a number that is made of that.

#![deny(clippy::indexing_slicing)]

use logtool_core::Timestamp;

use crate::{
    connection::Raw,
    record::Found,
    wire::{self, Fields, Framed, Header, time_from, u32_of},
};

const DEFINITION: u8 = 1;
const MESSAGE: u8 = 2;

/// What the header of a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum V1Header<'b> {
    Definition(Stream<'b>, &'b [u8]),
    Message(Stream<'b>, Timestamp),
    Other(u8),
}

/// What makes messages those of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream<'b> {
    topic: &'b [u8],
    md5sum: &'b [u8],
    type_name: &'b [u8],
    caller: &'b [u8],
    latching: &'b [u8],
}

/// What is at the start of `bytes`.
pub(crate) fn find(bytes: &[u8]) -> Found<'_> {
    let frame = match wire::frame(bytes) {
        Framed::Whole(frame) => frame,
        Framed::Partial(need) => return Found::Partial { need: need as u64 },
        Framed::No => return Found::Nothing,
    };
    let payload = frame.data_start()..frame.data_start() + frame.data_len as usize;
    match header(wire::fields(bytes, frame)) {
        None => Found::Nothing,
        Some(V1Header::Message(stream, time)) if payload.end <= bytes.len() => {
            Found::Message { connection: stream.number(), time, payload }
        }
        Some(V1Header::Message(..)) => Found::Partial { need: frame.len() },
        // It has no data: a length of some is wrong.
        Some(V1Header::Definition(stream, text)) => {
            let raw = stream.connection().with(b"message_definition", text);
            Found::Connection { raw, len: frame.data_start() }
        }
        Some(V1Header::Other(op)) => {
            Found::Other { header: Header::Other(op), len: frame.len() }
        }
    }
}

/// What the header that is made of `fields` says.
pub(crate) fn header(mut fields: Fields<'_>) -> Option<V1Header<'_>> {
    let (mut stream, mut definition) = (Stream::default(), None);
    let (mut op, mut secs, mut nanos) = (None, None, None);
    for (name, value) in fields.by_ref() {
        match name {
            b"op" => op = value.first().copied().filter(|_| value.len() == 1),
            b"topic" => stream.topic = value,
            b"md5" => stream.md5sum = value,
            b"type" => stream.type_name = value,
            b"callerid" => stream.caller = value,
            b"latching" => stream.latching = value,
            b"def" => definition = Some(value),
            b"sec" => secs = u32_of(value),
            b"nsec" => nanos = u32_of(value),
            _ => {}
        }
    }
    if fields.is_broken() {
        return None;
    }
    Some(match op? {
        DEFINITION => {
            let of_all = Stream { caller: b"", latching: b"", ..stream };
            V1Header::Definition(of_all, definition?)
        }
        MESSAGE => V1Header::Message(stream, time_from(secs?, nanos?)),
        other => V1Header::Other(other),
    })
}

/// The connection that the message at the start of `bytes` declares, if there is one.
pub(crate) fn declared(bytes: &[u8]) -> Option<Raw> {
    let Framed::Whole(frame) = wire::frame(bytes) else { return None };
    match header(wire::fields(bytes, frame))? {
        V1Header::Message(stream, _) => Some(stream.connection()),
        V1Header::Definition(..) | V1Header::Other(_) => None,
    }
}

impl Stream<'_> {
    /// The number of the stream: FNV-1a of all that it is.
    fn number(&self) -> u32 {
        let Self { topic, type_name, md5sum, caller, latching } = self;
        let texts = [topic, type_name, md5sum, caller, latching];
        let bytes = texts.into_iter().flat_map(|text| text.iter().chain(b"\0"));
        bytes.fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// Whether its texts are of a topic, a type and an MD5 sum.
    pub(crate) fn is_plausible(&self) -> bool {
        let is_sum =
            self.md5sum.len() == 32 && self.md5sum.iter().all(u8::is_ascii_hexdigit);
        !self.topic.is_empty()
            && self.type_name.contains(&b'/')
            && (is_sum || self.md5sum == b"*")
    }

    /// The connection that version 2.0 would have for it, but for the definition.
    fn connection(&self) -> Raw {
        let Self { topic, type_name, md5sum, caller, latching } = *self;
        let raw = Raw::new(self.number(), topic, &[]);
        let raw = raw.with(b"topic", topic).with(b"type", type_name);
        let told = [(&b"callerid"[..], caller), (b"latching", latching)];
        let told = told.into_iter().filter(|(_, value)| !value.is_empty());
        told.fold(raw.with(b"md5sum", md5sum), |raw, (name, value)| {
            raw.with(name, value)
        })
    }
}
