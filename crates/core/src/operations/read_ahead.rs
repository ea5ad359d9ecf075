//! Reading parts in advance on all processors, for a caller that needs the records in
//! order.

mod block_pool;
mod encoding_cursor;
mod slot;

use std::{collections::VecDeque, fmt, mem, sync::Arc, vec};

use crate::{
    error::Result,
    log::{Cursor, Log},
    model::manifest::{Part, Selection},
    operations::read_ahead::{
        block_pool::{BlockPool, MAX_COPY_BYTES, SHORT_BYTES},
        encoding_cursor::Encoding,
        slot::Slot,
    },
    record::block::Block,
    sink::Encoder,
};

/// The number of parts that are prefetched in addition to one per reading thread, so that
/// one slow part does not stall the pipeline.
const ADDITIONAL_PARTS: usize = 3;
/// If a part takes this much memory, only one additional part is prefetched.
const LARGE_PART_BYTES: usize = 8 << 20;
/// Further parts are prefetched while together they take less memory than this.
const FURTHER_PARTS_BYTES: usize = 512 << 10;
/// Consecutive parts are read as one up to this size, if few of their records are
/// selected.
const MAX_JOINED_BYTES: u64 = 64 << 20;

/// Reads the parts of a plan in order, while other threads of the current rayon pool
/// already decompress the next ones.
///
/// A few parts are in memory at a time: three more than the number of reading threads,
/// which are those of the pool and the caller. It is only one more if the parts take a
/// lot of memory, and more parts if few of their records are selected. Of each part, at
/// most about 8 MiB or one longer block are kept. A caller never waits for a task that
/// has not started: it reads the part itself. In a pool of one thread, the caller reads
/// everything.
///
/// The bytes of each part are [released](crate::Source::release) after it was read.
///
/// ```
/// use logtool_core::{Block, Cursor as _, Log, ReadAhead, Result, Selection};
///
/// /// Counts the bytes of all payloads in a log, decompressed on all processors.
/// fn payload_bytes(log: &dyn Log) -> Result<usize> {
///     let everything = Selection::default();
///     let plan = log.manifest().plan(&everything, 1 << 20);
///     let mut ahead = ReadAhead::new(log, plan, everything);
///     let (mut total, mut block) = (0, Block::default());
///     while ahead.fill(&mut block)? {
///         total += block.iter().map(|record| record.payload.len()).sum::<usize>();
///     }
///     Ok(total)
/// }
/// ```
pub struct ReadAhead<'l> {
    logs: Vec<(&'l dyn Log, Selection)>,
    /// The parts that are not started, each with the index of its log.
    plan: vec::IntoIter<(usize, Part)>,
    /// The started parts. The first one is currently read by the caller.
    started: VecDeque<StartedPart>,
    /// Blocks for reuse.
    pool: Arc<BlockPool>,
    /// The maximum number of started parts.
    width: usize,
    /// The maximum number of started parts if they take little memory, e.g. because few
    /// of their records are selected.
    max_started: usize,
    /// The memory of the blocks returned from the current part, the memory of the previous
    /// part (or the maximum if there is none), and the length of the previous part in bytes.
    current_part_memory: usize,
    previous_part_memory: usize,
    previous_part_len: u64,
    /// The number of parts that have ended and were not reported to the caller.
    unreported_ends: usize,
    /// Whether parts are released after they were read.
    releases_parts: bool,
    /// The encoder of the records, if there is one.
    encoding: Option<Encoding>,
}

/// A started part, or several consecutive ones that are read together.
struct StartedPart {
    log: usize,
    part: Part,
    /// The number of parts of the plan.
    count: usize,
    slot: Arc<Slot>,
}

impl<'l> ReadAhead<'l> {
    /// Reads the selected records of `plan`, which contains parts of `log` in any order.
    pub fn new(log: &'l dyn Log, plan: Vec<Part>, selection: Selection) -> Self {
        let plan = plan.into_iter().map(|part| (0, part)).collect();
        let read_ahead = Self::for_logs(vec![(log, selection)], plan);
        let max_started = if read_ahead.width > 1 { 3 * read_ahead.width } else { 1 };
        Self { releases_parts: true, max_started, ..read_ahead }
    }

    /// Copies the records of sparse blocks into fewer blocks, for a caller that selects
    /// few records. Then the block boundaries differ, and consecutive parts with few
    /// selected records are read as one, so that an error in one of them ends all of
    /// them. In a pool of one thread, each part is still read separately.
    #[must_use]
    pub fn with_compaction(mut self) -> Self {
        if let Some(pool) = Arc::get_mut(&mut self.pool) {
            // No thread reads yet. With one thread, there is no other thread to notify.
            let short_bytes = if self.width > 1 { SHORT_BYTES } else { 0 };
            pool.compacts_below = Some(short_bytes);
        }
        self
    }

    /// Lets the reading threads [encode](Block::encoded) the records, which belong to the
    /// slice with the index `slice_index`.
    #[must_use]
    pub(crate) fn encoding(
        self,
        encoder: Arc<dyn Encoder>,
        slice_index: usize,
    ) -> Self {
        Self { encoding: Some(Encoding(encoder, slice_index)), ..self }
    }

    /// Reads parts of several logs. The plan contains the index of the log for each part.
    /// The parts are not released.
    pub(crate) fn for_logs(
        logs: Vec<(&'l dyn Log, Selection)>,
        plan: Vec<(usize, Part)>,
    ) -> Self {
        let width = match (rayon::current_num_threads(), rayon::current_thread_index())
        {
            (1, _) => 1,
            (threads, Some(_)) => threads + ADDITIONAL_PARTS,
            (threads, None) => threads + 1 + ADDITIONAL_PARTS,
        };
        Self {
            logs,
            plan: plan.into_iter(),
            started: VecDeque::new(),
            pool: Arc::new(BlockPool::new(3 * width)),
            width,
            max_started: width,
            current_part_memory: 0,
            previous_part_memory: usize::MAX,
            previous_part_len: 0,
            unreported_ends: 0,
            releases_parts: false,
            encoding: None,
        }
    }

    /// Refills `block` with the next records of the current part, or returns false at its
    /// end. The next call then continues with the next part.
    ///
    /// So everything was read after it returned false once per part of the plan. An error
    /// concerns only the current part, and the next call continues with the next part.
    ///
    /// # Errors
    /// Errors of reading the source.
    pub fn fill_part(&mut self, block: &mut Block) -> Result<bool> {
        if self.unreported_ends > 0 {
            self.unreported_ends -= 1;
            return Ok(false);
        }
        self.start_parts();
        let Some(StartedPart { slot, .. }) = self.started.front() else {
            return Ok(false);
        };
        // While another thread reads this part, help with the others.
        let later_parts = || self.started.iter().skip(1);
        while slot.is_awaited()
            && later_parts().any(|later| later.slot.read_ahead(&self.pool))
        {}
        let filled = slot.fill(block, &self.pool);
        if let Ok(true) = filled {
            self.current_part_memory =
                self.current_part_memory.saturating_add(block.memory_bytes());
            return filled;
        }
        self.previous_part_memory = mem::take(&mut self.current_part_memory);
        if let Some(StartedPart { log, part, count, .. }) = self.started.pop_front() {
            self.previous_part_len = part.bytes.end - part.bytes.start;
            self.unreported_ends = count - 1;
            if self.releases_parts {
                self.logs[log].0.source().release(part.bytes);
            }
        }
        filled
    }

    /// Skips the rest of the current part, without starting another one. This is for
    /// parts that are copied verbatim.
    pub fn skip_part(&mut self) {
        if self.started.pop_front().is_none() {
            self.plan.next();
        }
    }

    /// Returns whether all parts were read.
    pub fn is_done(&self) -> bool {
        self.unreported_ends == 0
            && self.started.is_empty()
            && self.plan.as_slice().is_empty()
    }

    /// Returns the maximum number of started parts, assuming that they are similar to the
    /// previous one.
    fn current_width(&self) -> usize {
        let is_known = self.previous_part_memory < usize::MAX;
        if self.width > ADDITIONAL_PARTS
            && is_known
            && self.previous_part_memory >= LARGE_PART_BYTES
        {
            return self.width - ADDITIONAL_PARTS + 1;
        }
        let further_parts = FURTHER_PARTS_BYTES / self.previous_part_memory.max(1);
        self.width.saturating_add(further_parts).min(self.max_started)
    }

    /// Removes the next part from the plan, together with the following ones if sparse
    /// blocks are compacted and the previous part had few selected records. Returns the
    /// joined part and the number of parts.
    fn next_part(&mut self) -> Option<(usize, Part, usize)> {
        let (log, mut part) = self.plan.next()?;
        let mut count = 1;
        // The number of parts like the previous one whose records fit in one block of copies.
        let fitting_parts = (MAX_COPY_BYTES / self.previous_part_memory.max(1)) as u64;
        let target = self
            .previous_part_len
            .saturating_mul(fitting_parts.min(2))
            .min(MAX_JOINED_BYTES);
        while self.pool.compacts_below.is_some()
            && self.width > 1
            && let Some((other, next)) = self.plan.as_slice().first()
            && *other == log
            && part.can_join(next, target)
        {
            part = part.extended_by(next.clone());
            self.plan.next();
            count += 1;
        }
        Some((log, part, count))
    }

    /// Starts as many parts as allowed.
    fn start_parts(&mut self) {
        while self.started.len() < self.current_width()
            && let Some((log, part, count)) = self.next_part()
        {
            let (log_to_read, selection) = &self.logs[log];
            let mut cursor = log_to_read.read(&part, selection);
            if let Some(encoding) = &self.encoding {
                cursor = cursor.map(|cursor| encoding.encode_cursor(cursor));
            }
            let slot = Arc::new(Slot::new(cursor));
            if self.width > 1 {
                let (slot, pool) = (slot.clone(), self.pool.clone());
                rayon::spawn(move || {
                    slot.read_ahead(&pool);
                });
            }
            self.started.push_back(StartedPart { log, part, count, slot });
        }
    }
}

impl Cursor for ReadAhead<'_> {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        while !self.is_done() {
            if self.fill_part(block)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl fmt::Debug for ReadAhead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead")
            .field("started", &self.started.len())
            .field("remaining", &self.plan.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
