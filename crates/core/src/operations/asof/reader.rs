//! Reading the rows of a part that the table needs.

use crate::{
    error::Result,
    log::{Columns, Decoder, Log},
    model::{
        manifest::{Part, Selection},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    operations::asof::{
        AsofJob, AsofReport, grid::Grid, limits::MemoryLimits,
        pending_rows::PendingRows,
    },
    record::block::{Block, TopicSort},
};

/// A reader of parts that all threads share.
pub(super) struct SharedReader<'r> {
    pub(super) log: &'r dyn Log,
    pub(super) job: &'r AsofJob<'r>,
    /// The selected topics in ascending order. The rows of each are at the same index.
    pub(super) topics: Vec<TopicId>,
    pub(super) selection: Selection,
    pub(super) grid: Grid,
    /// The plausible times.
    pub(super) plausible_times: TimeRange,
    pub(super) limits: MemoryLimits,
}

impl SharedReader<'_> {
    /// Reads `part` for the rows `rows_done..limit` of the table: all selected records, or only
    /// those after the finished rows if the part `was_read` for these.
    pub(super) fn read(
        &self,
        part: &Part,
        was_read: bool,
        (rows_done, limit): (u32, u32),
    ) -> Result<(PendingRows, AsofReport)> {
        let mut pending = PendingRows::new(rows_done, limit, self.topics.len());
        let mut report = AsofReport::default();
        let mut selection = self.selection.clone();
        if was_read {
            selection.time.start =
                selection.time.start.max(self.remaining_times(rows_done).start);
        }
        let mut decoders = Vec::new();
        decoders.resize_with(self.topics.len(), || None);

        let (mut block, mut sort) = (Block::default(), TopicSort::default());
        let mut cursor = self.log.read(part, &selection)?;
        // The number of decoded bytes since the last reduction of the rows.
        let mut decoded_bytes = 0_usize;
        while cursor.fill(&mut block)? {
            report.read.damage.extend_from_slice(block.damage());
            block.sort_by_topic(&mut sort);
            for run in block.runs() {
                let Ok(index) = self.topics.binary_search(&run.topic()) else {
                    continue;
                };
                let decoder = self.decoder(&mut decoders, index)?;
                decoder.append(run, &mut report.read.damage);
                report.read.records += run.len() as u64;
                if decoder.is_full() {
                    decoded_bytes = self.limits.reduction_bytes;
                }
            }
            decoded_bytes = decoded_bytes.saturating_add(block.bytes().len());
            if decoded_bytes >= self.limits.reduction_bytes {
                self.take_rows(part, &mut decoders, &mut pending, &mut report)?;
                decoded_bytes = 0;
            }
        }
        self.take_rows(part, &mut decoders, &mut pending, &mut report)?;
        self.log.source().release(part.bytes.clone());
        if !was_read {
            (self.job.progress)(part.bytes.end.saturating_sub(part.bytes.start));
        }
        Ok((pending, report))
    }

    /// Returns the times after the last of the first `rows_done` rows of the table.
    pub(super) fn remaining_times(&self, rows_done: u32) -> TimeRange {
        match rows_done.checked_sub(1) {
            None => TimeRange::ALL,
            Some(last) => {
                let start = self.grid.time(last).saturating_add(1);
                let start = Timestamp::from_nanos(start);
                TimeRange { start, ..TimeRange::ALL }
            }
        }
    }

    /// Returns the decoder of the topic with this `index`, and creates it if necessary.
    fn decoder<'d>(
        &self,
        decoders: &'d mut [Option<Box<dyn Decoder>>],
        index: usize,
    ) -> Result<&'d mut Box<dyn Decoder>> {
        let topic = self.topics[index];
        match &mut decoders[index] {
            Some(decoder) => Ok(decoder),
            empty => {
                let columns = self.job.columns_by_topic.get(&topic).cloned();
                let columns = Columns {
                    time: self.selection.time,
                    ..columns.unwrap_or_default()
                };
                Ok(empty.insert(self.log.decoder(topic, &columns)?))
            }
        }
    }

    /// Moves the decoded rows that the table needs to `pending`.
    fn take_rows(
        &self,
        part: &Part,
        decoders: &mut [Option<Box<dyn Decoder>>],
        pending: &mut PendingRows,
        report: &mut AsofReport,
    ) -> Result<()> {
        let PendingRows { rows_done, limit, topic_rows } = pending;
        for (rows_of_topic, decoder) in topic_rows.iter_mut().zip(decoders) {
            let Some(decoder) = decoder.as_mut().filter(|decoder| decoder.rows() > 0)
            else {
                continue;
            };
            let batch = decoder.take()?;
            let mut plausible_rows = 0;
            rows_of_topic.add(part.bytes.start, &batch, |time| {
                if !self.plausible_times.contains(time) {
                    return None;
                }
                plausible_rows += 1;
                // Never a finished row, even if the manifest states wrong times of the
                // part.
                let table_row = self.grid.first_row_from(time).max(*rows_done);
                if table_row < *limit { Some(table_row) } else { None }
            })?;
            report.dropped_rows += batch.num_rows() as u64 - plausible_rows;
        }
        pending.shrink(self.limits.pending_bytes / self.limits.parallel_parts.max(1))
    }
}
