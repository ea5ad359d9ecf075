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
//! (ROS wiki, "Bags/Format/1.2".) There are no chunks and no connections: each message contains
//! everything that a connection of version 2.0 declares, except the definition. This crate
//! derives a connection id from these properties.

#![deny(clippy::indexing_slicing)]

use logtool_core::Timestamp;

use crate::{
    connections::connection::RawConnection,
    records::chunk_record::ParsedRecord,
    wire::{self, Fields, FrameMatch, Header, parse_u32, time_from},
};

const DEFINITION: u8 = 1;
const MESSAGE: u8 = 2;

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum V1Header<'b> {
    /// The topic, and the text of its definition.
    Definition(ConnectionProperties<'b>, &'b [u8]),
    Message(ConnectionProperties<'b>, Timestamp),
    /// A record of another kind, with its operation code.
    Other(u8),
}

/// The properties that the messages of one connection share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionProperties<'b> {
    topic: &'b [u8],
    md5sum: &'b [u8],
    type_name: &'b [u8],
    caller: &'b [u8],
    latching: &'b [u8],
}

/// Parses the record at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> ParsedRecord<'_> {
    let frame = match wire::frame(bytes) {
        FrameMatch::Whole(frame) => frame,
        FrameMatch::Partial(need) => {
            return ParsedRecord::Partial { need: need as u64 };
        }
        FrameMatch::No => return ParsedRecord::Invalid,
    };
    let payload = frame.data_start()..frame.data_start() + frame.data_len as usize;
    match header(wire::fields(bytes, frame)) {
        None => ParsedRecord::Invalid,
        Some(V1Header::Message(properties, time)) if payload.end <= bytes.len() => {
            ParsedRecord::Message {
                connection: properties.connection_id(),
                time,
                payload,
            }
        }
        Some(V1Header::Message(..)) => ParsedRecord::Partial { need: frame.len() },
        // A definition has no data, so any other declared length is wrong and is ignored.
        Some(V1Header::Definition(properties, definition)) => {
            let raw = properties
                .raw_connection()
                .with_field(b"message_definition", definition);
            ParsedRecord::Connection { raw, len: frame.data_start() }
        }
        Some(V1Header::Other(op)) => {
            ParsedRecord::Other { header: Header::Other(op), len: frame.len() }
        }
    }
}

/// Parses a record header.
pub(crate) fn header(mut fields: Fields<'_>) -> Option<V1Header<'_>> {
    let (mut properties, mut definition) = (ConnectionProperties::default(), None);
    let (mut op, mut secs, mut nanos) = (None, None, None);
    for (name, value) in fields.by_ref() {
        match name {
            b"op" => op = value.first().copied().filter(|_| value.len() == 1),
            b"topic" => properties.topic = value,
            b"md5" => properties.md5sum = value,
            b"type" => properties.type_name = value,
            b"callerid" => properties.caller = value,
            b"latching" => properties.latching = value,
            b"def" => definition = Some(value),
            b"sec" => secs = parse_u32(value),
            b"nsec" => nanos = parse_u32(value),
            _ => {}
        }
    }
    if fields.is_broken() {
        return None;
    }
    Some(match op? {
        DEFINITION => {
            // A definition belongs to a topic, not to one of its publishers.
            let of_topic =
                ConnectionProperties { caller: b"", latching: b"", ..properties };
            V1Header::Definition(of_topic, definition?)
        }
        MESSAGE => V1Header::Message(properties, time_from(secs?, nanos?)),
        other => V1Header::Other(other),
    })
}

/// Returns the connection that the message at the start of `bytes` declares, if any.
pub(crate) fn declared_connection(bytes: &[u8]) -> Option<RawConnection> {
    let FrameMatch::Whole(frame) = wire::frame(bytes) else { return None };
    match header(wire::fields(bytes, frame))? {
        V1Header::Message(properties, _) => Some(properties.raw_connection()),
        V1Header::Definition(..) | V1Header::Other(_) => None,
    }
}

impl ConnectionProperties<'_> {
    /// Returns the connection id: the FNV-1a hash of all properties.
    fn connection_id(&self) -> u32 {
        let Self { topic, type_name, md5sum, caller, latching } = self;
        let strings = [topic, type_name, md5sum, caller, latching];
        let bytes = strings.into_iter().flat_map(|text| text.iter().chain(b"\0"));
        bytes.fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// Returns whether the strings are plausible as topic, type and MD5 sum.
    pub(crate) fn is_plausible(&self) -> bool {
        let has_valid_sum =
            self.md5sum.len() == 32 && self.md5sum.iter().all(u8::is_ascii_hexdigit);
        !self.topic.is_empty()
            && self.type_name.contains(&b'/')
            && (has_valid_sum || self.md5sum == b"*")
    }

    /// Returns the equivalent connection of version 2.0, without its definition.
    fn raw_connection(&self) -> RawConnection {
        let Self { topic, type_name, md5sum, caller, latching } = *self;
        let raw = RawConnection::new(self.connection_id(), topic, &[]);
        let raw = raw.with_field(b"topic", topic).with_field(b"type", type_name);
        let optional_fields = [(&b"callerid"[..], caller), (b"latching", latching)];
        let optional_fields =
            optional_fields.into_iter().filter(|(_, value)| !value.is_empty());
        optional_fields.fold(raw.with_field(b"md5sum", md5sum), |raw, (name, value)| {
            raw.with_field(name, value)
        })
    }
}
