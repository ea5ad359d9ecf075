//! Copying records of one log to another, as whole parts where possible.

mod latched_records;
mod merge_logs;
#[cfg(test)]
mod tests;
mod time_from_field;
mod verify;

use crate::{
    error::Result,
    log::Log,
    model::{
        damage::{Damage, DamageKind},
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::{TopicOrigin, TopicSet},
    },
    operations::read_ahead::ReadAhead,
    record::{
        block::{Block, Record},
        doubtful_records::DoubtfulRecords,
    },
    sink::RecordSink,
};

pub use self::{
    latched_records::{LatchedRecord, latched_records},
    merge_logs::{MergeJob, merge},
    time_from_field::TimeFromField,
};

/// The log and the records to copy, and how.
#[derive(Clone)]
pub struct CopyJob<'c> {
    /// The log to copy from.
    pub log: &'c dyn Log,
    /// The index of its [slice](crate::LogSlice) in the sink.
    pub slice_index: usize,
    /// The selected records.
    pub selection: Selection,
    /// Whether each part is read before it is copied verbatim, and copied record by
    /// record if it contains damage. Otherwise only parts with known damage are copied
    /// record by record.
    pub verify: bool,
    /// Whether to drop records with a wrong checksum.
    pub drops_doubtful: bool,
    /// Called with the number of further bytes of the log that are done.
    pub progress: &'c dyn Fn(u64),
}

/// The result of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// The number of copied records.
    pub records: u64,
    /// The number of those records in parts that were copied verbatim.
    pub verbatim_records: u64,
    /// All damage, in the order of the file.
    pub damage: Vec<Damage>,
    /// The records that were copied although they do not match their schema. Only known
    /// if the job had [`verify`](CopyJob::verify).
    pub undecodable: Vec<Damage>,
    /// The records with a wrong checksum.
    pub doubtful: Vec<DoubtfulRecords>,
}

/// A source of new timestamps for records.
pub trait Retime {
    /// Appends the new times of the records in `block` to `times`, in the order of the
    /// block.
    ///
    /// # Errors
    /// An error ends the copy.
    fn retime(&mut self, block: &Block, times: &mut Vec<Timestamp>) -> Result<()>;
}

/// Copies the records of `job` to `sink`, in the order of the file. `retime` replaces
/// their times.
///
/// # Errors
/// Errors of reading and writing. Damage is not an error.
pub fn copy<'c>(
    job: &'c CopyJob<'c>,
    retime: Option<&'c mut (dyn Retime + 'c)>,
    sink: &'c mut (dyn RecordSink + 'c),
) -> Result<CopyReport> {
    let mut copying = RunningCopy {
        job,
        retime,
        times: Vec::new(),
        sink,
        copied: CopyReport::default(),
    };
    let manifest = job.log.manifest();
    copying.sink.copy_attachments(job.slice_index, &**job.log.source())?;
    if !job.verify && copying.takes_log()? {
        return Ok(copying.copied);
    }
    let plan = manifest.plan(&job.selection, 0);
    let verbatim_parts = VerbatimParts::new(manifest, &job.selection);
    if job.verify {
        verify::copy(&mut copying, plan, &verbatim_parts)?
    } else {
        copying.parts(plan, &verbatim_parts)?
    }
    let mut copied = copying.copied;
    copied.damage.sort_by_key(|damage| damage.bytes.start);
    copied.undecodable.sort_by_key(|damage| damage.bytes.start);
    Ok(copied)
}

/// A copy in progress.
struct RunningCopy<'c> {
    job: &'c CopyJob<'c>,
    retime: Option<&'c mut (dyn Retime + 'c)>,
    times: Vec<Timestamp>,
    sink: &'c mut (dyn RecordSink + 'c),
    copied: CopyReport,
}

impl RunningCopy<'_> {
    /// Copies the whole file at once, if everything is selected and the sink supports it.
    fn takes_log(&mut self) -> Result<bool> {
        let (manifest, source) = (self.job.log.manifest(), self.job.log.source());
        let is_whole = self.retime.is_none()
            && manifest.damage.is_empty()
            && manifest.selects_everything(&self.job.selection);
        if !is_whole || !self.sink.copy_log(self.job.slice_index, &**source)? {
            return Ok(false);
        }
        let logged = manifest.logged_topics();
        let topics = manifest.topics().filter(|(id, _)| logged.contains(*id));
        self.copied.records = topics.filter_map(|(_, topic)| topic.records).sum();
        self.copied.verbatim_records = self.copied.records;
        (self.job.progress)(manifest.bytes);
        Ok(true)
    }

    /// Copies `plan`: whole parts verbatim if the sink supports it, and records
    /// otherwise.
    fn parts(&mut self, plan: Vec<Part>, verbatim_parts: &VerbatimParts) -> Result<()> {
        let may_take =
            self.retime.is_none() && self.sink.copies_parts(self.job.slice_index);
        let is_whole =
            |part: &Part| may_take && verbatim_parts.is_sound_and_wanted(part);
        let plan: Vec<(Part, bool)> = plan
            .into_iter()
            .map(|part| {
                let is_whole = is_whole(&part);
                (part, is_whole)
            })
            .collect();
        let expected = plan.iter().filter(|(_, is_whole)| *is_whole);
        let expected = expected.map(|(part, _)| part.clone()).collect();
        self.sink.expect_parts(self.job.slice_index, expected, self.job.log.source());
        let mut remaining_parts = plan.as_slice();
        // After each consecutive refusal, twice as many parts are read before the next
        // attempt. This limits failed attempts and keeps reading parallel.
        let mut refused = 0;
        while let Some((part, is_whole)) = remaining_parts.first() {
            if *is_whole {
                if self.copy_part(part)? {
                    remaining_parts = remaining_parts.get(1..).unwrap_or_default();
                    refused = 0;
                    continue;
                }
                refused = (2 * refused).max(1);
            }
            // Up to the next part that the sink is asked to copy.
            let (mut count, mut left) = (0, if *is_whole { refused } else { 0 });
            for (_, is_whole) in remaining_parts {
                if *is_whole {
                    if left == 0 {
                        break;
                    }
                    left -= 1;
                }
                count += 1;
            }
            let (read, later) = remaining_parts.split_at(count);
            self.read(
                read.iter().map(|(part, _)| part.clone()).collect(),
                verbatim_parts,
            )?;
            remaining_parts = later;
        }
        Ok(())
    }

    /// Copies `part` verbatim. Returns false if the sink refuses.
    fn copy_part(&mut self, part: &Part) -> Result<bool> {
        let source = self.job.log.source();
        let Some(records) =
            self.sink.copy_part_verbatim(self.job.slice_index, part, &**source)?
        else {
            return Ok(false);
        };
        self.copied.records += records;
        self.copied.verbatim_records += records;
        source.release(part.bytes.clone());
        (self.job.progress)(part.bytes.end - part.bytes.start);
        Ok(true)
    }

    /// Copies the records of `plan`.
    fn read(&mut self, plan: Vec<Part>, verbatim_parts: &VerbatimParts) -> Result<()> {
        let lengths: Vec<u64> =
            plan.iter().map(|part| part.bytes.end - part.bytes.start).collect();
        let (log, selection) = (self.job.log, &self.job.selection);
        // Encoding in the reading threads does not pay off for few records.
        let encodes = self.retime.is_none()
            && plan.iter().all(|part| verbatim_parts.is_fully_selected(part));
        let encoder = if encodes { self.sink.encoder() } else { None };
        let encodes = encoder.is_some();
        let read_ahead = ReadAhead::new(log, plan, selection.clone());
        let mut read_ahead = match encoder {
            Some(encoder) => read_ahead.encoding(encoder, self.job.slice_index),
            None => read_ahead.with_compaction(),
        };
        let mut block = Block::default();
        for length in lengths {
            while read_ahead.fill_part(&mut block)? {
                if encodes {
                    self.write_encoded(&mut block)?
                } else {
                    self.block(&block)?
                }
            }
            (self.job.progress)(length);
        }
        Ok(())
    }

    /// Writes the encoded records of `block`.
    fn write_encoded(&mut self, block: &mut Block) -> Result<()> {
        self.copied.damage.extend_from_slice(block.damage());
        self.copied.records += block.len() as u64;
        self.sink.write_encoded(block.encoded_records())
    }

    /// Writes the records of `block`.
    fn block(&mut self, block: &Block) -> Result<()> {
        self.copied.damage.extend_from_slice(block.damage());
        let doubtful = DoubtfulRecords::in_block(block);
        let is_dropped = self.job.drops_doubtful && !doubtful.is_empty();
        for records in &doubtful {
            if is_dropped {
                self.copied.damage.push(records.drop_damage())
            } else {
                self.sink.note_doubtful(self.job.slice_index, records)
            }
        }
        self.copied.doubtful.extend(doubtful);
        if is_dropped {
            return Ok(());
        }
        self.copied.records += block.len() as u64;
        let Some(retime) = &mut self.retime else {
            return block
                .iter()
                .try_for_each(|record| self.sink.write(self.job.slice_index, record));
        };
        self.times.clear();
        retime.retime(block, &mut self.times)?;
        for (record, time) in block.iter().zip(&self.times) {
            self.sink.write(self.job.slice_index, Record { time: *time, ..record })?;
        }
        Ok(())
    }
}

/// Selects the parts of a log that can be copied without decoding.
struct VerbatimParts {
    time: TimeRange,
    /// The topics outside the selection, except derived topics.
    unwanted: TopicSet,
    /// The start of each damage in the file, and the latest end of all damages that start
    /// there or earlier.
    damage: Vec<(u64, u64)>,
}

impl VerbatimParts {
    fn new(manifest: &Manifest, selection: &Selection) -> Self {
        let unwanted = manifest.topics().filter(|(id, topic)| {
            !selection.topics.contains(*id) && topic.origin != TopicOrigin::Derived
        });
        // Records with an unusable definition are complete.
        let damage =
            manifest.damage.iter().filter(|one| one.kind != DamageKind::Definition);
        let mut damage: Vec<_> =
            damage.map(|damage| (damage.bytes.start, damage.bytes.end)).collect();
        damage.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut damage {
            last = last.max(*end);
            *end = last;
        }
        Self {
            time: selection.time,
            unwanted: unwanted.map(|(id, _)| id).collect(),
            damage,
        }
    }

    /// Returns whether all records of `part` are selected and undamaged.
    fn is_sound_and_wanted(&self, part: &Part) -> bool {
        self.is_fully_selected(part) && !self.is_damaged(part)
    }

    /// Returns whether all records of `part` are selected.
    fn is_fully_selected(&self, part: &Part) -> bool {
        let TimeRange { start, end } = self.time;
        let is_in_time =
            start <= part.time.start && (part.time.end <= end || end == Timestamp::MAX);
        is_in_time && !part.topics.overlaps(&self.unwanted)
    }

    fn is_damaged(&self, part: &Part) -> bool {
        let before = self.damage.partition_point(|(start, _)| *start < part.bytes.end);
        let last = before.checked_sub(1).and_then(|index| self.damage.get(index));
        last.is_some_and(|(_, end)| *end > part.bytes.start)
    }
}

impl std::fmt::Debug for CopyJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyJob")
            .field("slice_index", &self.slice_index)
            .field("selection", &self.selection)
            .field("verify", &self.verify)
            .finish_non_exhaustive()
    }
}
