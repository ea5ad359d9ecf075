//! Logs in one order of time.
//!
//! Parts are opened when the order of time comes to where they begin, and closed when
//! all that they hold is given out: what is in memory are the parts that truly overlap,
//! and those that are read ahead. Where so many overlap that they are too much, the
//! latest records of all are forgotten, and read again when it is their turn.

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

/// Where a record comes in the order: its time, its part, and its number in that.
type Key = (Timestamp, u32, u64);

/// Parts of fewer bytes are joined with their neighbours.
const PART_BYTES: u64 = 256 << 10;
/// So many bytes of overlapping parts are kept in memory, and one block more.
const BUDGET: usize = 256 << 20;
/// How many blocks are kept to be filled again.
const SPARE: usize = 8;

/// Reads several logs together, the earliest record first.
///
/// Of records at one time, those of the first log come first, and of those of one log
/// those that come first in the file: the order is that of a stable sort. It holds as
/// far as the manifests tell no lies: a record that is earlier than its
/// [part](Part::time) is said to begin comes when the part is opened, which is told as
/// doubtful if others that are later came before.
///
/// Parts are unpacked on all processors, as [`ReadAhead`] does it. In memory are those
/// that overlap at a time, up to 256 MiB; beyond that they are read several times.
pub struct Merge<'l> {
    logs: Vec<(&'l dyn Log, Selection)>,
    /// All parts with the index of their log: those of the first log first, in the
    /// order of its file.
    parts: Vec<(usize, Part)>,
    /// The parts that are not yet opened, in the order in which they begin.
    ahead: ReadAhead<'l>,
    waiting: std::vec::IntoIter<Key>,
    /// Parts of which the records from here on were forgotten, or not yet read again.
    again: BinaryHeap<Reverse<Key>>,
    /// Those that are read on then, and what is known of those of which something was forgotten.
    paused: HashMap<u32, Paused>,
    known: HashMap<u32, Known>,
    lanes: Vec<Option<Lane>>,
    /// The indices of those that are closed.
    free: Vec<usize>,
    /// The next record of each lane but the current one.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    /// The lane that has the earliest record, until the order comes to this key.
    current: Option<(usize, Option<Key>)>,
    /// How many records of the current lane, beginning with the one that was given out,
    /// are known to come before all others, and lie in one block.
    run: usize,
    /// No record from here on is kept, until all before are given out.
    horizon: Option<Key>,
    /// How much memory the lanes take.
    held: usize,
    budget: usize,
    damage: Vec<(usize, Damage)>,
    /// The time of the last record that was given out.
    reached: Timestamp,
    spare: Vec<Block>,
    /// What was read of parts that are closed, each with the index of its log: released when
    /// nobody needs what was given out of it.
    closed: Vec<(usize, Range<u64>)>,
}

impl<'l> Merge<'l> {
    /// Reads of each log what its selection wants.
    pub fn new(logs: Vec<(&'l dyn Log, Selection)>) -> Self {
        Self::with_budget(BUDGET, PART_BYTES, logs)
    }

    /// The same with `budget` bytes of memory, and parts of up to `part_bytes`.
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

    /// The next record, and the index of its log; or nothing where all are at their
    /// end.
    // Not an `Iterator`: the record is borrowed from this very value.
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

    /// What was found damaged since this was last asked, with the index of the log.
    pub fn take_damage(&mut self) -> Vec<(usize, Damage)> {
        mem::take(&mut self.damage)
    }

    /// Makes the lane with the earliest record the current one, and gives its index;
    /// or nothing where all are at their end.
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

    /// Where the next part begins that is not open.
    fn waiting_key(&self) -> Option<Key> {
        let first = self.waiting.as_slice().first().copied();
        let again = self.again.peek().map(|Reverse(key)| *key);
        first.into_iter().chain(again).min()
    }

    /// Closes the lane with this index, which is at its end.
    fn close(&mut self, index: usize) {
        let Some(lane) = self.lanes[index].take() else { return };
        self.free.push(index);
        self.held -= self.counted(&lane);
        self.again.extend(lane.forgotten().map(Reverse));
        let (log, part) = &self.parts[lane.rank as usize];
        self.closed.push((*log, part.bytes.clone()));
        lane.into_blocks().for_each(|block| self.give_back(block));
    }

    /// Passes over the next records of the current lane, which are of one block; gives
    /// the block if it is no longer needed.
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

    /// Passes over the next records of the current lane, which are of one block.
    fn pass(&mut self, count: usize) {
        let done = self.advance(count);
        done.into_iter().for_each(|block| self.give_back(block));
    }

    /// Lets the memory go of what was read of parts that are closed.
    fn release(&mut self) {
        for (log, bytes) in self.closed.drain(..) {
            self.logs[log].0.source().release(bytes);
        }
    }

    /// Keeps the memory of a block that nobody else has.
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
