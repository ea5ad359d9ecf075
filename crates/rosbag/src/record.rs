//! The records that chunks are made of: connections and messages.

#![deny(clippy::indexing_slicing)]

use std::ops::Range;

use logtool_core::Timestamp;

use crate::{
    connection::Raw,
    wire::{self, Framed, Header},
};

/// What was found at the start of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'b> {
    Message {
        connection: u32,
        time: Timestamp,
        /// Where its data are, from the start of the record.
        payload: Range<usize>,
    },
    Connection {
        raw: Raw,
        len: usize,
    },
    /// Another record, which is passed over.
    Other {
        header: Header<'b>,
        len: u64,
    },
    /// The first bytes of a record that is at least this long.
    Partial {
        need: u64,
    },
    /// No record.
    Nothing,
}

/// What is at the start of `bytes`.
#[inline]
pub(crate) fn find(bytes: &[u8]) -> Found<'_> {
    if let Some((connection, time, frame)) = wire::usual_message(bytes) {
        let payload = frame.data_start()..frame.data_start() + frame.data_len as usize;
        return match payload.end <= bytes.len() {
            true => Found::Message { connection, time, payload },
            false => Found::Partial { need: frame.len() },
        };
    }
    find_any(bytes)
}

/// The same, where the record is not as usual.
#[cold]
fn find_any(bytes: &[u8]) -> Found<'_> {
    let frame = match wire::frame(bytes) {
        Framed::Whole(frame) => frame,
        Framed::Partial(need) => return Found::Partial { need: need as u64 },
        Framed::No => return Found::Nothing,
    };
    let data = frame.data_start()..frame.data_start() + frame.data_len as usize;
    match wire::header(wire::fields(bytes, frame)) {
        None => Found::Nothing,
        Some(Header::Message { connection, time }) if data.end <= bytes.len() => {
            Found::Message { connection, time, payload: data }
        }
        Some(Header::Connection { id, topic }) if data.end <= bytes.len() => {
            let header = bytes.get(data.clone()).unwrap_or_default();
            Found::Connection { raw: Raw::new(id, topic, header), len: data.end }
        }
        Some(Header::Message { .. } | Header::Connection { .. }) => {
            Found::Partial { need: frame.len() }
        }
        Some(header) => Found::Other { header, len: frame.len() },
    }
}
