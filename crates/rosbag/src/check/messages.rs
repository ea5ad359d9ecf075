//! Counting the messages of a chunk, and collecting the connections that it declares.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{
    connections::{
        connection::{Connection, RawConnection},
        connection_trust::HeaderTrust,
    },
    records::record_scanner::RecordVisitor,
    wire::{self, FrameMatch},
};

/// The records of a chunk that can be read.
#[derive(Debug, Default)]
pub(super) struct MessageCounts {
    /// The number of messages of each connection, and their time range.
    pub(super) counts: BTreeMap<u32, (u64, TimeRange)>,
    /// The connections that the chunk declares.
    pub(super) declared_connections: Vec<Connection>,
    /// The ids of the declared connections that cannot be read.
    pub(super) broken_connections: Vec<u32>,
    /// The number of records of an unknown kind.
    pub(super) unknown_records: u64,
    /// The number of messages at time 0.
    pub(super) messages_at_zero: u64,
    /// Whether a part of the chunk cannot be read.
    pub(super) is_damaged: bool,
}

/// Returns the number of messages whose nanoseconds are a second or more, among the records at the
/// start of `bytes`, up to the first that is broken. (Parsed times do not show this, because the
/// nanoseconds are added to the seconds.)
pub(super) fn count_messages_with_excess_nanos(bytes: &[u8]) -> u64 {
    let (mut rest, mut count) = (bytes, 0);
    while let FrameMatch::Whole(frame) = wire::frame(rest) {
        let mut fields = wire::fields(rest, frame);
        let time = fields.find(|(name, _)| *name == b"time");
        let nanos = time.and_then(|(_, time)| wire::parse_u32(time.get(4..)?));
        count += u64::from(nanos.is_some_and(|nanos| nanos >= 1_000_000_000));
        let after = usize::try_from(frame.len()).ok().and_then(|len| rest.get(len..));
        rest = after.unwrap_or_default();
    }
    count
}

impl RecordVisitor for MessageCounts {
    fn begin_chunk(&mut self, _: u64) {}

    fn window(&mut self, _: Bytes, _: u64) {}

    fn decompressed_bytes(&mut self, _: Bytes, _: u64) {}

    fn buffer(&mut self) -> BytesMut {
        BytesMut::new()
    }

    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let (count, times) = self.counts.entry(id).or_insert((0, TimeRange::EMPTY));
        *count += 1;
        *times = times.cover(&TimeRange::from_timestamp(time));
        self.messages_at_zero += u64::from(time.as_nanos() == 0);
        true
    }

    fn connection(&mut self, raw: RawConnection) {
        let connection = Connection::new(raw);
        if HeaderTrust::from_connection(&connection) == HeaderTrust::Broken {
            self.broken_connections.push(connection.id);
        }
        self.declared_connections.push(connection);
    }

    fn unknown_record(&mut self) {
        self.unknown_records += 1;
    }

    fn is_known_connection(&self, _: u32) -> bool {
        true
    }

    fn topic(&self, _: u32) -> Option<TopicId> {
        None
    }

    fn damage(&mut self, damage: Damage) {
        self.is_damaged |= damage.kind.is_loss();
    }
}
