//! Reading parts on all processors, ahead of who wants their records in order.

mod block_pool;
mod encoding_cursor;
mod slot;

use std::{collections::VecDeque, fmt, mem, sync::Arc, vec};

use crate::{
    error::Result,
    log::{Cursor, Log},
    model::manifest::{Part, Selection},
    operations::read_ahead::{
        block_pool::{GATHERED, SHORT, Spare},
        encoding_cursor::Encoding,
        slot::Slot,
    },
    record::block::Block,
    sink::Encoder,
};

/// So many parts more are begun than there are threads that read: who takes longer for one than
/// for others finds the next ones read.
const MORE: usize = 3;
/// But only one more, if the part before took so much memory.
const MUCH: usize = 8 << 20;
/// More parts are begun if they take less memory than this together.
const LITTLE: usize = 512 << 10;
/// Parts in a row are read as one that is so long at most, if little is wanted of them.
const JOINED: u64 = 64 << 20;

/// Reads the parts of a plan in their order, while the next ones are already unpacked
/// by the other threads of the current rayon pool.
///
/// A few parts are in memory at a time, three more than there are threads that read (those
/// of the pool, and the caller if it is none of them), one more if they take much memory, or
/// some more of which little is wanted, and of each no more than some 8 MiB, or a block if that
/// is longer. Nobody waits for what nobody has begun: whatever else the pool does, the caller
/// then reads the part itself. In a pool of one thread the caller reads everything.
///
/// What was read is [released](crate::Source::release) part by part.
///
/// ```
/// use logtool_core::{Block, Cursor as _, Log, ReadAhead, Result, Selection};
///
/// /// The bytes of payload in a log, unpacked on all processors.
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
    /// The parts that are not begun, each with the index of its log.
    plan: vec::IntoIter<(usize, Part)>,
    /// Those that are; the one that is being read is the first.
    begun: VecDeque<Begun>,
    /// Blocks that nobody uses.
    spare: Arc<Spare>,
    /// How many parts may be begun.
    width: usize,
    /// And how many if they take little memory, as what few records are wanted of does.
    most: usize,
    /// How much what was taken of the first part takes, and what all of the one before took;
    /// and how long that was.
    taken: usize,
    before: usize,
    len: u64,
    /// How many parts of the plan have ended of which nobody was told.
    ended: usize,
    /// Whether parts are released when they are read.
    releases: bool,
    /// What encodes the records, if something does.
    encoding: Option<Encoding>,
}

/// A part that is begun, or some in a row.
struct Begun {
    log: usize,
    part: Part,
    /// How many of the plan it is.
    count: usize,
    slot: Arc<Slot>,
}

impl<'l> ReadAhead<'l> {
    /// Reads what `selection` wants of `plan`, which are parts of `log` in any order.
    pub fn new(log: &'l dyn Log, plan: Vec<Part>, selection: Selection) -> Self {
        let plan = plan.into_iter().map(|part| (0, part)).collect();
        let ahead = Self::of_logs(vec![(log, selection)], plan);
        let most = if ahead.width > 1 { 3 * ahead.width } else { 1 };
        Self { releases: true, most, ..ahead }
    }

    /// The same, with copies of the records of which little is wanted nearby: who wants few of
    /// many then gets many at a time. Where blocks begin and end is another matter then, and
    /// parts of which little is wanted are read as one with those behind them, which an error
    /// ends as well; but in a pool of one thread, which gives what there is of each part by
    /// itself.
    #[must_use]
    pub fn gathering(mut self) -> Self {
        if let Some(spare) = Arc::get_mut(&mut self.spare) {
            // Nobody reads yet; and who is alone wakes nobody.
            let short = if self.width > 1 { SHORT } else { 0 };
            spare.gathers = Some(short);
        }
        self
    }

    /// The same, with the records [encoded](Block::encoded) by whoever reads them; they are of the
    /// extract with the index `from`.
    #[must_use]
    pub(crate) fn encoding(self, encoder: Arc<dyn Encoder>, from: usize) -> Self {
        Self { encoding: Some(Encoding(encoder, from)), ..self }
    }

    /// The same of several logs, of which the parts name the index; they are not
    /// released.
    pub(crate) fn of_logs(
        logs: Vec<(&'l dyn Log, Selection)>,
        plan: Vec<(usize, Part)>,
    ) -> Self {
        let width = match (rayon::current_num_threads(), rayon::current_thread_index())
        {
            (1, _) => 1,
            (threads, Some(_)) => threads + MORE,
            (threads, None) => threads + 1 + MORE,
        };
        let (plan, spare) = (plan.into_iter(), Arc::new(Spare::new(3 * width)));
        let begun = VecDeque::new();
        let (most, taken, before) = (width, 0, usize::MAX);
        let (len, ended, releases) = (0, 0, false);
        Self {
            logs,
            plan,
            begun,
            spare,
            width,
            most,
            taken,
            before,
            len,
            ended,
            releases,
            encoding: None,
        }
    }

    /// Refills `block` with the next records of one part, or says that it is at its
    /// end. The next call is for the next part of the plan.
    ///
    /// So, after as many times `false` as the plan has parts, all is read. An error is
    /// one of that part; whoever goes on after it is given the next.
    pub fn fill_part(&mut self, block: &mut Block) -> Result<bool> {
        if self.ended > 0 {
            self.ended -= 1;
            return Ok(false);
        }
        self.begin();
        let Some(Begun { slot, .. }) = self.begun.front() else { return Ok(false) };
        // While somebody else is at it, help with the others.
        let others = || self.begun.iter().skip(1);
        while slot.is_awaited() && others().any(|one| one.slot.read_ahead(&self.spare))
        {
        }
        let filled = slot.fill(block, &self.spare);
        match filled {
            Ok(true) => self.taken = self.taken.saturating_add(block.cost()),
            _ => self.before = mem::take(&mut self.taken),
        }
        if !matches!(filled, Ok(true))
            && let Some(Begun { log, part, count, .. }) = self.begun.pop_front()
        {
            (self.len, self.ended) = (part.bytes.end - part.bytes.start, count - 1);
            if self.releases {
                self.logs[log].0.source().release(part.bytes);
            }
        }
        filled
    }

    /// Passes over the rest of one part, and begins no other before that is asked for:
    /// for parts that are not read but copied as they are.
    pub fn skip_part(&mut self) {
        if self.begun.pop_front().is_none() {
            self.plan.next();
        }
    }

    /// Whether all parts are read.
    pub fn is_done(&self) -> bool {
        self.ended == 0 && self.begun.is_empty() && self.plan.as_slice().is_empty()
    }

    /// How many parts may be begun, if they are like the last one.
    fn width(&self) -> usize {
        let is_known = self.before < usize::MAX;
        if self.width > MORE && is_known && self.before >= MUCH {
            return self.width - MORE + 1;
        }
        let light = LITTLE / self.before.max(1);
        self.width.saturating_add(light).min(self.most)
    }

    /// The next part of the plan, with those behind it while little is wanted of them, if it
    /// gathers: how much that is, the part before shows. And how many they are.
    fn next(&mut self) -> Option<(usize, Part, usize)> {
        let (log, mut part) = self.plan.next()?;
        let mut count = 1;
        let light = (GATHERED / self.before.max(1)) as u64;
        let target = self.len.saturating_mul(light.min(2)).min(JOINED);
        while self.spare.gathers.is_some()
            && self.width > 1
            && let Some((other, next)) = self.plan.as_slice().first()
            && *other == log
            && part.joins(next, target)
        {
            part = part.with(next.clone());
            self.plan.next();
            count += 1;
        }
        Some((log, part, count))
    }

    /// Begins as many parts as may be.
    fn begin(&mut self) {
        while self.begun.len() < self.width()
            && let Some((log, part, count)) = self.next()
        {
            let (from, selection) = &self.logs[log];
            let cursor = from.read(&part, selection);
            let cursor = match &self.encoding {
                Some(encoding) => cursor.map(|cursor| encoding.of(cursor)),
                None => cursor,
            };
            let slot = Arc::new(Slot::new(cursor));
            if self.width > 1 {
                let (slot, spare) = (slot.clone(), self.spare.clone());
                rayon::spawn(move || {
                    slot.read_ahead(&spare);
                });
            }
            self.begun.push_back(Begun { log, part, count, slot });
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
            .field("begun", &self.begun.len())
            .field("left", &self.plan.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
