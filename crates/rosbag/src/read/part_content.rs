//! Counting the messages of a part.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, Result, TimeRange, Timestamp, TopicId};

use crate::{
    connections::{
        connection::RawConnection,
        connection_table::{ConnectionTable, RegisterResult},
    },
    file::bag::Bag,
    read::part_scanner::PartScanner,
    records::record_scanner::{ReadSize, RecordVisitor},
};

/// Counts of the messages of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageCount {
    pub(crate) records: u64,
    /// The total size of their payloads, if they were read.
    pub(crate) bytes: Option<u64>,
    /// Their time range, if it is known.
    pub(crate) time: Option<TimeRange>,
}

/// The contents of a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartContent {
    /// The counts by connection id.
    pub(crate) counts: BTreeMap<u32, MessageCount>,
    /// The damage in the part; its topics are indices of connection entries.
    pub(crate) damage: Vec<Damage>,
    /// The number of decompressed bytes in the part.
    pub(crate) decompressed_len: u64,
}

impl MessageCount {
    /// Returns the sum of two counts.
    pub(crate) fn add(self, other: Self) -> Self {
        let bytes = self.bytes.zip(other.bytes).map(|(a, b)| a.saturating_add(b));
        let time = self.time.zip(other.time).map(|(a, b)| a.cover(&b));
        Self { records: self.records.saturating_add(other.records), bytes, time }
    }
}

/// Reads `part` of `bag`, and registers its connections in `table`.
pub(crate) fn read_content(
    bag: &Bag,
    bounds: &Arc<[u64]>,
    part: Range<u64>,
    table: &mut ConnectionTable,
    conflicts: &mut ConnectionConflicts,
) -> Result<PartContent> {
    let mut scanner = PartScanner::new(
        bag.clone(),
        bounds.clone(),
        part.clone(),
        ReadSize::default(),
        None,
    )?;
    let mut collector = ContentCollector::new(table, part.start);
    while scanner.step(&mut collector)? {}
    conflicts.reused += collector.conflicts.reused;
    conflicts.misnamed += collector.conflicts.misnamed;
    Ok(collector.content)
}

/// The numbers of connections that contradict other connections with the same id.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionConflicts {
    /// The number of connections whose id referred to another connection before.
    pub(crate) reused: u64,
    /// The number of connections with different topics in the index and in a chunk.
    pub(crate) misnamed: u64,
}

/// Counts scanned records.
pub(crate) struct ContentCollector<'c> {
    table: &'c mut ConnectionTable,
    /// The start of the current chunk.
    chunk_at: u64,
    /// The last decompressed chunk, whose buffer is reused.
    reusable_bytes: Bytes,
    conflicts: ConnectionConflicts,
    pub(crate) content: PartContent,
}

impl<'c> ContentCollector<'c> {
    pub(crate) fn new(table: &'c mut ConnectionTable, chunk_at: u64) -> Self {
        let (reusable_bytes, content) = (Bytes::new(), PartContent::default());
        Self {
            table,
            chunk_at,
            reusable_bytes,
            conflicts: ConnectionConflicts::default(),
            content,
        }
    }
}

impl RecordVisitor for ContentCollector<'_> {
    fn begin_chunk(&mut self, chunk_at: u64) {
        self.chunk_at = chunk_at;
    }

    fn window(&mut self, _: Bytes, _: u64) {}

    fn decompressed_bytes(&mut self, bytes: Bytes, _: u64) {
        self.content.decompressed_len += bytes.len() as u64;
        self.reusable_bytes = bytes;
    }

    fn buffer(&mut self) -> BytesMut {
        std::mem::take(&mut self.reusable_bytes).try_into_mut().unwrap_or_default()
    }

    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        let message_count = MessageCount {
            records: 1,
            bytes: Some(payload.len() as u64),
            time: Some(TimeRange::from_timestamp(time)),
        };
        let count = self.content.counts.entry(id);
        count
            .and_modify(|count| *count = count.add(message_count))
            .or_insert(message_count);
        // Undeclared connections are reported later, when all connections are registered.
        true
    }

    fn connection(&mut self, raw: RawConnection) {
        match self.table.register(raw, self.chunk_at) {
            RegisterResult::Conflict => self.conflicts.reused += 1,
            RegisterResult::Misnamed => self.conflicts.misnamed += 1,
            RegisterResult::New
            | RegisterResult::AlreadyRegistered
            | RegisterResult::CorruptedCopy => {}
        }
    }

    fn is_known_connection(&self, id: u32) -> bool {
        self.table.lookup(id, self.chunk_at).is_some()
    }

    /// Returns the index of the entry of the connection in place of its topic, which is not yet
    /// assigned.
    fn topic(&self, id: u32) -> Option<TopicId> {
        self.table.lookup(id, self.chunk_at).map(TopicId)
    }

    fn damage(&mut self, damage: Damage) {
        damage.add_to(&mut self.content.damage);
    }
}
