//! The messages of a chunk, which are read again where something is broken: they show which
//! index data belong to the chunk, and which of the listed messages are lost.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{
    connections::connection::RawConnection, records::record_scanner::RecordVisitor,
};

/// The maximum number of messages that are tracked individually.
const MAX_TRACKED: usize = 1 << 20;

/// The messages of a chunk, or messages outside chunks.
#[derive(Debug, Default)]
pub(crate) struct ChunkMessages {
    pub(crate) by_connection: BTreeMap<u32, ConnectionMessages>,
    /// The broken ranges, counted from the base of the scanned bytes.
    pub(crate) broken: Vec<Range<u64>>,
    /// Records that are reported as lost individually.
    pub(crate) records: Vec<Range<u64>>,
    /// The number of messages by connection and time.
    by_time: HashMap<(u32, Timestamp), u32>,
    is_overfull: bool,
}

/// The messages of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionMessages {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
    /// The time of the last of them in the file.
    pub(crate) last: Timestamp,
}

impl ChunkMessages {
    /// Returns whether there may be more messages.
    pub(crate) fn is_broken(&self) -> bool {
        !self.broken.is_empty() || !self.records.is_empty()
    }

    /// Removes one message of `connection` and `time`; returns whether there was one.
    pub(crate) fn take(&mut self, connection: u32, time: Timestamp) -> bool {
        let left = self.by_time.get_mut(&(connection, time)).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }

    /// Returns whether there are too many messages to track each.
    pub(crate) fn is_overfull(&self) -> bool {
        self.is_overfull
    }
}

impl RecordVisitor for ChunkMessages {
    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let range = TimeRange::from_timestamp(time);
        let new = ConnectionMessages { records: 0, time: range, last: time };
        let summary = self.by_connection.entry(id).or_insert(new);
        *summary = ConnectionMessages {
            records: summary.records + 1,
            time: summary.time.cover(&range),
            last: time,
        };
        self.is_overfull |= self.by_time.len() == MAX_TRACKED;
        if !self.is_overfull {
            *self.by_time.entry((id, time)).or_default() += 1;
        }
        true
    }

    fn damage(&mut self, damage: Damage) {
        if damage.kind.is_loss() {
            let to =
                if damage.records > 0 { &mut self.records } else { &mut self.broken };
            to.push(damage.bytes);
        }
    }

    fn is_known_connection(&self, _: u32) -> bool {
        true
    }

    fn topic(&self, _: u32) -> Option<TopicId> {
        None
    }

    fn buffer(&mut self) -> BytesMut {
        BytesMut::new()
    }

    fn begin_chunk(&mut self, _: u64) {}

    fn window(&mut self, _: Bytes, _: u64) {}

    fn decompressed_bytes(&mut self, _: Bytes, _: u64) {}

    fn connection(&mut self, _: RawConnection) {}
}
