//! The records in chunks: connections and messages.

#![deny(clippy::indexing_slicing)]

use std::ops::Range;

use logtool_core::Timestamp;

use crate::{
    connections::connection::RawConnection,
    wire::{self, FrameMatch, Header},
};

/// The record at the start of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParsedRecord<'b> {
    Message {
        connection: u32,
        time: Timestamp,
        /// The range of its data, from the start of the record.
        payload: Range<usize>,
    },
    Connection {
        raw: RawConnection,
        len: usize,
    },
    /// A record of another kind, which is skipped.
    Other {
        header: Header<'b>,
        len: u64,
    },
    /// The first bytes of a record of at least this length.
    Partial {
        need: u64,
    },
    /// Not a valid record.
    Invalid,
}

/// Parses the record at the start of `bytes`.
#[inline]
pub(crate) fn parse(bytes: &[u8]) -> ParsedRecord<'_> {
    if let Some((connection, time, frame)) = wire::usual_message(bytes) {
        let payload = frame.data_start()..frame.data_start() + frame.data_len as usize;
        return if payload.end <= bytes.len() {
            ParsedRecord::Message { connection, time, payload }
        } else {
            ParsedRecord::Partial { need: frame.len() }
        };
    }
    parse_any(bytes)
}

/// Like [`parse`], for records in any form.
#[cold]
fn parse_any(bytes: &[u8]) -> ParsedRecord<'_> {
    let frame = match wire::frame(bytes) {
        FrameMatch::Whole(frame) => frame,
        FrameMatch::Partial(need) => {
            return ParsedRecord::Partial { need: need as u64 };
        }
        FrameMatch::No => return ParsedRecord::Invalid,
    };
    let data = frame.data_start()..frame.data_start() + frame.data_len as usize;
    match wire::header(wire::fields(bytes, frame)) {
        None => ParsedRecord::Invalid,
        Some(Header::Message { connection, time }) if data.end <= bytes.len() => {
            ParsedRecord::Message { connection, time, payload: data }
        }
        Some(Header::Connection { id, topic }) if data.end <= bytes.len() => {
            let header = bytes.get(data.clone()).unwrap_or_default();
            ParsedRecord::Connection {
                raw: RawConnection::new(id, topic, header),
                len: data.end,
            }
        }
        Some(Header::Message { .. } | Header::Connection { .. }) => {
            ParsedRecord::Partial { need: frame.len() }
        }
        Some(header) => ParsedRecord::Other { header, len: frame.len() },
    }
}
