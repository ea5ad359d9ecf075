//! The chunk that was opened last. Its messages determine which index data after it belong to it,
//! and which messages are lost.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
};

use bytes::BytesMut;
use logtool_core::{Damage, DamageKind, Result, TimeRange, Timestamp};

use crate::{
    file::{
        bag::{Bag, Chunk, ChunkContent},
        index_entries::{LostMessages, MAX_INDEX, add_lost_message, each_entry},
        toplevel_record::TopLevelReader,
    },
    records::record_scanner::RecordVisitor as _,
    recovery::chunk_messages::ChunkMessages,
    wire,
};

/// A chunk that was opened, and the connections whose index data were already read after it.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    chunk: Chunk,
    /// The connections whose index data were already read.
    indexed: BTreeSet<u32>,
    /// Its messages; read on first use.
    known_messages: Option<KnownMessages>,
    /// Its losses; determined on first use.
    losses: Option<ChunkLosses>,
}

/// The messages of a chunk, with summaries for comparing them with index data.
#[derive(Debug)]
struct KnownMessages {
    messages: ChunkMessages,
    /// The total length of the index data of these messages.
    index_len: u64,
    /// The time of the last message of each connection.
    last_times: HashSet<Timestamp>,
}

/// Stands for the range of messages whose bytes are missing completely.
const NO_BYTES: Range<u64> = u64::MAX..u64::MAX;

impl OpenChunk {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), known_messages: None, losses: None }
    }

    /// Records that index data of `connection` were read.
    pub(crate) fn mark_indexed(&mut self, connection: u32) {
        self.indexed.insert(connection);
    }

    /// Returns whether index data of `connection` with these `entries` belong to this chunk. If
    /// messages of the chunk are lost, the entries cannot be compared, and are assumed to belong to
    /// it.
    pub(crate) fn owns_index_data(
        &mut self,
        bag: &Bag,
        connection: u32,
        entries: &[u8],
    ) -> Result<bool> {
        if self.indexed.contains(&connection) {
            return Ok(false);
        }
        let KnownMessages { messages, .. } = self.load_messages(bag)?;
        let listed = entries.len() as u64 / wire::INDEX_ENTRY_LEN;
        let times = wire::index_entries(entries)
            .map(|(time, _)| TimeRange::from_timestamp(time));
        let time = times.reduce(|all, next| all.cover(&next));
        let messages_of_connection = messages.by_connection.get(&connection);
        let is_equal = time.is_some_and(|time| {
            messages_of_connection
                .is_some_and(|counts| (counts.records, counts.time) == (listed, time))
        });
        Ok(messages.is_broken() || is_equal)
    }

    /// Returns the expected end of the index data of this chunk, or `None` if not all messages are
    /// known.
    pub(crate) fn expected_index_end(&mut self, bag: &Bag) -> Result<Option<u64>> {
        let start = self.chunk.data.end;
        let known_messages = self.load_messages(bag)?;
        Ok(Some(start + known_messages.index_len)
            .filter(|_| !known_messages.messages.is_broken()))
    }

    /// Returns whether the index data of this chunk may end with an entry of this `time`.
    pub(crate) fn index_may_end_with(
        &mut self,
        bag: &Bag,
        time: Timestamp,
    ) -> Result<bool> {
        Ok(self.load_messages(bag)?.last_times.contains(&time))
    }

    /// Returns whether truncated index data of `connection`, which begin with these `entries` and
    /// declare `count` entries, belong to this chunk.
    pub(crate) fn may_own_index_data(
        &mut self,
        bag: &Bag,
        connection: u32,
        count: u32,
        entries: &[u8],
    ) -> Result<bool> {
        let KnownMessages { messages, .. } = self.load_messages(bag)?;
        let Some(summary) = messages.by_connection.get(&connection) else {
            return Ok(false);
        };
        let mut times = wire::index_entries(entries).map(|(time, _)| time);
        Ok(summary.records == u64::from(count)
            && times.all(|time| summary.time.contains(time)))
    }

    /// Returns the messages that are lost in `range` of the content, according to the index data,
    /// and whether all connections of the chunk have index data.
    pub(crate) fn lost_messages(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
        range: &Range<u64>,
    ) -> Result<(BTreeMap<u32, LostMessages>, bool)> {
        let losses = match self.losses.take() {
            Some(losses) => losses,
            None => {
                find_losses(toplevel, &self.chunk, read_messages(bag, &self.chunk)?)
            }
        };
        let losses = self.losses.insert(losses);
        let by_range = &losses.by_range;
        let at = by_range
            .partition_point(|(broken_range, _)| broken_range.start < range.start);
        let of_range =
            by_range.get(at).filter(|(broken_range, _)| broken_range == range);
        let lost = of_range.map(|(_, lost)| lost.clone()).unwrap_or_default();
        Ok((lost, losses.is_complete))
    }

    /// Returns the messages that are missing although nothing in the chunk is broken, with their
    /// damage: if the length of the chunk is wrong, its index data may list more messages.
    pub(crate) fn missing_messages(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
    ) -> Result<Option<(Damage, BTreeMap<u32, LostMessages>)>> {
        if !self.chunk.has_wrong_length {
            return Ok(None);
        }
        let (lost, _) = self.lost_messages(bag, toplevel, &NO_BYTES)?;
        let bytes = self.chunk.at..self.chunk.data.end;
        let damage = Damage::new(DamageKind::Garbled, bytes).with_lost_bytes(0);
        let damage = damage.with_reason("it is shorter than it declares");
        Ok(Some((damage, lost)).filter(|(_, lost)| !lost.is_empty()))
    }

    /// Returns the messages of the chunk. On the first call, the chunk is opened again: only broken
    /// index data require this.
    fn load_messages(&mut self, bag: &Bag) -> Result<&KnownMessages> {
        let known_messages = match self.known_messages.take() {
            Some(known_messages) => known_messages,
            None => KnownMessages::from_messages(read_messages(bag, &self.chunk)?),
        };
        Ok(self.known_messages.insert(known_messages))
    }
}

impl KnownMessages {
    fn from_messages(messages: ChunkMessages) -> Self {
        let by_connection = messages.by_connection.values();
        let index_len = by_connection
            .clone()
            .map(|counts| {
                wire::INDEX_HEADER_LEN + wire::INDEX_ENTRY_LEN * counts.records
            })
            .sum();
        let last_times = by_connection.map(|counts| counts.last_time).collect();
        Self { messages, index_len, last_times }
    }
}

/// The losses of a chunk.
#[derive(Debug)]
struct ChunkLosses {
    /// The lost messages by broken range of the content.
    by_range: Vec<(Range<u64>, BTreeMap<u32, LostMessages>)>,
    /// Whether all connections with messages in the chunk have index data.
    is_complete: bool,
}

/// Returns the losses of `chunk`: the messages that its index data list and that are not among its
/// readable `messages`. Each is assigned to the broken range at its declared offset or, because the
/// content may be displaced, to the next broken range.
fn find_losses(
    toplevel: &mut TopLevelReader,
    chunk: &Chunk,
    mut messages: ChunkMessages,
) -> ChunkLosses {
    let broken_ranges = std::mem::take(&mut messages.broken_ranges).into_iter();
    let mut losses: Vec<_> =
        broken_ranges.map(|range| (range, BTreeMap::new())).collect();
    if losses.is_empty() {
        losses.push((NO_BYTES, BTreeMap::new()));
    }
    let mut unlisted: BTreeSet<u32> = messages.by_connection.keys().copied().collect();
    let is_overfull = messages.is_overfull();
    let mut remaining_bytes = MAX_INDEX;
    each_entry(
        toplevel,
        chunk.data.end,
        &mut remaining_bytes,
        |connection, time, offset| {
            let offset = u64::from(offset);
            let index = losses.partition_point(|(range, _)| range.end <= offset);
            let index = index.min(losses.len() - 1);
            let Some((range, lost)) = losses.get_mut(index) else { return };
            unlisted.remove(&connection);
            let is_lost = if is_overfull {
                range.contains(&offset)
            } else {
                !messages.remove(connection, time)
            };
            let records = &messages.lost_records;
            let position = records.partition_point(|range| range.end <= offset);
            let is_reported =
                records.get(position).is_some_and(|range| range.contains(&offset));
            if is_lost && !is_reported {
                add_lost_message(lost, connection, time);
            }
        },
    );
    ChunkLosses { by_range: losses, is_complete: unlisted.is_empty() }
}

/// Reads the messages of `chunk`. Broken ranges count from the start of the content.
fn read_messages(bag: &Bag, chunk: &Chunk) -> Result<ChunkMessages> {
    let mut messages = ChunkMessages::default();
    match bag.open_chunk(chunk, BytesMut::new())? {
        ChunkContent::Plain(mut plain) => {
            let start = plain.bytes.start;
            while plain.read(&*bag.source, bag.options, &mut messages)? {}
            for range in
                messages.broken_ranges.iter_mut().chain(&mut messages.lost_records)
            {
                *range = range.start - start..range.end - start;
            }
        }
        ChunkContent::Decompressed(bytes, outcome) => {
            chunk.scan_records(&bytes, outcome, &mut messages)
        }
        ChunkContent::Lost(damage) => messages.damage(damage),
    }
    Ok(messages)
}
