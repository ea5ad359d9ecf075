//! Several logs in one order of time.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    ahead::ReadAhead,
    block::Block,
    copy::Copied,
    error::Result,
    log::{Cursor as _, Log},
    manifest::Selection,
    sink::RecordSink,
    time::Timestamp,
};

/// A log that is to be merged with others.
#[derive(Clone)]
pub struct MergeJob<'m> {
    /// The log.
    pub log: &'m dyn Log,
    /// The records of it that are wanted.
    pub selection: Selection,
}

/// Copies what `jobs` want, the first being the first [extract](crate::Extract) of
/// `sink`, in the order of time; of records at one time, those of the first log come
/// first. `progress` is told, as it goes, how many more records are done.
///
/// A block of each log is put in order and kept in memory, so the whole is in order
/// wherever no record of a log is written more than a block too late.
///
/// # Errors
/// Whatever ends the reading or the writing; damage does not.
pub fn merge(
    jobs: &[MergeJob<'_>],
    sink: &mut dyn RecordSink,
    progress: &dyn Fn(u64),
) -> Result<Vec<Copied>> {
    let mut lanes: Vec<Lane<'_>> = jobs.iter().map(Lane::new).collect();
    let mut next: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    for (index, lane) in lanes.iter_mut().enumerate() {
        next.extend(lane.peek(progress)?.map(|time| Reverse((time, index))));
    }
    while let Some(Reverse((_, index))) = next.pop() {
        let Some(lane) = lanes.get_mut(index) else { continue };
        // As long as no other is earlier, this one goes on.
        let until = next.peek().map(|Reverse(until)| *until);
        while let Some(time) = lane.peek(progress)? {
            if until.is_some_and(|until| (time, index) > until) {
                next.push(Reverse((time, index)));
                break;
            }
            lane.write(index, sink)?;
        }
    }
    Ok(lanes.into_iter().map(|lane| lane.copied).collect())
}

/// The way of one log's records.
struct Lane<'m> {
    ahead: ReadAhead<'m>,
    block: Block,
    index: usize,
    copied: Copied,
}

impl<'m> Lane<'m> {
    fn new(job: &MergeJob<'m>) -> Self {
        let plan = job.log.manifest().plan(&job.selection, 0);
        Self {
            ahead: ReadAhead::new(job.log, plan, job.selection.clone()),
            block: Block::default(),
            index: 0,
            copied: Copied::default(),
        }
    }

    /// When the next record is, if there is one.
    fn peek(&mut self, progress: &dyn Fn(u64)) -> Result<Option<Timestamp>> {
        loop {
            if let Some(record) = self.block.get(self.index) {
                return Ok(Some(record.time));
            }
            progress(self.block.len() as u64);
            if !self.ahead.fill(&mut self.block)? {
                (self.block, self.index) = (Block::default(), 0);
                return Ok(None);
            }
            self.copied.damage.extend_from_slice(self.block.damage());
            self.block.sort_by_time();
            self.index = 0;
        }
    }

    fn write(&mut self, from: usize, sink: &mut dyn RecordSink) -> Result<()> {
        if let Some(record) = self.block.get(self.index) {
            sink.write(from, record)?;
            self.copied.records += 1;
        }
        self.index += 1;
        Ok(())
    }
}

impl std::fmt::Debug for MergeJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeJob")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
