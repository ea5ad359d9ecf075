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
    first: u64,
    /// Records from this position on are dropped.
    horizon: Option<RecordKey>,
    blocks: VecDeque<Arc<Block>>,
    /// The positions of the kept records, unless these are all records of the blocks in
    /// their order.
    positions: Option<Vec<RecordPosition>>,
    /// The next record: an index into `positions`, or into the first block.
    next: usize,
    /// The index of the next record in the part, if there are no `positions`.
    number: u64,
    /// The number of records of the part that were read.
    read: u64,
    /// The times of the records in `positions`.
    times: TimeRange,
    /// The latest time so far, and whether all records were in order.
    latest: Timestamp,
    is_in_order: bool,
    /// The first dropped record.
    forgotten: Option<RecordKey>,
    cost: usize,
    /// Whether this is a segment of the part, which is continued when the merge reaches
    /// its end. No record of a segment is dropped.
    pub(super) is_segment: bool,
}

/// The position of a record.
#[derive(Clone, Copy)]
struct RecordPosition {
    time: Timestamp,
    number: u64,
    block: u32,
    entry: u32,
}

/// The memory per record in addition to its block: its position, and another one while
/// records are dropped.
const PLACE: usize = size_of::<RecordPosition>() + size_of::<(RecordKey, usize)>();
/// The maximum size of a block of several copies in bytes.
const GATHERED: usize = 16 << 20;

impl OpenPart {
    /// Creates an open part for the records of the part `rank` in `from..horizon`.
    pub(super) fn new(
        rank: u32,
        start: Option<RecordKey>,
        horizon: Option<RecordKey>,
    ) -> Self {
        Self {
            rank,
            start,
            first: 0,
            horizon,
            blocks: VecDeque::new(),
            positions: (start.is_some() || horizon.is_some()).then(Vec::new),
            next: 0,
            number: 0,
            read: 0,
            times: TimeRange::EMPTY,
            latest: Timestamp::MIN,
            is_in_order: true,
            forgotten: None,
            cost: size_of::<Self>(),
            is_segment: false,
        }
    }

    /// Creates a segment of the part `rank`: the records from the index `first` and from
    /// the position `start` on.
    pub(super) fn segment(rank: u32, first: u64, start: RecordKey) -> Self {
        let open_part = Self::new(rank, Some(start), None);
        Self { first, number: first, read: first, is_segment: true, ..open_part }
    }

    /// Excludes the records with an index below `first`, which are in other segments.
    pub(super) fn starting_at(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// Returns the position from which on records are returned.
    pub(super) fn first_position(&self) -> Option<RecordKey> {
        self.start
    }

    /// Returns the index of the first possible record.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of records of the part that were read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Returns the times of the kept records, if they have positions.
    pub(super) fn kept_times(&self) -> TimeRange {
        self.times
    }

    /// Adds the next block of the part. Returns the additional memory in bytes.
    pub(super) fn add(&mut self, block: Block) -> usize {
        let (before, first) = (self.cost, self.read);
        self.read += block.len() as u64;
        if block.is_empty() {
            return 0;
        }
        if self.positions.is_some() {
            let block = [block];
            let records = (first..).zip(block[0].entries());
            self.keep(records.map(|(number, entry)| (number, &block[0], *entry)));
        } else {
            for entry in block.entries() {
                self.is_in_order &= self.latest <= entry.time;
                self.latest = entry.time;
            }
            let block = if block.is_sparse() { copy_block(&block) } else { block };
            self.cost += cost(&block);
            self.blocks.push_back(block.into());
        }
        self.cost - before
    }

    /// Sorts the records. Must be called before they are used.
    pub(super) fn finish(&mut self) {
        if self.positions.is_none() && !self.is_in_order {
            let positions = self.remaining().map(|(position, ..)| position).collect();
            self.positions = Some(positions);
        }
        if let Some(positions) = &mut self.positions {
            positions.sort_by_key(|position| (position.time, position.number));
        }
    }

    /// Returns the position of the next record in the order of the merge.
    pub(super) fn key(&self) -> Option<RecordKey> {
        let number = match &self.positions {
            Some(positions) => positions.get(self.next)?.number,
            None => self.number,
        };
        Some((self.time(0)?, self.rank, number))
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
    pub(super) fn run(&self, limit: Option<RecordKey>) -> usize {
        let Some(positions) = &self.positions else {
            let entries = self.blocks.front().map_or(&[][..], |block| block.entries());
            let left = entries.get(self.next..).unwrap_or_default();
            let Some((limit, rank, number)) = limit else { return left.len() };
            let before = || left.partition_point(|entry| entry.time < limit);
            let with = || left.partition_point(|entry| entry.time <= limit);
            return match self.rank.cmp(&rank) {
                Ordering::Less => with(),
                Ordering::Equal => {
                    let earlier = number.saturating_sub(self.number) as usize;
                    earlier.clamp(before(), with())
                }
                Ordering::Greater => before(),
            };
        };
        let left = positions.get(self.next..).unwrap_or_default();
        let Some(first) = left.first() else { return 0 };
        let key =
            |position: &RecordPosition| (position.time, self.rank, position.number);
        let in_time = left.partition_point(|position| {
            limit.is_none_or(|limit| key(position) < limit)
        });
        let left = left.iter().take(in_time);
        left.take_while(|position| position.block == first.block).count()
    }

    /// Returns the remaining positions, if there are positions.
    fn next_places(&self) -> Option<&[RecordPosition]> {
        Some(self.positions.as_deref()?.get(self.next..).unwrap_or_default())
    }

    /// Returns the block of the next record.
    fn next_block(&self) -> Option<&Arc<Block>> {
        match self.next_places() {
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
        let (block, positions) = (self.next_block()?, self.next_places());
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
        let (block, positions) = (self.next_block()?, self.next_places());
        let whole = positions.is_none().then_some(self.next..self.next + count);
        let singles = positions.into_iter().flatten().take(count);
        let singles = singles
            .map(|position| position.entry as usize..position.entry as usize + 1);
        Some((block, whole.into_iter().chain(singles)))
    }

    /// Skips `count` records, which are in one block. Returns the block if it is no
    /// longer needed.
    pub(super) fn advance(&mut self, count: usize) -> Option<Arc<Block>> {
        self.next += count;
        if self.positions.is_some() {
            return None;
        }
        self.number += count as u64;
        if self.next < self.blocks.front().map_or(0, |block| block.len()) {
            return None;
        }
        self.next = 0;
        let block = self.blocks.pop_front();
        self.cost -= block.as_deref().map_or(0, cost);
        block
    }

    /// Returns whether the next `count` records are a whole block in its order.
    pub(super) fn is_block(&self, count: usize) -> bool {
        let len = self.blocks.front().map_or(0, |block| block.len());
        self.positions.is_none() && self.next == 0 && len == count
    }

    /// Returns the memory in bytes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// Returns the first dropped record.
    pub(super) fn first_dropped(&self) -> Option<RecordKey> {
        self.forgotten
    }

    /// Returns the remaining blocks.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Arc<Block>> {
        self.blocks.into_iter()
    }

    /// Iterates over the memory of each record in bytes.
    pub(super) fn costs(&self) -> impl Iterator<Item = (RecordKey, usize)> {
        self.remaining().map(|(position, _, entry)| {
            let bytes = entry.end.saturating_sub(entry.start) as usize;
            let cost =
                bytes + size_of::<RecordEntry>() + size_of::<(u32, u64)>() + PLACE;
            ((position.time, self.rank, position.number), cost)
        })
    }

    /// Drops all records from `horizon` on, including future ones, and copies the others.
    /// Returns the memory in bytes.
    pub(super) fn drop_from(&mut self, horizon: Option<RecordKey>) -> usize {
        let old = Self::new(self.rank, None, None);
        let new = Self {
            horizon,
            blocks: VecDeque::new(),
            positions: Some(Vec::new()),
            next: 0,
            cost: old.cost,
            ..old
        };
        let old = std::mem::replace(self, new);
        (self.start, self.first, self.read) = (old.start, old.first, old.read);
        self.forgotten = old.forgotten;
        self.keep(
            old.remaining()
                .map(|(position, block, entry)| (position.number, block, entry)),
        );
        self.cost
    }

    /// Adds copies of those `records` that are to be kept. Each has its index and its
    /// block.
    fn keep<'b>(
        &mut self,
        records: impl Iterator<Item = (u64, &'b Block, RecordEntry)>,
    ) {
        let mut copies = RecordCopies::default();
        for (number, block, entry) in records {
            let key = (entry.time, self.rank, number);
            if number < self.first || self.start.is_some_and(|start| key < start) {
                continue;
            }
            if self.horizon.is_some_and(|horizon| key >= horizon) {
                self.forgotten = self.forgotten.into_iter().chain([key]).min();
                continue;
            }
            let len = entry.end.saturating_sub(entry.start) as usize;
            if copies.byte_len() + len > GATHERED {
                self.push(std::mem::take(&mut copies));
            }
            let position = RecordPosition {
                time: entry.time,
                number,
                block: self.blocks.len() as u32,
                entry: copies.record_count() as u32,
            };
            self.positions.get_or_insert_default().push(position);
            self.times = self.times.cover(&TimeRange::from_timestamp(entry.time));
            copies.add(block, &entry);
        }
        self.push(copies);
    }

    fn push(&mut self, copies: RecordCopies) {
        if copies.record_count() > 0 {
            let mut block = Block::default();
            copies.finish(&mut block);
            self.cost += cost(&block);
            self.blocks.push_back(block.into());
        }
    }

    /// Iterates over the remaining records: their positions, blocks and entries.
    fn remaining(&self) -> impl Iterator<Item = (RecordPosition, &Block, RecordEntry)> {
        let at_positions =
            self.next_places().into_iter().flatten().filter_map(|position| {
                let block = &**self.blocks.get(position.block as usize)?;
                Some((*position, block, *block.entries().get(position.entry as usize)?))
            });
        let blocks = self.blocks.iter().map(|block| &**block);
        let blocks_in_order = self.positions.is_none().then(|| (0..).zip(blocks));
        let entries =
            blocks_in_order.into_iter().flatten().flat_map(|(index, block)| {
                (0..)
                    .zip(block.entries())
                    .map(move |(entry, at)| (index, entry, block, at))
            });
        let blocks_in_order = (self.number..).zip(entries.skip(self.next));
        let blocks_in_order =
            blocks_in_order.map(|(number, (block, entry, start, at))| {
                (RecordPosition { time: at.time, number, block, entry }, start, *at)
            });
        at_positions.chain(blocks_in_order)
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
fn cost(block: &Block) -> usize {
    block.memory_bytes() + block.len() * PLACE
}
