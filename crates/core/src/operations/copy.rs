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
    /// The records that were copied although they, or records derived from them, do not
    /// match their schema. Only known if the job had [`verify`](CopyJob::verify).
    pub undecodable: Vec<Damage>,
    /// The records that were copied although bytes or values in them do not fit their schema.
    /// Known like `undecodable`.
    pub unfitting: Vec<Damage>,
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
        new_times: Vec::new(),
        sink,
        report: CopyReport::default(),
    };
    let manifest = job.log.manifest();
    copying.sink.copy_attachments(job.slice_index, &**job.log.source())?;
    if !job.verify && copying.copy_whole_log()? {
        return Ok(copying.report);
    }
    let plan = manifest.plan(&job.selection, 0);
    let verbatim_parts = VerbatimParts::new(manifest, &job.selection);
    if job.verify {
        verify::copy(&mut copying, plan, &verbatim_parts)?
    } else {
        copying.copy_parts(plan, &verbatim_parts)?
    }
    let mut report = copying.report;
    report.damage.sort_by_key(|damage| damage.bytes.start);
    report.undecodable.sort_by_key(|damage| damage.bytes.start);
    Ok(report)
}

/// A copy in progress.
struct RunningCopy<'c> {
    job: &'c CopyJob<'c>,
    retime: Option<&'c mut (dyn Retime + 'c)>,
    /// A buffer for the new times of the records of a block.
    new_times: Vec<Timestamp>,
    sink: &'c mut (dyn RecordSink + 'c),
    report: CopyReport,
}

impl RunningCopy<'_> {
    /// Copies the whole file at once, if everything is selected and the sink supports it.
    /// Returns whether it did.
    fn copy_whole_log(&mut self) -> Result<bool> {
        let (manifest, source) = (self.job.log.manifest(), self.job.log.source());
        let is_complete = self.retime.is_none()
            && manifest.damage.is_empty()
            && manifest.selects_everything(&self.job.selection);
        if !is_complete || !self.sink.copy_log(self.job.slice_index, &**source)? {
            return Ok(false);
        }
        let logged = manifest.logged_topics();
        let topics = manifest.topics().filter(|(id, _)| logged.contains(*id));
        self.report.records = topics.filter_map(|(_, topic)| topic.records).sum();
        self.report.verbatim_records = self.report.records;
        (self.job.progress)(manifest.bytes);
        Ok(true)
    }

    /// Copies `plan`: whole parts verbatim if the sink supports it, and records
    /// otherwise.
    fn copy_parts(
        &mut self,
        plan: Vec<Part>,
        verbatim_parts: &VerbatimParts,
    ) -> Result<()> {
        let sink_copies_parts =
            self.retime.is_none() && self.sink.copies_parts(self.job.slice_index);
        let can_copy: Vec<bool> = plan
            .iter()
            .map(|part| sink_copies_parts && verbatim_parts.can_copy(part))
            .collect();
        let expected_parts = plan
            .iter()
            .zip(&can_copy)
            .filter(|(_, can_copy)| **can_copy)
            .map(|(part, _)| part.clone())
            .collect();
        let source = self.job.log.source();
        self.sink.expect_parts(self.job.slice_index, expected_parts, source);
        // After each consecutive refusal, twice as many copyable parts are read before the
        // next attempt. This limits failed attempts and keeps reading parallel.
        let mut parts_per_refusal = 0;
        let mut index = 0;
        while let (Some(part), Some(is_copyable)) =
            (plan.get(index), can_copy.get(index))
        {
            let mut copyable_parts_to_read = 0;
            if *is_copyable {
                if self.copy_part(part)? {
                    index += 1;
                    parts_per_refusal = 0;
                    continue;
                }
                parts_per_refusal = (2 * parts_per_refusal).max(1);
                copyable_parts_to_read = parts_per_refusal;
            }
            // The parts up to the next one that the sink is asked to copy are read.
            let mut end = index;
            while let Some(is_copyable) = can_copy.get(end) {
                if *is_copyable {
                    if copyable_parts_to_read == 0 {
                        break;
                    }
                    copyable_parts_to_read -= 1;
                }
                end += 1;
            }
            self.copy_records(plan[index..end].to_vec(), verbatim_parts)?;
            index = end;
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
        self.report.records += records;
        self.report.verbatim_records += records;
        source.release(part.bytes.clone());
        (self.job.progress)(part.bytes.end - part.bytes.start);
        Ok(true)
    }

    /// Copies the records of `plan`.
    fn copy_records(
        &mut self,
        plan: Vec<Part>,
        verbatim_parts: &VerbatimParts,
    ) -> Result<()> {
        let lengths: Vec<u64> =
            plan.iter().map(|part| part.bytes.end - part.bytes.start).collect();
        let (log, selection) = (self.job.log, &self.job.selection);
        // For few records, encoding in the reading threads takes longer than it saves.
        let may_encode = self.retime.is_none()
            && plan.iter().all(|part| verbatim_parts.is_fully_selected(part));
        let encoder = if may_encode { self.sink.encoder() } else { None };
        let is_encoding = encoder.is_some();
        let read_ahead = ReadAhead::new(log, plan, selection.clone());
        let mut read_ahead = match encoder {
            Some(encoder) => read_ahead.encoding(encoder, self.job.slice_index),
            None => read_ahead.with_compaction(),
        };
        let mut block = Block::default();
        for length in lengths {
            while read_ahead.fill_part(&mut block)? {
                if is_encoding {
                    self.write_encoded(&mut block)?
                } else {
                    self.write_block(&block)?
                }
            }
            (self.job.progress)(length);
        }
        Ok(())
    }

    /// Writes the encoded records of `block`.
    fn write_encoded(&mut self, block: &mut Block) -> Result<()> {
        self.report.damage.extend_from_slice(block.damage());
        self.report.records += block.len() as u64;
        self.sink.write_encoded(block.encoded_records())
    }

    /// Writes the records of `block`.
    fn write_block(&mut self, block: &Block) -> Result<()> {
        self.report.damage.extend_from_slice(block.damage());
        let doubtful = DoubtfulRecords::in_block(block);
        let is_dropped = self.job.drops_doubtful && !doubtful.is_empty();
        for records in &doubtful {
            if is_dropped {
                self.report.damage.push(records.drop_damage())
            } else {
                self.sink.note_doubtful(self.job.slice_index, records)
            }
        }
        self.report.doubtful.extend(doubtful);
        if is_dropped {
            return Ok(());
        }
        self.report.records += block.len() as u64;
        let Some(retime) = &mut self.retime else {
            return block
                .iter()
                .try_for_each(|record| self.sink.write(self.job.slice_index, record));
        };
        self.new_times.clear();
        retime.retime(block, &mut self.new_times)?;
        for (record, time) in block.iter().zip(&self.new_times) {
            self.sink.write(self.job.slice_index, Record { time: *time, ..record })?;
        }
        Ok(())
    }
}

/// Selects the parts of a log that can be copied without decoding.
struct VerbatimParts {
    time: TimeRange,
    /// The topics outside the selection, except derived topics.
    unselected_topics: TopicSet,
    /// The start of each damaged range, and the latest end of all damaged ranges that start
    /// there or earlier.
    damaged_ranges: Vec<(u64, u64)>,
}

impl VerbatimParts {
    fn new(manifest: &Manifest, selection: &Selection) -> Self {
        let unselected_topics = manifest
            .topics()
            .filter(|(id, topic)| {
                !selection.topics.contains(*id) && topic.origin != TopicOrigin::Derived
            })
            .map(|(id, _)| id)
            .collect();
        // Records with an unusable definition are complete.
        let mut damaged_ranges: Vec<(u64, u64)> = manifest
            .damage
            .iter()
            .filter(|damage| damage.kind != DamageKind::Definition)
            .map(|damage| (damage.bytes.start, damage.bytes.end))
            .collect();
        damaged_ranges.sort_unstable();
        let mut latest_end = 0;
        for (_, end) in &mut damaged_ranges {
            latest_end = latest_end.max(*end);
            *end = latest_end;
        }
        Self { time: selection.time, unselected_topics, damaged_ranges }
    }

    /// Returns whether all records of `part` are selected and undamaged.
    fn can_copy(&self, part: &Part) -> bool {
        self.is_fully_selected(part) && !self.is_damaged(part)
    }

    /// Returns whether all records of `part` are selected.
    fn is_fully_selected(&self, part: &Part) -> bool {
        let TimeRange { start, end } = self.time;
        let is_in_time =
            start <= part.time.start && (part.time.end <= end || end == Timestamp::MAX);
        is_in_time && !part.topics.overlaps(&self.unselected_topics)
    }

    fn is_damaged(&self, part: &Part) -> bool {
        let ranges = &self.damaged_ranges;
        let count = ranges.partition_point(|(start, _)| *start < part.bytes.end);
        let last = count.checked_sub(1).and_then(|index| ranges.get(index));
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
