//! The last chunk that was opened, which determines the index data that belong to it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
};

use bytes::BytesMut;
use logtool_core::{Damage, DamageKind, Result, TimeRange, Timestamp};

use crate::{
    file::{
        bag::{Bag, Chunk, ChunkContent},
        index_entries::{LostMessages, MAX_INDEX, add, each_entry},
        toplevel_record::TopLevelReader,
    },
    records::record_scanner::RecordVisitor as _,
    recovery::chunk_messages::ChunkMessages,
    wire,
};

/// A chunk that was opened, and the index data after it that were found so far.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    chunk: Chunk,
    /// The connections that have index data after it.
    indexed: BTreeSet<u32>,
    /// Its messages; read on first use.
    known_messages: Option<KnownMessages>,
    /// Its losses; determined on first use.
    losses: Option<ChunkLosses>,
}

/// The messages of a chunk, with summaries that are needed for many damaged ranges.
#[derive(Debug)]
struct KnownMessages {
    messages: ChunkMessages,
    /// The total length of their index data.
    index_len: u64,
    /// The time of the last message of each connection.
    lasts: HashSet<Timestamp>,
}

/// The range of messages whose bytes are missing completely.
const NO_BYTES: Range<u64> = u64::MAX..u64::MAX;

impl OpenChunk {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), known_messages: None, losses: None }
    }

    /// Records that there are index data of `connection`.
    pub(crate) fn note_index(&mut self, connection: u32) {
        self.indexed.insert(connection);
    }

    /// Returns whether the next index data, of `connection` with these `entries`, belong to
    /// this chunk.
    pub(crate) fn has_index_data(
        &mut self,
        bag: &Bag,
        connection: u32,
        entries: &[u8],
    ) -> Result<bool> {
        if self.indexed.contains(&connection) {
            return Ok(false);
        }
        let KnownMessages { messages, .. } = self.load_messages(bag)?;
        let listed = (entries.len() / 12) as u64;
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

    /// Returns the expected end of its index data, or `None` if not all messages are known.
    pub(crate) fn index_end(&mut self, bag: &Bag) -> Result<Option<u64>> {
        let start = self.chunk.data.end;
        let known_messages = self.load_messages(bag)?;
        Ok(Some(start + known_messages.index_len)
            .filter(|_| !known_messages.messages.is_broken()))
    }

    /// Returns whether its index data may end with an entry of this `time`.
    pub(crate) fn ends_with(&mut self, bag: &Bag, time: Timestamp) -> Result<bool> {
        Ok(self.load_messages(bag)?.lasts.contains(&time))
    }

    /// Returns whether index data of `connection` with `count` entries, which begin with these
    /// `entries`, belong to this chunk.
    pub(crate) fn may_have_index_data(
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

    /// Returns which messages are lost in `range` of the content, by its index data, and
    /// whether there are index data of all connections.
    pub(crate) fn lost_messages(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
        range: &Range<u64>,
    ) -> Result<(BTreeMap<u32, LostMessages>, bool)> {
        let losses = match self.losses.take() {
            Some(losses) => losses,
            None => find_losses(toplevel, &self.chunk, read(bag, &self.chunk)?),
        };
        let losses = self.losses.insert(losses);
        let by_range = &losses.by_range;
        let at = by_range.partition_point(|(segment, _)| segment.start < range.start);
        let of_range = by_range.get(at).filter(|(segment, _)| segment == range);
        let lost = of_range.map(|(_, lost)| lost.clone()).unwrap_or_default();
        Ok((lost, losses.is_complete))
    }

    /// Returns the messages that are missing although nothing in the chunk is broken: if its
    /// length is wrong, its index data may list more messages.
    pub(crate) fn missing_messages(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
    ) -> Result<Option<(Damage, BTreeMap<u32, LostMessages>)>> {
        if !self.chunk.is_wrong {
            return Ok(None);
        }
        let (lost, _) = self.lost_messages(bag, toplevel, &NO_BYTES)?;
        let bytes = self.chunk.at..self.chunk.data.end;
        let damage = Damage::new(DamageKind::Garbled, bytes).with_lost_bytes(0);
        let damage = damage.with_reason("it is shorter than it declares");
        Ok(Some((damage, lost)).filter(|(_, lost)| !lost.is_empty()))
    }

    /// Returns its messages. The chunk is opened again for this, which is needed only for
    /// broken index data.
    fn load_messages(&mut self, bag: &Bag) -> Result<&KnownMessages> {
        let known_messages = match self.known_messages.take() {
            Some(known_messages) => known_messages,
            None => KnownMessages::from_messages(read(bag, &self.chunk)?),
        };
        Ok(self.known_messages.insert(known_messages))
    }
}

impl KnownMessages {
    fn from_messages(messages: ChunkMessages) -> Self {
        let by_connection = messages.by_connection.values();
        let index_len = by_connection
            .clone()
            .map(|counts| wire::INDEX_HEAD + 12 * counts.records)
            .sum();
        let lasts = by_connection.map(|counts| counts.last).collect();
        Self { messages, index_len, lasts }
    }
}

/// The losses of a chunk.
#[derive(Debug)]
struct ChunkLosses {
    /// By broken range of the content.
    by_range: Vec<(Range<u64>, BTreeMap<u32, LostMessages>)>,
    /// Whether there are index data of all connections with messages in the chunk.
    is_complete: bool,
}

/// Returns the messages that the index data list and that are not among the `messages` of
/// `chunk`. Each is assigned to the broken range at its declared offset or, because the content
/// may be shifted, to the next broken range.
fn find_losses(
    toplevel: &mut TopLevelReader,
    chunk: &Chunk,
    mut messages: ChunkMessages,
) -> ChunkLosses {
    let segments = std::mem::take(&mut messages.broken).into_iter();
    let mut losses: Vec<_> = segments.map(|range| (range, BTreeMap::new())).collect();
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
                !messages.take(connection, time)
            };
            let records = &messages.records;
            let position = records.partition_point(|range| range.end <= offset);
            let is_reported =
                records.get(position).is_some_and(|range| range.contains(&offset));
            if is_lost && !is_reported {
                add(lost, connection, time);
            }
        },
    );
    ChunkLosses { by_range: losses, is_complete: unlisted.is_empty() }
}

fn read(bag: &Bag, chunk: &Chunk) -> Result<ChunkMessages> {
    let mut messages = ChunkMessages::default();
    match bag.open(chunk, BytesMut::new())? {
        ChunkContent::Plain(mut plain) => {
            let start = plain.bytes.start;
            while plain.read(&*bag.source, bag.options, &mut messages)? {}
            for range in messages.broken.iter_mut().chain(&mut messages.records) {
                *range = range.start - start..range.end - start;
            }
        }
        ChunkContent::Unpacked(bytes, outcome) => {
            chunk.scan_records(&bytes, outcome, &mut messages)
        }
        ChunkContent::Lost(damage) => messages.damage(damage),
    }
    Ok(messages)
}
