//! The messages of a chunk. They are read again if something in or after the chunk is broken, to
//! determine which index data belong to the chunk, and which of the listed messages are lost.

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
    pub(crate) broken_ranges: Vec<Range<u64>>,
    /// The ranges of records that are reported as lost individually.
    pub(crate) lost_records: Vec<Range<u64>>,
    /// The number of messages by connection and time.
    by_time: HashMap<(u32, Timestamp), u32>,
    /// Whether there are too many messages to track each.
    is_overfull: bool,
}

/// The messages of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionMessages {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
    /// The time of the last of them in the file.
    pub(crate) last_time: Timestamp,
}

impl ChunkMessages {
    /// Returns whether something is broken, so that there may have been more messages.
    pub(crate) fn is_broken(&self) -> bool {
        !self.broken_ranges.is_empty() || !self.lost_records.is_empty()
    }

    /// Removes one message of `connection` and `time`; returns whether there was one.
    pub(crate) fn remove(&mut self, connection: u32, time: Timestamp) -> bool {
        let count =
            self.by_time.get_mut(&(connection, time)).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }

    /// Returns whether there are too many messages to track each.
    pub(crate) fn is_overfull(&self) -> bool {
        self.is_overfull
    }
}

impl RecordVisitor for ChunkMessages {
    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let range = TimeRange::from_timestamp(time);
        let empty = ConnectionMessages { records: 0, time: range, last_time: time };
        let summary = self.by_connection.entry(id).or_insert(empty);
        *summary = ConnectionMessages {
            records: summary.records + 1,
            time: summary.time.cover(&range),
            last_time: time,
        };
        self.is_overfull |= self.by_time.len() == MAX_TRACKED;
        if !self.is_overfull {
            *self.by_time.entry((id, time)).or_default() += 1;
        }
        true
    }

    fn damage(&mut self, damage: Damage) {
        if damage.kind.is_loss() {
            let ranges = if damage.records > 0 {
                &mut self.lost_records
            } else {
                &mut self.broken_ranges
            };
            ranges.push(damage.bytes);
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
