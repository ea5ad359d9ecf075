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
//! (ROS wiki, "Bags/Format/1.2".) There are no chunks, and no numbers for connections:
//! here they get a number that is made of their topic, type and MD5 sum.

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

/// What makes messages alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream<'b> {
    topic: &'b [u8],
    md5sum: &'b [u8],
    type_name: &'b [u8],
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
        Some(V1Header::Definition(stream, text))
            if frame.len() <= bytes.len() as u64 =>
        {
            Found::Connection { raw: stream.connection(text), len: payload.end }
        }
        Some(V1Header::Definition(..)) => Found::Partial { need: frame.len() },
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
        DEFINITION => V1Header::Definition(stream, definition?),
        MESSAGE => V1Header::Message(stream, time_from(secs?, nanos?)),
        other => V1Header::Other(other),
    })
}

impl Stream<'_> {
    /// The number of the stream: FNV-1a of all that it is.
    pub(crate) fn number(&self) -> u32 {
        let texts = [self.topic, b"\0", self.type_name, b"\0", self.md5sum];
        let bytes = texts.into_iter().flatten();
        bytes.fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// The connection that version 2.0 would have for it.
    fn connection(&self, definition: &[u8]) -> Raw {
        let mut header = Vec::new();
        let fields: [(&[u8], &[u8]); 4] = [
            (b"topic", self.topic),
            (b"type", self.type_name),
            (b"md5sum", self.md5sum),
            (b"message_definition", definition),
        ];
        for (name, value) in fields {
            let len = (name.len() + 1 + value.len()) as u32;
            header.extend(len.to_le_bytes());
            header.extend(name);
            header.push(b'=');
            header.extend(value);
        }
        Raw::new(self.number(), self.topic, &header)
    }
}
