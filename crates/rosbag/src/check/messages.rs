//! The messages of a chunk, counted.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{
    connection::{Connection, Raw},
    connection_trust::Trust,
    walk::Visitor,
    wire::{self, Framed},
};

/// What a chunk holds.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// How many messages there are of each connection, and when.
    pub(super) counts: BTreeMap<u32, (u64, TimeRange)>,
    /// The connections that it declares.
    pub(super) declared: Vec<Connection>,
    /// Those of them that cannot be read.
    pub(super) broken: Vec<u32>,
    /// How many records are of a kind that no version knows.
    pub(super) others: u64,
    /// How many messages are of time 0.
    pub(super) at_zero: u64,
    /// Whether something in it cannot be read.
    pub(super) is_damaged: bool,
}

/// How many of the messages that `bytes` begin with have a second or more as the nanoseconds
/// of their time, which is carried over where times are read.
pub(super) fn over_a_second(bytes: &[u8]) -> u64 {
    let (mut rest, mut count) = (bytes, 0);
    while let Framed::Whole(frame) = wire::frame(rest) {
        let mut fields = wire::fields(rest, frame);
        let time = fields.find(|(name, _)| *name == b"time");
        let nanos = time.and_then(|(_, time)| wire::u32_of(time.get(4..)?));
        count += u64::from(nanos.is_some_and(|nanos| nanos >= 1_000_000_000));
        let after = usize::try_from(frame.len()).ok().and_then(|len| rest.get(len..));
        rest = after.unwrap_or_default();
    }
    count
}

impl Visitor for Messages {
    fn enter(&mut self, _: u64) {}

    fn window(&mut self, _: Bytes, _: u64) {}

    fn unpacked(&mut self, _: Bytes, _: u64) {}

    fn buffer(&mut self) -> BytesMut {
        BytesMut::new()
    }

    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let (count, times) = self.counts.entry(id).or_insert((0, TimeRange::EMPTY));
        *count += 1;
        *times = times.cover(&TimeRange::from_timestamp(time));
        self.at_zero += u64::from(time.as_nanos() == 0);
        true
    }

    fn connection(&mut self, raw: Raw) {
        let connection = Connection::new(raw);
        if Trust::of(&connection) == Trust::Broken {
            self.broken.push(connection.id);
        }
        self.declared.push(connection);
    }

    fn other(&mut self) {
        self.others += 1;
    }

    fn knows(&self, _: u32) -> bool {
        true
    }

    fn topic(&self, _: u32) -> Option<TopicId> {
        None
    }

    fn damage(&mut self, damage: Damage) {
        self.is_damaged |= damage.kind.is_loss();
    }
}
