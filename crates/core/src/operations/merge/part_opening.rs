//! Opening parts: completely, or segment by segment if that would take too much memory.
//!
//! A part from which records were dropped has been read to its end once, so the start
//! times of its blocks are known. It is read a second time, each time only as far as the
//! merge requires.

use std::cmp::Reverse;

use crate::{
    error::Result,
    log::Cursor,
    model::{
        damage::{Damage, DamageKind},
        time::Timestamp,
    },
    operations::merge::{Merge, RecordKey, open_part::OpenPart},
};

/// A segment takes one in this number of bytes of the budget.
const SEGMENT_DIVISOR: usize = 16;
/// The maximum number of paused parts. Of more parts, the shortest are read again from
/// their start. The cursor of a part can use a lot of memory, and all parts may overlap.
pub(super) const MAX_PAUSED_PARTS: usize = 16;
/// The reason that is reported if the first records of a part come too late.
const LATE_FIRST_RECORDS: &str = "the log declares that this part begins later than it does, so that its first \
                    records come after later ones";

/// A part that is continued when the merge reaches the start of its remaining records.
pub(super) struct PausedPart {
    reader: Box<dyn Cursor>,
    /// Records before this position were returned when the part was open earlier.
    start: RecordKey,
}

/// The start times of the blocks of a part, each with the index of the first record after
/// the block.
type BlockStarts = Vec<(u64, Timestamp)>;

/// The block starts of a part from which records were dropped.
pub(super) enum KnownStarts {
    /// The start times of the records in each block and all later ones.
    BlockStarts(BlockStarts),
    /// The start times are not useful, because late blocks start early. The records from
    /// this index on are read and dropped as often as necessary.
    Mixed(u64),
}

impl Merge<'_> {
    /// Opens or continues the part at the position `key`.
    pub(super) fn open(&mut self, key: RecordKey) -> Result<()> {
        let (_, rank, first_index) = key;
        let is_opened_first = self.waiting_keys.as_slice().first() == Some(&key);
        let (log_index, part) = &self.parts[rank as usize];
        let (log_index, bytes) = (*log_index, part.bytes.clone());
        let (mut reader, mut open_part) = if is_opened_first {
            self.waiting_keys.next();
            (None, OpenPart::new(rank, None, self.drop_limit))
        } else {
            self.paused_keys.pop();
            let (reader, open_part) = match self.paused.remove(&rank) {
                Some(PausedPart { reader, start }) => {
                    (reader, OpenPart::segment(rank, first_index, start))
                }
                None => {
                    let (log, selection) = &self.logs[log_index];
                    let open_part = match self.known_starts.get(&rank) {
                        Some(KnownStarts::BlockStarts(_)) => {
                            OpenPart::segment(rank, 0, key)
                        }
                        Some(KnownStarts::Mixed(first_index)) => {
                            OpenPart::new(rank, Some(key), self.drop_limit)
                                .starting_at(*first_index)
                        }
                        None => OpenPart::new(rank, Some(key), self.drop_limit),
                    };
                    (log.read(part, selection)?, open_part)
                }
            };
            (Some(reader), open_part)
        };
        self.buffered_bytes += self.budgeted_bytes(&open_part);
        let mut block_starts = BlockStarts::new();
        loop {
            let mut block = self.spare_blocks.pop().unwrap_or_default();
            let has_more = match &mut reader {
                Some(reader) => reader.fill(&mut block)?,
                None => self.read_ahead.fill_part(&mut block)?,
            };
            if !has_more {
                break;
            }
            let damage = block.take_damage();
            let start = block.entries().iter().map(|entry| entry.time).min();
            let added_bytes = open_part.add(block);
            if is_opened_first {
                self.damage
                    .extend(damage.into_iter().map(|damage| (log_index, damage)));
                block_starts.extend(start.map(|start| (open_part.read_count(), start)));
            }
            if !open_part.is_segment {
                self.buffered_bytes += added_bytes;
                if self.buffered_bytes > self.budget {
                    self.shrink_parts(&mut open_part);
                }
            } else if self.segment_bytes() + open_part.memory_bytes() >= self.budget / 2
            {
                // If segments start early and end late, or are whole parts, many are open
                // at a time.
                self.known_starts
                    .insert(rank, KnownStarts::Mixed(open_part.first_index()));
                open_part.is_segment = false;
                self.buffered_bytes += open_part.memory_bytes();
                self.shrink_parts(&mut open_part);
            } else if open_part.memory_bytes() >= self.budget / SEGMENT_DIVISOR
                && let Some(start) = self.next_start(rank, open_part.read_count())
                && open_part.kept_times().start < start
                && let (Some(reader), Some(resume_key)) =
                    (reader.take(), open_part.start())
            {
                self.pause(rank, PausedPart { reader, start: resume_key });
                self.paused_keys.push(Reverse((start, rank, open_part.read_count())));
                break;
            }
        }
        open_part.finish();
        if is_opened_first
            && open_part.key().is_some_and(|(time, ..)| time < self.last_time)
        {
            let late = Damage::new(DamageKind::Doubtful, bytes);
            self.damage.push((log_index, late.with_reason(LATE_FIRST_RECORDS)));
        }
        if is_opened_first && open_part.first_dropped().is_some() {
            let mut earliest = Timestamp::MAX;
            for (_, start) in block_starts.iter_mut().rev() {
                earliest = earliest.min(*start);
                *start = earliest;
            }
            self.known_starts.insert(rank, KnownStarts::BlockStarts(block_starts));
        }
        self.insert(open_part);
        Ok(())
    }

    /// Keeps the reader of the part `rank`, up to a maximum number of readers.
    fn pause(&mut self, rank: u32, paused: PausedPart) {
        self.paused.insert(rank, paused);
        if self.paused.len() > MAX_PAUSED_PARTS {
            let length = |rank: u32| {
                let bytes = &self.parts[rank as usize].1.bytes;
                bytes.end - bytes.start
            };
            let ranks = self.paused.keys().copied();
            let shortest = ranks.min_by_key(|rank| (length(*rank), *rank));
            if let Some(rank) = shortest {
                self.paused.remove(&rank);
            }
        }
    }

    /// Returns the memory of the open segments in bytes.
    fn segment_bytes(&self) -> usize {
        let open_parts = self.open_parts.iter().flatten();
        open_parts
            .filter(|open_part| open_part.is_segment)
            .map(OpenPart::memory_bytes)
            .sum()
    }

    /// Returns the start time of the records of the part `rank` from `first_index` on,
    /// if it is known and there are any.
    fn next_start(&self, rank: u32, first_index: u64) -> Option<Timestamp> {
        let Some(KnownStarts::BlockStarts(block_starts)) = self.known_starts.get(&rank)
        else {
            return None;
        };
        let block = block_starts.partition_point(|(end, _)| *end <= first_index);
        block_starts.get(block).map(|(_, start)| *start)
    }

    /// Adds `open_part` to the open parts.
    fn insert(&mut self, open_part: OpenPart) {
        let index = self.free_indices.pop().unwrap_or_else(|| {
            self.open_parts.push(None);
            self.open_parts.len() - 1
        });
        let key = open_part.key();
        self.open_parts[index] = Some(open_part);
        match key {
            Some(key) => self.next_records.push(Reverse((key, index))),
            None => self.close(index),
        }
    }

    /// Returns the memory that counts towards the budget. Segments have their own limit.
    pub(super) fn budgeted_bytes(&self, open_part: &OpenPart) -> usize {
        if open_part.is_segment { 0 } else { open_part.memory_bytes() }
    }

    /// Drops the latest records of all open parts and of the one that is being opened, so
    /// that about half of the budget is free.
    fn shrink_parts(&mut self, opening: &mut OpenPart) {
        let mut record_bytes: Vec<(RecordKey, usize)> = Vec::new();
        let open_parts = self.open_parts.iter().flatten().chain([&*opening]);
        for open_part in open_parts.filter(|open_part| !open_part.is_segment) {
            record_bytes.extend(open_part.record_bytes());
        }
        record_bytes.sort_unstable();
        let mut kept_bytes = 0;
        let fits_in_budget = |(_, bytes): &&(RecordKey, usize)| {
            kept_bytes += bytes;
            kept_bytes <= self.budget / 2
        };
        let kept_count = record_bytes.iter().take_while(fits_in_budget).count().max(1);
        if let Some((drop_limit, _)) = record_bytes.get(kept_count) {
            self.drop_limit = Some(*drop_limit);
        }
        drop(record_bytes);
        self.buffered_bytes = 0;
        let open_parts = self.open_parts.iter_mut().flatten().chain([opening]);
        for open_part in open_parts.filter(|open_part| !open_part.is_segment) {
            self.buffered_bytes += open_part.drop_from(self.drop_limit);
        }
    }
}
