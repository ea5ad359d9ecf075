//! A part that is open: its records in the order of time.

use std::{cmp::Ordering, collections::VecDeque, ops::Range, sync::Arc};

use crate::{
    model::time::{TimeRange, Timestamp},
    operations::merge::Key,
    record::block::{Block, Entry, Gather, Record},
};

/// A part that is open: its records in the order of time, or the first of them.
pub(super) struct Lane {
    /// The number of the part.
    pub(super) rank: u32,
    /// What comes before was given out when the part was open before.
    from: Option<Key>,
    /// Records of lower numbers are those of other lanes.
    first: u64,
    /// Nothing from here on is kept.
    horizon: Option<Key>,
    blocks: VecDeque<Arc<Block>>,
    /// The records that are kept, if those are not just all of the blocks in their
    /// order.
    places: Option<Vec<Place>>,
    /// The next record: an index into the places, or into the first block.
    next: usize,
    /// The number of that record, where there are no places.
    number: u64,
    /// How many records the part had so far.
    read: u64,
    /// The times of places.
    times: TimeRange,
    /// The latest time so far, and whether all came in order.
    latest: Timestamp,
    is_in_order: bool,
    /// The first record that is not kept.
    forgotten: Option<Key>,
    cost: usize,
    /// Whether the part is read on when the order of time comes to where the rest begins: nothing
    /// of it is forgotten.
    pub(super) is_stretch: bool,
}

/// Where a record lies.
#[derive(Clone, Copy)]
struct Place {
    time: Timestamp,
    number: u64,
    block: u32,
    entry: u32,
}

/// Memory for each record beside its block: a place, and another when lanes are
/// narrowed.
const PLACE: usize = size_of::<Place>() + size_of::<(Key, usize)>();
/// Blocks of copies are at most this long, if they hold more than one.
const GATHERED: usize = 16 << 20;

impl Lane {
    /// A lane that is to hold the records of part `rank` in `from..horizon`.
    pub(super) fn new(rank: u32, from: Option<Key>, horizon: Option<Key>) -> Self {
        Self {
            rank,
            from,
            first: 0,
            horizon,
            blocks: VecDeque::new(),
            places: (from.is_some() || horizon.is_some()).then(Vec::new),
            next: 0,
            number: 0,
            read: 0,
            times: TimeRange::EMPTY,
            latest: Timestamp::MIN,
            is_in_order: true,
            forgotten: None,
            cost: size_of::<Self>(),
            is_stretch: false,
        }
    }

    /// A lane that is to hold a stretch of part `rank`, the records from number `first` and from
    /// `from` on.
    pub(super) fn stretch(rank: u32, first: u64, from: Key) -> Self {
        let lane = Self::new(rank, Some(from), None);
        Self { first, number: first, read: first, is_stretch: true, ..lane }
    }

    /// The same without the records before number `first`, which other lanes have.
    pub(super) fn behind(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// What comes before was given out when the part was open before.
    pub(super) fn from(&self) -> Option<Key> {
        self.from
    }

    /// The number of the first record that it may hold.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// How many records the part had so far.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// When the records happened that are kept, if they have places.
    pub(super) fn times(&self) -> TimeRange {
        self.times
    }

    /// Adds the next block of the part; says how much more memory that takes.
    pub(super) fn add(&mut self, block: Block) -> usize {
        let (before, first) = (self.cost, self.read);
        self.read += block.len() as u64;
        if block.is_empty() {
            return 0;
        }
        if self.places.is_some() {
            let block = [block];
            let records = (first..).zip(block[0].entries());
            self.keep(records.map(|(number, entry)| (number, &block[0], *entry)));
        } else {
            for entry in block.entries() {
                self.is_in_order &= self.latest <= entry.time;
                self.latest = entry.time;
            }
            let block = if block.is_sparse() { copied(&block) } else { block };
            self.cost += cost(&block);
            self.blocks.push_back(block.into());
        }
        self.cost - before
    }

    /// Puts all in order. Before, nothing may be asked for.
    pub(super) fn finish(&mut self) {
        if self.places.is_none() && !self.is_in_order {
            let places = self.left().map(|(place, ..)| place).collect();
            self.places = Some(places);
        }
        if let Some(places) = &mut self.places {
            places.sort_by_key(|place| (place.time, place.number));
        }
    }

    /// The key of the next record.
    pub(super) fn key(&self) -> Option<Key> {
        let number = match &self.places {
            Some(places) => places.get(self.next)?.number,
            None => self.number,
        };
        Some((self.time(0)?, self.rank, number))
    }

    /// The time of the record that comes so many after the next, in one block with it.
    pub(super) fn time(&self, after: usize) -> Option<Timestamp> {
        let index = self.next + after;
        Some(match &self.places {
            Some(places) => places.get(index)?.time,
            None => self.blocks.front()?.entries().get(index)?.time,
        })
    }

    /// The next record.
    pub(super) fn record(&self) -> Option<Record<'_>> {
        match &self.places {
            Some(places) => {
                let place = places.get(self.next)?;
                self.blocks.get(place.block as usize)?.get(place.entry as usize)
            }
            None => self.blocks.front()?.get(self.next),
        }
    }

    /// How many of the next records come before `limit`, and lie in one block.
    pub(super) fn run(&self, limit: Option<Key>) -> usize {
        let Some(places) = &self.places else {
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
        let left = places.get(self.next..).unwrap_or_default();
        let Some(first) = left.first() else { return 0 };
        let key = |place: &Place| (place.time, self.rank, place.number);
        let in_time =
            left.partition_point(|place| limit.is_none_or(|limit| key(place) < limit));
        let left = left.iter().take(in_time);
        left.take_while(|place| place.block == first.block).count()
    }

    /// The places of the records that are left, if there are places.
    fn next_places(&self) -> Option<&[Place]> {
        Some(self.places.as_deref()?.get(self.next..).unwrap_or_default())
    }

    /// The block of the next record.
    fn next_block(&self) -> Option<&Arc<Block>> {
        match self.next_places() {
            Some(places) => self.blocks.get(places.first()?.block as usize),
            None => self.blocks.front(),
        }
    }

    /// The block of the next records, and where in it the next `count` lie.
    pub(super) fn block(
        &self,
        count: usize,
    ) -> Option<(&Block, impl Iterator<Item = &Entry>)> {
        let (block, places) = (self.next_block()?, self.next_places());
        let entries = block.entries();
        let entry = move |index: usize| match places {
            Some(places) => entries.get(places.get(index)?.entry as usize),
            None => entries.get(self.next + index),
        };
        Some((block, (0..count).filter_map(entry)))
    }

    /// The next `count` records, which lie in one block: where in it, in one piece or in
    /// several.
    pub(super) fn pieces(
        &self,
        count: usize,
    ) -> Option<(&Arc<Block>, impl Iterator<Item = Range<usize>>)> {
        let (block, places) = (self.next_block()?, self.next_places());
        let whole = places.is_none().then_some(self.next..self.next + count);
        let singles = places.into_iter().flatten().take(count);
        let singles =
            singles.map(|place| place.entry as usize..place.entry as usize + 1);
        Some((block, whole.into_iter().chain(singles)))
    }

    /// Passes over the next `count` records, which lie in one block; gives the block
    /// if it is no longer needed.
    pub(super) fn advance(&mut self, count: usize) -> Option<Arc<Block>> {
        self.next += count;
        if self.places.is_some() {
            return None;
        }
        self.number += count as u64;
        if self.next < self.blocks.front().map_or(0, |block| block.len()) {
            return None;
        }
        self.next = 0;
        let done = self.blocks.pop_front();
        self.cost -= done.as_deref().map_or(0, cost);
        done
    }

    /// Whether the next `count` records are a whole block in its order.
    pub(super) fn is_block(&self, count: usize) -> bool {
        let len = self.blocks.front().map_or(0, |block| block.len());
        self.places.is_none() && self.next == 0 && len == count
    }

    /// How much memory the lane takes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// The first record that is not kept, if there is one.
    pub(super) fn forgotten(&self) -> Option<Key> {
        self.forgotten
    }

    /// What is left of its blocks.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Arc<Block>> {
        self.blocks.into_iter()
    }

    /// How much memory each of its records takes.
    pub(super) fn costs(&self) -> impl Iterator<Item = (Key, usize)> {
        self.left().map(|(place, _, entry)| {
            let bytes = entry.end.saturating_sub(entry.start) as usize;
            let cost = bytes + size_of::<Entry>() + size_of::<(u32, u64)>() + PLACE;
            ((place.time, self.rank, place.number), cost)
        })
    }

    /// Forgets all records from `horizon` on, also those to come, and keeps copies of
    /// the others; says how much memory the lane now takes.
    pub(super) fn narrow(&mut self, horizon: Option<Key>) -> usize {
        let old = Self::new(self.rank, None, None);
        let new = Self {
            horizon,
            blocks: VecDeque::new(),
            places: Some(Vec::new()),
            next: 0,
            cost: old.cost,
            ..old
        };
        let old = std::mem::replace(self, new);
        (self.from, self.first, self.read) = (old.from, old.first, old.read);
        self.forgotten = old.forgotten;
        self.keep(old.left().map(|(place, block, entry)| (place.number, block, entry)));
        self.cost
    }

    /// Keeps copies of those of `records`, each with its number and its block, that
    /// are to be kept.
    fn keep<'b>(&mut self, records: impl Iterator<Item = (u64, &'b Block, Entry)>) {
        let mut gather = Gather::default();
        for (number, block, entry) in records {
            let key = (entry.time, self.rank, number);
            if number < self.first || self.from.is_some_and(|from| key < from) {
                continue;
            }
            if self.horizon.is_some_and(|horizon| key >= horizon) {
                self.forgotten = self.forgotten.into_iter().chain([key]).min();
                continue;
            }
            let len = entry.end.saturating_sub(entry.start) as usize;
            if gather.len() + len > GATHERED {
                self.push(std::mem::take(&mut gather));
            }
            let place = Place {
                time: entry.time,
                number,
                block: self.blocks.len() as u32,
                entry: gather.count() as u32,
            };
            self.places.get_or_insert_default().push(place);
            self.times = self.times.cover(&TimeRange::from_timestamp(entry.time));
            gather.add(block, &entry);
        }
        self.push(gather);
    }

    fn push(&mut self, gather: Gather) {
        if gather.count() > 0 {
            let mut block = Block::default();
            gather.finish(&mut block);
            self.cost += cost(&block);
            self.blocks.push_back(block.into());
        }
    }

    /// The records that are left: where they lie, as places are told, and their blocks.
    fn left(&self) -> impl Iterator<Item = (Place, &Block, Entry)> {
        let placed = self.next_places().into_iter().flatten().filter_map(|place| {
            let block = &**self.blocks.get(place.block as usize)?;
            Some((*place, block, *block.entries().get(place.entry as usize)?))
        });
        let blocks = self.blocks.iter().map(|block| &**block);
        let plain = self.places.is_none().then(|| (0..).zip(blocks));
        let entries = plain.into_iter().flatten().flat_map(|(index, block)| {
            (0..).zip(block.entries()).map(move |(entry, at)| (index, entry, block, at))
        });
        let plain = (self.number..).zip(entries.skip(self.next));
        let plain = plain.map(|(number, (block, entry, from, at))| {
            (Place { time: at.time, number, block, entry }, from, *at)
        });
        placed.chain(plain)
    }
}

/// A block of copies of the records of `block`.
fn copied(block: &Block) -> Block {
    let (mut gather, mut copy) = (Gather::default(), Block::default());
    gather.add_all(block);
    gather.finish(&mut copy);
    copy
}

/// How much memory `block` and the places of its records take.
fn cost(block: &Block) -> usize {
    block.cost() + block.len() * PLACE
}
