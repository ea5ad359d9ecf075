//! An open part of a merge, with its records in the order of time.

use std::{cmp::Ordering, collections::VecDeque, ops::Range, sync::Arc};

use crate::{
    model::time::{TimeRange, Timestamp},
    operations::merge::RecordKey,
    record::block::{Block, Record, RecordCopies, RecordEntry},
};

/// An open part: all its records or the first of them, in the order of time.
pub(super) struct OpenPart {
    /// The rank of the part.
    pub(super) rank: u32,
    /// Records before this position were returned when the part was open earlier.
    start: Option<RecordKey>,
    /// Records with a lower index belong to other segments of the part.
    first_index: u64,
    /// Records from this position on are dropped.
    drop_limit: Option<RecordKey>,
    blocks: VecDeque<Arc<Block>>,
    /// The positions of the kept records, unless these are all records of the blocks in
    /// their order.
    positions: Option<Vec<RecordPosition>>,
    /// The next record: an index into `positions`, or into the first block.
    next: usize,
    /// The index of the next record in the part, if there are no `positions`.
    next_index: u64,
    /// The number of records of the part that were read.
    read_count: u64,
    /// The times of the records in `positions`.
    times: TimeRange,
    /// The latest time so far, and whether all records were in order.
    latest: Timestamp,
    is_in_order: bool,
    /// The first dropped record.
    first_dropped: Option<RecordKey>,
    /// The memory in bytes.
    memory_bytes: usize,
    /// Whether this is a segment of the part, which is continued when the merge reaches
    /// its end. No record of a segment is dropped.
    pub(super) is_segment: bool,
}

/// The position of a record.
#[derive(Clone, Copy)]
struct RecordPosition {
    time: Timestamp,
    /// The index of the record in the part.
    index: u64,
    /// The index of the block, and of the record in it.
    block: u32,
    entry: u32,
}

/// The memory per record in addition to its block: its position, and another one while
/// records are dropped.
const POSITION_BYTES: usize =
    size_of::<RecordPosition>() + size_of::<(RecordKey, usize)>();
/// The maximum size of a block of several copies in bytes.
const MAX_COPY_BYTES: usize = 16 << 20;

impl OpenPart {
    /// Creates an open part for the records of the part `rank` in `start..drop_limit`.
    pub(super) fn new(
        rank: u32,
        start: Option<RecordKey>,
        drop_limit: Option<RecordKey>,
    ) -> Self {
        Self {
            rank,
            start,
            first_index: 0,
            drop_limit,
            blocks: VecDeque::new(),
            positions: (start.is_some() || drop_limit.is_some()).then(Vec::new),
            next: 0,
            next_index: 0,
            read_count: 0,
            times: TimeRange::EMPTY,
            latest: Timestamp::MIN,
            is_in_order: true,
            first_dropped: None,
            memory_bytes: size_of::<Self>(),
            is_segment: false,
        }
    }

    /// Creates a segment of the part `rank`: the records from the index `first_index` and
    /// from the position `start` on.
    pub(super) fn segment(rank: u32, first_index: u64, start: RecordKey) -> Self {
        Self {
            first_index,
            next_index: first_index,
            read_count: first_index,
            is_segment: true,
            ..Self::new(rank, Some(start), None)
        }
    }

    /// Excludes the records with an index below `first_index`, which are in other segments.
    pub(super) fn starting_at(self, first_index: u64) -> Self {
        Self { first_index, ..self }
    }

    /// Returns the position from which on records are returned.
    pub(super) fn start(&self) -> Option<RecordKey> {
        self.start
    }

    /// Returns the index of the first possible record.
    pub(super) fn first_index(&self) -> u64 {
        self.first_index
    }

    /// Returns the number of records of the part that were read.
    pub(super) fn read_count(&self) -> u64 {
        self.read_count
    }

    /// Returns the times of the kept records, if the part has positions.
    pub(super) fn kept_times(&self) -> TimeRange {
        self.times
    }

    /// Adds the next block of the part. Returns the additional memory in bytes.
    pub(super) fn add(&mut self, block: Block) -> usize {
        let (old_bytes, first_index) = (self.memory_bytes, self.read_count);
        self.read_count += block.len() as u64;
        if block.is_empty() {
            return 0;
        }
        if self.positions.is_some() {
            let records = (first_index..).zip(block.entries());
            self.copy_kept(records.map(|(index, entry)| (index, &block, *entry)));
        } else {
            for entry in block.entries() {
                self.is_in_order &= self.latest <= entry.time;
                self.latest = entry.time;
            }
            let block = if block.is_sparse() { copy_block(&block) } else { block };
            self.memory_bytes += total_bytes(&block);
            self.blocks.push_back(block.into());
        }
        self.memory_bytes - old_bytes
    }

    /// Sorts the records. Must be called before they are used.
    pub(super) fn finish(&mut self) {
        if self.positions.is_none() && !self.is_in_order {
            let positions = self.remaining().map(|(position, ..)| position).collect();
            self.positions = Some(positions);
        }
        if let Some(positions) = &mut self.positions {
            positions.sort_by_key(|position| (position.time, position.index));
        }
    }

    /// Returns the position of the next record in the order of the merge.
    pub(super) fn key(&self) -> Option<RecordKey> {
        let index = match &self.positions {
            Some(positions) => positions.get(self.next)?.index,
            None => self.next_index,
        };
        Some((self.time(0)?, self.rank, index))
    }

    /// Returns the time of the record `after` records after the next one, in the same
    /// block.
    pub(super) fn time(&self, after: usize) -> Option<Timestamp> {
        let index = self.next + after;
        Some(match &self.positions {
            Some(positions) => positions.get(index)?.time,
            None => self.blocks.front()?.entries().get(index)?.time,
        })
    }

    /// Returns the next record.
    pub(super) fn record(&self) -> Option<Record<'_>> {
        match &self.positions {
            Some(positions) => {
                let position = positions.get(self.next)?;
                self.blocks.get(position.block as usize)?.get(position.entry as usize)
            }
            None => self.blocks.front()?.get(self.next),
        }
    }

    /// Returns the number of next records that come before `limit` and are in one block.
    pub(super) fn run_len(&self, limit: Option<RecordKey>) -> usize {
        let Some(positions) = &self.positions else {
            let entries = self.blocks.front().map_or(&[][..], |block| block.entries());
            let remaining = entries.get(self.next..).unwrap_or_default();
            let Some((limit, rank, index)) = limit else { return remaining.len() };
            let earlier = || remaining.partition_point(|entry| entry.time < limit);
            let earlier_or_equal =
                || remaining.partition_point(|entry| entry.time <= limit);
            // At equal times, the rank of the part and then the index decide.
            return match self.rank.cmp(&rank) {
                Ordering::Less => earlier_or_equal(),
                Ordering::Equal => {
                    let lower_indices = index.saturating_sub(self.next_index) as usize;
                    lower_indices.clamp(earlier(), earlier_or_equal())
                }
                Ordering::Greater => earlier(),
            };
        };
        let remaining = positions.get(self.next..).unwrap_or_default();
        let Some(first) = remaining.first() else { return 0 };
        let is_before_limit = |position: &RecordPosition| {
            let key = (position.time, self.rank, position.index);
            limit.is_none_or(|limit| key < limit)
        };
        let count = remaining.partition_point(is_before_limit);
        remaining
            .iter()
            .take(count)
            .take_while(|position| position.block == first.block)
            .count()
    }

    /// Returns the remaining positions, if there are positions.
    fn remaining_positions(&self) -> Option<&[RecordPosition]> {
        Some(self.positions.as_deref()?.get(self.next..).unwrap_or_default())
    }

    /// Returns the block of the next record.
    fn next_block(&self) -> Option<&Arc<Block>> {
        match self.remaining_positions() {
            Some(positions) => self.blocks.get(positions.first()?.block as usize),
            None => self.blocks.front(),
        }
    }

    /// Returns the block of the next records, and the positions of the next `count`
    /// records in it.
    pub(super) fn block(
        &self,
        count: usize,
    ) -> Option<(&Block, impl Iterator<Item = &RecordEntry>)> {
        let (block, positions) = (self.next_block()?, self.remaining_positions());
        let entries = block.entries();
        let entry = move |index: usize| match positions {
            Some(positions) => entries.get(positions.get(index)?.entry as usize),
            None => entries.get(self.next + index),
        };
        Some((block, (0..count).filter_map(entry)))
    }

    /// Returns the block of the next `count` records, and their index ranges in it: one,
    /// or several.
    pub(super) fn block_ranges(
        &self,
        count: usize,
    ) -> Option<(&Arc<Block>, impl Iterator<Item = Range<usize>>)> {
        let (block, positions) = (self.next_block()?, self.remaining_positions());
        // Without positions, the records are adjacent.
        let adjacent_range = match positions {
            None => Some(self.next..self.next + count),
            Some(_) => None,
        };
        let single_ranges = positions
            .unwrap_or_default()
            .iter()
            .take(count)
            .map(|position| position.entry as usize..position.entry as usize + 1);
        Some((block, adjacent_range.into_iter().chain(single_ranges)))
    }

    /// Skips `count` records, which are in one block. Returns the block if it is no
    /// longer needed.
    pub(super) fn advance(&mut self, count: usize) -> Option<Arc<Block>> {
        self.next += count;
        if self.positions.is_some() {
            return None;
        }
        self.next_index += count as u64;
        if self.next < self.blocks.front().map_or(0, |block| block.len()) {
            return None;
        }
        self.next = 0;
        let block = self.blocks.pop_front();
        self.memory_bytes -= block.as_deref().map_or(0, total_bytes);
        block
    }

    /// Returns whether the next `count` records are a whole block in its order.
    pub(super) fn is_block(&self, count: usize) -> bool {
        let len = self.blocks.front().map_or(0, |block| block.len());
        self.positions.is_none() && self.next == 0 && len == count
    }

    /// Returns the memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Returns the first dropped record.
    pub(super) fn first_dropped(&self) -> Option<RecordKey> {
        self.first_dropped
    }

    /// Returns the remaining blocks.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Arc<Block>> {
        self.blocks.into_iter()
    }

    /// Iterates over the memory of each record in bytes.
    pub(super) fn record_bytes(&self) -> impl Iterator<Item = (RecordKey, usize)> {
        const ENTRY_BYTES: usize = size_of::<RecordEntry>() + size_of::<(u32, u64)>();
        self.remaining().map(|(position, _, entry)| {
            let payload_bytes = entry.end.saturating_sub(entry.start) as usize;
            let bytes = payload_bytes + ENTRY_BYTES + POSITION_BYTES;
            ((position.time, self.rank, position.index), bytes)
        })
    }

    /// Drops all records from `drop_limit` on, including future ones, and copies the others.
    /// Returns the memory in bytes.
    pub(super) fn drop_from(&mut self, drop_limit: Option<RecordKey>) -> usize {
        let reduced = Self {
            start: self.start,
            first_index: self.first_index,
            read_count: self.read_count,
            first_dropped: self.first_dropped,
            positions: Some(Vec::new()),
            ..Self::new(self.rank, None, drop_limit)
        };
        let old = std::mem::replace(self, reduced);
        self.copy_kept(
            old.remaining()
                .map(|(position, block, entry)| (position.index, block, entry)),
        );
        self.memory_bytes
    }

    /// Adds copies of the `records` that were not returned before and are not dropped. Each
    /// has its index and its block.
    fn copy_kept<'b>(
        &mut self,
        records: impl Iterator<Item = (u64, &'b Block, RecordEntry)>,
    ) {
        let mut copies = RecordCopies::default();
        for (index, block, entry) in records {
            let key = (entry.time, self.rank, index);
            if index < self.first_index || self.start.is_some_and(|start| key < start) {
                continue;
            }
            if self.drop_limit.is_some_and(|drop_limit| key >= drop_limit) {
                self.first_dropped =
                    Some(self.first_dropped.map_or(key, |first| first.min(key)));
                continue;
            }
            let len = entry.end.saturating_sub(entry.start) as usize;
            if copies.byte_len() + len > MAX_COPY_BYTES {
                self.push_copies(std::mem::take(&mut copies));
            }
            let position = RecordPosition {
                time: entry.time,
                index,
                block: self.blocks.len() as u32,
                entry: copies.record_count() as u32,
            };
            self.positions.get_or_insert_default().push(position);
            self.times = self.times.cover(&TimeRange::from_timestamp(entry.time));
            copies.add(block, &entry);
        }
        self.push_copies(copies);
    }

    fn push_copies(&mut self, copies: RecordCopies) {
        if copies.record_count() > 0 {
            let mut block = Block::default();
            copies.finish(&mut block);
            self.memory_bytes += total_bytes(&block);
            self.blocks.push_back(block.into());
        }
    }

    /// Iterates over the remaining records: their positions, blocks and entries.
    fn remaining(&self) -> impl Iterator<Item = (RecordPosition, &Block, RecordEntry)> {
        let at_positions =
            self.remaining_positions().into_iter().flatten().filter_map(|position| {
                let block = &**self.blocks.get(position.block as usize)?;
                Some((*position, block, *block.entries().get(position.entry as usize)?))
            });
        // Without positions, these are the records of all blocks in their order.
        let block_count = if self.positions.is_none() { self.blocks.len() } else { 0 };
        let records_in_blocks = (0..)
            .zip(self.blocks.iter().take(block_count))
            .flat_map(|(block_index, block)| {
                (0..).zip(block.entries()).map(move |(entry_index, entry)| {
                    (block_index, entry_index, &**block, entry)
                })
            });
        let in_order = (self.next_index..).zip(records_in_blocks.skip(self.next)).map(
            |(index, (block_index, entry_index, block, entry))| {
                let position = RecordPosition {
                    time: entry.time,
                    index,
                    block: block_index,
                    entry: entry_index,
                };
                (position, block, *entry)
            },
        );
        at_positions.chain(in_order)
    }
}

/// Copies the records of `block` into a new block, or shares its bytes if they are too long.
fn copy_block(block: &Block) -> Block {
    let (mut copies, mut copy) = (RecordCopies::default(), Block::default());
    if !copies.add_all(block) {
        return block.clone();
    }
    copies.finish(&mut copy);
    copy
}

/// Returns the memory of `block` and of the positions of its records in bytes.
fn total_bytes(block: &Block) -> usize {
    block.memory_bytes() + block.len() * POSITION_BYTES
}
