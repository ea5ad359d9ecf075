//! Reading one log in the order of time, block by block.

use std::{fmt, mem, sync::Arc};

use crate::{
    error::{Error, Result},
    log::{Cursor, Log},
    model::manifest::Selection,
    operations::merge::Merge,
    record::block::{Block, RecordCopies},
};

/// A cursor over one log in the order of time: a [`Merge`] of one log.
///
/// Consecutive records are returned in the blocks of the file or share their bytes. Where
/// records of several parts alternate, they are copied.
pub struct TimeOrder<'l> {
    merge: Merge<'l>,
    /// The error to return after the earlier records.
    pending_error: Option<Error>,
}

/// The number and the size in bytes from which on a run of records is not copied.
const LONG_RUN_RECORDS: usize = 64;
const LONG_RUN_BYTES: usize = 64 << 10;
/// The approximate maximum size of a block of copies in bytes, and its maximum number of
/// records.
const MAX_COPY_BYTES: usize = 1 << 20;
const MAX_COPY_RECORDS: usize = 1 << 14;

impl<'l> TimeOrder<'l> {
    /// Creates a cursor over the selected records of `log`.
    pub fn new(log: &'l dyn Log, selection: Selection) -> Self {
        Merge::new(vec![(log, selection)]).into()
    }

    /// Refills `block`. Returns false at the end.
    fn refill(&mut self, block: &mut Block) -> Result<bool> {
        self.merge.release();
        let mut copies = None::<RecordCopies>;
        loop {
            let next = match self.merge.find_next() {
                Err(err) if copies.is_some() => {
                    self.pending_error = Some(err);
                    None
                }
                next => next?,
            };
            let Some(index) = next else {
                let has_copies = copies.is_some();
                copies.unwrap_or_else(|| RecordCopies::new(block)).finish(block);
                return Ok(has_copies);
            };
            let run = self.next_run(index);
            match &mut copies {
                None if run.is_long => {
                    self.forward(index, run.count, block);
                    return Ok(true);
                }
                Some(_) if run.is_long => break,
                copies => {
                    let copies = copies.get_or_insert_with(|| RecordCopies::new(block));
                    self.copy(index, run.count, copies);
                    if copies.byte_len() >= MAX_COPY_BYTES
                        || copies.record_count() >= MAX_COPY_RECORDS
                    {
                        break;
                    }
                }
            }
        }
        if let Some(copies) = copies {
            copies.finish(block);
        }
        Ok(true)
    }

    /// Returns the next consecutive records of the current part.
    fn next_run(&self, index: usize) -> MergedRun {
        let limit = self.merge.current.and_then(|(_, limit)| limit);
        let open_part = self.merge.open_parts[index].as_ref();
        let count = open_part.map_or(0, |open_part| open_part.run_len(limit));
        let entries = open_part
            .and_then(|open_part| open_part.block(count.min(LONG_RUN_RECORDS)));
        let bytes = entries.map_or(0, |(_, entries)| {
            entries.map(|entry| (entry.end - entry.start) as usize).sum()
        });
        MergedRun {
            count,
            is_long: count >= LONG_RUN_RECORDS || bytes >= LONG_RUN_BYTES,
        }
    }

    /// Returns the next `count` records of the current part as a block without copying
    /// them.
    fn forward(&mut self, index: usize, count: usize, block: &mut Block) {
        let open_part = self.merge.open_parts[index].as_ref();
        let next = match open_part.filter(|open_part| !open_part.is_block(count)) {
            Some(open_part) => {
                let mut next = self.merge.spare_blocks.pop().unwrap_or_default();
                if let Some((source, entries)) = open_part.block(count) {
                    next.share_records(source, entries.copied());
                }
                self.merge.skip_records(count);
                next
            }
            None => {
                self.merge.advance(count).map(Arc::unwrap_or_clone).unwrap_or_default()
            }
        };
        self.merge.recycle(mem::replace(block, next));
    }

    /// Copies the next `count` records of the current part.
    fn copy(&mut self, index: usize, count: usize, copies: &mut RecordCopies) {
        let open_part = self.merge.open_parts[index].as_ref();
        if let Some((source, entries)) =
            open_part.and_then(|open_part| open_part.block(count))
        {
            entries.for_each(|entry| copies.add(source, entry));
        }
        self.merge.skip_records(count);
    }
}

/// Consecutive records in one block.
struct MergedRun {
    count: usize,
    /// Whether they are too long to be copied.
    is_long: bool,
}

impl<'l> From<Merge<'l>> for TimeOrder<'l> {
    /// Continues at the position of `merge`, which must have one log.
    fn from(mut merge: Merge<'l>) -> Self {
        // Records that it already returned are skipped.
        merge.advance(merge.run_len.min(1));
        merge.run_len = 0;
        Self { merge, pending_error: None }
    }
}

impl Cursor for TimeOrder<'_> {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        if let Some(err) = self.pending_error.take() {
            return Err(err);
        }
        let has_records = self.refill(block)?;
        let damage = self.merge.take_damage();
        let is_damaged = !damage.is_empty();
        damage.into_iter().for_each(|(_, damage)| block.report(damage));
        Ok(has_records || is_damaged)
    }
}

impl fmt::Debug for TimeOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeOrder").field("merge", &self.merge).finish_non_exhaustive()
    }
}
