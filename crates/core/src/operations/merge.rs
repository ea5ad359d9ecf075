//! Merging logs in the order of time.
//!
//! A part is opened when the merge reaches the time at which it starts, and closed when
//! all its records were returned. So memory contains the parts that really overlap, and
//! those that are read ahead. If too many parts overlap, the latest records of all of
//! them are dropped, and read again when they are needed.

mod batch;
mod batch_pipeline;
mod open_part;
mod part_opening;
#[cfg(test)]
mod tests;
mod time_order;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    fmt, mem,
    ops::Range,
    sync::Arc,
};

use self::{
    open_part::Lane,
    part_opening::{Known, Paused},
};
use crate::{
    error::Result,
    log::Log,
    model::{
        damage::Damage,
        manifest::{Part, Selection},
        time::Timestamp,
    },
    operations::read_ahead::ReadAhead,
    record::block::{Block, Record},
};

pub use self::time_order::TimeOrder;
pub(crate) use self::{batch::Batch, batch_pipeline::Batches};

/// The position of a record in the order: its time, the rank of its part, and its index
/// in the part.
type Key = (Timestamp, u32, u64);

/// Parts with fewer bytes are joined with adjacent ones.
const PART_BYTES: u64 = 256 << 10;
/// The maximum memory of overlapping parts in bytes. One more block can exceed it.
const BUDGET: usize = 256 << 20;
/// The maximum number of blocks that are kept for reuse.
const SPARE: usize = 8;

/// A reader of several logs that returns their records in the order of time.
///
/// Records with equal times are in the order of the logs, and within one log in the order
/// of the file, as with a stable sort. This requires that the manifests are correct: a
/// record that is earlier than the start of its [part](Part::time) is returned when the
/// part is opened. If later records were returned before, this is reported as doubtful.
///
/// Parts are decompressed on all processors with [`ReadAhead`]. Up to 256 MiB of
/// overlapping parts are kept in memory; beyond that, parts are read several times.
pub struct Merge<'l> {
    logs: Vec<(&'l dyn Log, Selection)>,
    /// All parts with the index of their log, in the order of the logs and of their
    /// files. The index of a part is its rank.
    parts: Vec<(usize, Part)>,
    /// The parts that are not yet opened, in the order of their start times.
    ahead: ReadAhead<'l>,
    waiting: std::vec::IntoIter<Key>,
    /// Parts to read again or to continue, from this position on.
    again: BinaryHeap<Reverse<Key>>,
    /// The readers of parts to continue, and the block starts of parts with dropped
    /// records.
    paused: HashMap<u32, Paused>,
    known: HashMap<u32, Known>,
    lanes: Vec<Option<Lane>>,
    /// The indices of closed parts.
    free: Vec<usize>,
    /// The next record of each open part, except the current one.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    /// The open part with the earliest record, until the merge reaches this position.
    current: Option<(usize, Option<Key>)>,
    /// The number of records of the current part, including the one that was last
    /// returned, that come before all others and are in one block.
    run: usize,
    /// Records from this position on are dropped until all earlier ones were returned.
    horizon: Option<Key>,
    /// The memory of the open parts in bytes.
    held: usize,
    budget: usize,
    damage: Vec<(usize, Damage)>,
    /// The time of the last record that was returned.
    reached: Timestamp,
    spare: Vec<Block>,
    /// Closed parts with the index of their log. They are released when their records are
    /// no longer used.
    closed: Vec<(usize, Range<u64>)>,
}

impl<'l> Merge<'l> {
    /// Creates a merge of the selected records of each log.
    pub fn new(logs: Vec<(&'l dyn Log, Selection)>) -> Self {
        Self::with_budget(BUDGET, PART_BYTES, logs)
    }

    /// Creates a merge with a memory limit of `budget` bytes, and parts of up to
    /// `part_bytes` bytes.
    pub(crate) fn with_budget(
        budget: usize,
        part_bytes: u64,
        logs: Vec<(&'l dyn Log, Selection)>,
    ) -> Self {
        let parts: Vec<(usize, Part)> = (0..)
            .zip(&logs)
            .flat_map(|(index, (log, selection))| {
                let plan = log.manifest().plan(selection, part_bytes);
                plan.into_iter().map(move |part| (index, part))
            })
            .collect();
        let key = |(rank, (_, part)): (u32, &(usize, Part))| (part.time.start, rank, 0);
        let mut waiting: Vec<Key> = (0..).zip(&parts).map(key).collect();
        waiting.sort_unstable();
        let plan = waiting.iter().map(|(_, rank, _)| parts[*rank as usize].clone());
        Self {
            ahead: ReadAhead::of_logs(logs.clone(), plan.collect()),
            logs,
            parts,
            waiting: waiting.into_iter(),
            again: BinaryHeap::new(),
            paused: HashMap::new(),
            known: HashMap::new(),
            lanes: Vec::new(),
            free: Vec::new(),
            next: BinaryHeap::new(),
            current: None,
            run: 0,
            horizon: None,
            held: 0,
            budget,
            damage: Vec::new(),
            reached: Timestamp::MIN,
            spare: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Returns the next record and the index of its log, or `None` at the end of all
    /// logs.
    ///
    /// # Errors
    /// Errors of reading the sources.
    // Not an `Iterator`, because the record is borrowed from this value.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(usize, Record<'_>)>> {
        let lane = match (self.run, self.current) {
            (2.., Some((lane, _))) => {
                self.advance(1);
                self.run -= 1;
                lane
            }
            (run, _) => {
                self.pass(run.min(1));
                self.run = 0;
                self.release();
                let Some(lane) = self.settle()? else { return Ok(None) };
                let limit = self.current.and_then(|(_, limit)| limit);
                self.run = self.lanes[lane].as_ref().map_or(0, |lane| lane.run(limit));
                lane
            }
        };
        let Some(lane) = &self.lanes[lane] else { return Ok(None) };
        let log = self.parts[lane.rank as usize].0;
        Ok(lane.record().map(|record| (log, record)))
    }

    /// Returns the damage found since the last call, with the index of the log.
    pub fn take_damage(&mut self) -> Vec<(usize, Damage)> {
        mem::take(&mut self.damage)
    }

    /// Makes the open part with the earliest record the current one, and returns its
    /// index, or `None` at the end of all logs.
    fn settle(&mut self) -> Result<Option<usize>> {
        loop {
            if let Some((lane, limit)) = self.current {
                match self.lanes[lane].as_ref().and_then(Lane::key) {
                    Some(key) if limit.is_none_or(|limit| key < limit) => {
                        return Ok(Some(lane));
                    }
                    Some(key) => self.next.push(Reverse((key, lane))),
                    None => self.close(lane),
                }
                self.current = None;
            }
            let first = self.next.peek().map(|Reverse((key, _))| *key);
            let is_ahead = |horizon: &Key| first.is_some_and(|first| first < *horizon);
            self.horizon = self.horizon.filter(is_ahead);
            let waiting = self.waiting_key();
            let is_before =
                |key: Key, other: Option<Key>| other.is_none_or(|other| key < other);
            if let Some(key) = waiting
                && is_before(key, first)
                && is_before(key, self.horizon)
            {
                self.open(key)?;
            } else if let Some(Reverse((_, lane))) = self.next.pop() {
                let other = self.next.peek().map(|Reverse((key, _))| *key);
                let limit = other.into_iter().chain(waiting).min();
                self.current = Some((lane, limit));
            } else {
                return Ok(None);
            }
        }
    }

    /// Returns the position at which the next part must be opened.
    fn waiting_key(&self) -> Option<Key> {
        let first = self.waiting.as_slice().first().copied();
        let again = self.again.peek().map(|Reverse(key)| *key);
        first.into_iter().chain(again).min()
    }

    /// Closes the part with this index, which is at its end.
    fn close(&mut self, index: usize) {
        let Some(lane) = self.lanes[index].take() else { return };
        self.free.push(index);
        self.held -= self.counted(&lane);
        self.again.extend(lane.forgotten().map(Reverse));
        let (log, part) = &self.parts[lane.rank as usize];
        self.closed.push((*log, part.bytes.clone()));
        lane.into_blocks().for_each(|block| self.give_back(block));
    }

    /// Skips `count` records of the current part, which are in one block. Returns the
    /// block if it is no longer needed.
    fn advance(&mut self, count: usize) -> Option<Arc<Block>> {
        let lane = self.lanes[self.current?.0].as_mut()?;
        if let Some(time) = lane.time(count.saturating_sub(1)) {
            self.reached = time;
        }
        let before = lane.cost();
        let done = lane.advance(count);
        if !lane.is_stretch {
            self.held -= before - lane.cost();
        }
        done
    }

    /// Skips `count` records of the current part, which are in one block.
    fn pass(&mut self, count: usize) {
        let done = self.advance(count);
        done.into_iter().for_each(|block| self.give_back(block));
    }

    /// Releases the bytes of closed parts.
    fn release(&mut self) {
        for (log, bytes) in self.closed.drain(..) {
            self.logs[log].0.source().release(bytes);
        }
    }

    /// Reuses the memory of a block, unless it is still shared.
    fn give_back(&mut self, block: Arc<Block>) {
        if let Some(block) = Arc::into_inner(block) {
            self.recycle(block);
        }
    }

    fn recycle(&mut self, block: Block) {
        if self.spare.len() < SPARE && !block.is_long_and_made() {
            self.spare.push(block);
        }
    }
}

impl fmt::Debug for Merge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("logs", &self.logs.len())
            .field("parts", &self.parts.len())
            .finish_non_exhaustive()
    }
}
