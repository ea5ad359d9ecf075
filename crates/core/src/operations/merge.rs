//! Merging logs in the order of time.
//!
//! A part is opened when the merge reaches the time at which it starts, and closed when
//! all its records were returned. So memory contains the parts whose times overlap, and
//! the parts that are read ahead. If too many parts overlap, the latest records of all
//! of them are dropped, and read again when they are needed.

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
    open_part::OpenPart,
    part_opening::{KnownStarts, PausedPart},
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
pub(crate) use self::{batch::MergedBatch, batch_pipeline::BatchPipeline};

/// The position of a record in the order: its time, the rank of its part, and its index
/// in the part.
type RecordKey = (Timestamp, u32, u64);

/// Parts with fewer bytes are joined with adjacent ones.
const PART_BYTES: u64 = 256 << 10;
/// The maximum memory of overlapping parts in bytes. One more block can exceed it.
const MEMORY_BUDGET: usize = 256 << 20;
/// The maximum number of blocks that are kept for reuse.
const MAX_SPARE_BLOCKS: usize = 8;

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
    /// The parts that are not yet opened, in the order of their start times, and the key of
    /// the start of each.
    read_ahead: ReadAhead<'l>,
    waiting_keys: std::vec::IntoIter<RecordKey>,
    /// Parts to read again or to continue, from this position on.
    paused_keys: BinaryHeap<Reverse<RecordKey>>,
    /// The readers of parts to continue, and the block starts of parts with dropped
    /// records.
    paused: HashMap<u32, PausedPart>,
    known_starts: HashMap<u32, KnownStarts>,
    open_parts: Vec<Option<OpenPart>>,
    /// The indices in `open_parts` that are not in use.
    free_indices: Vec<usize>,
    /// The next record of each open part, except the current one.
    next_records: BinaryHeap<Reverse<(RecordKey, usize)>>,
    /// The open part with the earliest record, until the merge reaches this position.
    current: Option<(usize, Option<RecordKey>)>,
    /// The number of records of the current part that precede the records of all other
    /// parts and are in one block. It includes the record that was returned last.
    run_len: usize,
    /// Records from this position on are dropped until all earlier ones were returned.
    drop_limit: Option<RecordKey>,
    /// The memory of the open parts in bytes.
    buffered_bytes: usize,
    budget: usize,
    damage: Vec<(usize, Damage)>,
    /// The time of the last record that was returned.
    last_time: Timestamp,
    spare_blocks: Vec<Block>,
    /// Closed parts with the index of their log. They are released when their records are
    /// no longer used.
    closed: Vec<(usize, Range<u64>)>,
}

impl<'l> Merge<'l> {
    /// Creates a merge of the selected records of each log.
    pub fn new(logs: Vec<(&'l dyn Log, Selection)>) -> Self {
        Self::with_budget(MEMORY_BUDGET, PART_BYTES, logs)
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
        let mut waiting_keys: Vec<RecordKey> = (0..).zip(&parts).map(key).collect();
        waiting_keys.sort_unstable();
        let plan =
            waiting_keys.iter().map(|(_, rank, _)| parts[*rank as usize].clone());
        Self {
            read_ahead: ReadAhead::for_logs(logs.clone(), plan.collect()),
            logs,
            parts,
            waiting_keys: waiting_keys.into_iter(),
            paused_keys: BinaryHeap::new(),
            paused: HashMap::new(),
            known_starts: HashMap::new(),
            open_parts: Vec::new(),
            free_indices: Vec::new(),
            next_records: BinaryHeap::new(),
            current: None,
            run_len: 0,
            drop_limit: None,
            buffered_bytes: 0,
            budget,
            damage: Vec::new(),
            last_time: Timestamp::MIN,
            spare_blocks: Vec::new(),
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
        let index = match (self.run_len, self.current) {
            (2.., Some((index, _))) => {
                self.advance(1);
                self.run_len -= 1;
                index
            }
            (run_len, _) => {
                self.skip_records(run_len.min(1));
                self.run_len = 0;
                self.release();
                let Some(index) = self.find_next()? else { return Ok(None) };
                let limit = self.current.and_then(|(_, limit)| limit);
                self.run_len = self.open_parts[index]
                    .as_ref()
                    .map_or(0, |open_part| open_part.run_len(limit));
                index
            }
        };
        let Some(open_part) = &self.open_parts[index] else { return Ok(None) };
        let log = self.parts[open_part.rank as usize].0;
        Ok(open_part.record().map(|record| (log, record)))
    }

    /// Returns the damage found since the last call, with the index of the log.
    pub fn take_damage(&mut self) -> Vec<(usize, Damage)> {
        mem::take(&mut self.damage)
    }

    /// Makes the open part with the earliest record the current one, and returns its
    /// index, or `None` at the end of all logs.
    fn find_next(&mut self) -> Result<Option<usize>> {
        loop {
            if let Some((index, limit)) = self.current {
                match self.open_parts[index].as_ref().and_then(OpenPart::key) {
                    Some(key) if limit.is_none_or(|limit| key < limit) => {
                        return Ok(Some(index));
                    }
                    Some(key) => self.next_records.push(Reverse((key, index))),
                    None => self.close(index),
                }
                self.current = None;
            }
            let first = self.next_records.peek().map(|Reverse((key, _))| *key);
            let is_not_reached =
                |drop_limit: &RecordKey| first.is_some_and(|first| first < *drop_limit);
            self.drop_limit = self.drop_limit.filter(is_not_reached);
            let waiting_key = self.waiting_key();
            let is_before = |key: RecordKey, other: Option<RecordKey>| {
                other.is_none_or(|other| key < other)
            };
            if let Some(key) = waiting_key
                && is_before(key, first)
                && is_before(key, self.drop_limit)
            {
                self.open(key)?;
            } else if let Some(Reverse((_, index))) = self.next_records.pop() {
                let next_key = self.next_records.peek().map(|Reverse((key, _))| *key);
                let limit = next_key.into_iter().chain(waiting_key).min();
                self.current = Some((index, limit));
            } else {
                return Ok(None);
            }
        }
    }

    /// Returns the position at which the next part must be opened.
    fn waiting_key(&self) -> Option<RecordKey> {
        let first = self.waiting_keys.as_slice().first().copied();
        let first_paused = self.paused_keys.peek().map(|Reverse(key)| *key);
        first.into_iter().chain(first_paused).min()
    }

    /// Closes the part with this index, which is at its end.
    fn close(&mut self, index: usize) {
        let Some(open_part) = self.open_parts[index].take() else { return };
        self.free_indices.push(index);
        self.buffered_bytes -= self.budgeted_bytes(&open_part);
        self.paused_keys.extend(open_part.first_dropped().map(Reverse));
        let (log, part) = &self.parts[open_part.rank as usize];
        self.closed.push((*log, part.bytes.clone()));
        open_part.into_blocks().for_each(|block| self.recycle_shared(block));
    }

    /// Skips `count` records of the current part, which are in one block. Returns the
    /// block if it is no longer needed.
    fn advance(&mut self, count: usize) -> Option<Arc<Block>> {
        let open_part = self.open_parts[self.current?.0].as_mut()?;
        if let Some(time) = open_part.time(count.saturating_sub(1)) {
            self.last_time = time;
        }
        let old_bytes = open_part.memory_bytes();
        let block = open_part.advance(count);
        if !open_part.is_segment {
            self.buffered_bytes -= old_bytes - open_part.memory_bytes();
        }
        block
    }

    /// Skips `count` records of the current part, which are in one block.
    fn skip_records(&mut self, count: usize) {
        if let Some(block) = self.advance(count) {
            self.recycle_shared(block);
        }
    }

    /// Releases the bytes of closed parts.
    fn release(&mut self) {
        for (log, bytes) in self.closed.drain(..) {
            self.logs[log].0.source().release(bytes);
        }
    }

    /// Reuses the memory of a block, unless it is still shared.
    fn recycle_shared(&mut self, block: Arc<Block>) {
        if let Some(block) = Arc::into_inner(block) {
            self.recycle(block);
        }
    }

    /// Keeps `block` for reuse, unless there are enough blocks or it is large.
    fn recycle(&mut self, block: Block) {
        if self.spare_blocks.len() < MAX_SPARE_BLOCKS && !block.is_long_copy() {
            self.spare_blocks.push(block);
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
