//! Processing the log in the order of time.

use rayon::prelude::*;

use crate::{
    error::Result,
    log::Log,
    model::{
        manifest::{Part, Selection},
        time::TimeRange,
    },
    operations::asof::{
        AsofJob, AsofReport, grid::Grid, limits::MemoryLimits, output::JoinWriter,
        pending_rows::PendingRows, reader::SharedReader,
    },
    sink::TableWriter,
};

/// A part of the log, and whether it was read before.
struct PlannedPart {
    part: Part,
    was_read: bool,
}

/// A join in progress.
pub(super) struct Sweep<'s> {
    reader: SharedReader<'s>,
    output: JoinWriter<'s>,
    /// The parts in the order of their first times.
    plan: Vec<PlannedPart>,
    pending: PendingRows,
    limits: MemoryLimits,
    report: AsofReport,
}

/// Returns the part of `plausible_times` from the first record of the selected topics to the last.
/// Outside of it, rows would repeat the same values.
fn logged_range(
    log: &dyn Log,
    job: &AsofJob<'_>,
    plausible_times: TimeRange,
) -> TimeRange {
    let mut range: Option<TimeRange> = None;
    for id in job.columns_by_topic.keys() {
        let topic = log.manifest().topic(*id).ok();
        let Some(time) = topic.and_then(|topic| topic.time) else {
            return plausible_times;
        };
        let plausible_time = TimeRange {
            start: time.start.max(plausible_times.start),
            end: time.end.min(plausible_times.end),
        };
        range = Some(match range {
            Some(range) => range.cover(&plausible_time),
            None => plausible_time,
        });
    }
    range.unwrap_or(plausible_times)
}

impl<'s> Sweep<'s> {
    pub(super) fn new(
        log: &'s dyn Log,
        job: &'s AsofJob<'s>,
        writer: &'s mut dyn TableWriter,
        limits: MemoryLimits,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let logged_times = manifest.time.unwrap_or(TimeRange::EMPTY);
        // Values from before the start of logging are the last known ones in the first
        // row.
        let plausible_times = manifest.possible_times().unwrap_or(TimeRange::EMPTY);
        let grid = Grid::new(
            logged_range(log, job, logged_times),
            job.time,
            job.period_nanos,
        )?;
        let output = JoinWriter::new(writer, log, job, grid, limits)?;
        let selection = Selection {
            topics: job.columns_by_topic.keys().copied().collect(),
            time: job.affecting_times(),
        };
        let mut plan: Vec<PlannedPart> = manifest
            .plan(&selection, limits.part_bytes)
            .into_iter()
            .map(|part| PlannedPart { part, was_read: false })
            .collect();
        plan.sort_by_key(|planned| planned.part.time.start);

        let reader = SharedReader {
            log,
            job,
            topics: job.columns_by_topic.keys().copied().collect(),
            selection,
            grid,
            plausible_times,
            limits,
        };
        let pending = PendingRows::new(0, grid.rows, reader.topics.len());
        let report = AsofReport { rows: u64::from(grid.rows), ..AsofReport::default() };
        Ok(Self { reader, output, plan, pending, limits, report })
    }

    /// Runs the join.
    pub(super) fn run(mut self) -> Result<AsofReport> {
        let rows = self.reader.grid.rows;
        loop {
            self.run_pass()?;
            if self.pending.rows_done == rows {
                self.report.read.damage.sort_by_key(|damage| damage.bytes.start);
                return Ok(self.report);
            }
            self.pending.limit = rows;
        }
    }

    /// Builds rows of the table, part by part, until all are done or some must be
    /// postponed.
    fn run_pass(&mut self) -> Result<()> {
        let remaining_times = self.reader.remaining_times(self.pending.rows_done);
        let is_needed = |planned: &PlannedPart| {
            !planned.was_read || planned.part.time.overlaps(&remaining_times)
        };
        let needed_parts: Vec<usize> = (0..self.plan.len())
            .filter(|index| is_needed(&self.plan[*index]))
            .collect();
        let mut queue = needed_parts.as_slice();
        loop {
            let group_len = queue
                .iter()
                .take(self.limits.parallel_parts.max(1))
                .take_while(|index| self.is_due(**index))
                .count();
            if group_len == 0 {
                break;
            }
            let (group, later) = queue.split_at(group_len);
            queue = later;
            self.read(group)?;
            // The rows before the first one that the next part can affect are complete.
            let complete_end = match queue.first() {
                Some(next) => self.first_row(*next).min(self.pending.limit),
                None => self.pending.limit,
            };
            let complete_rows = complete_end.saturating_sub(self.pending.rows_done);
            if complete_rows >= self.limits.batch_rows
                || self.pending.bytes() > self.limits.pending_bytes
            {
                self.output.write(&mut self.pending, complete_end)?;
            }
            self.pending.shrink(self.limits.pending_bytes)?;
        }
        let end = self.pending.limit;
        self.output.write(&mut self.pending, end)
    }

    /// Returns the first row of the table that the part at `plan_index` can affect.
    fn first_row(&self, plan_index: usize) -> u32 {
        self.reader.grid.first_row_from(self.plan[plan_index].part.time.start)
    }

    /// Returns whether the part at `plan_index` is to be read in the current pass.
    fn is_due(&self, plan_index: usize) -> bool {
        let limit = self.pending.limit;
        limit == self.reader.grid.rows || self.first_row(plan_index) < limit
    }

    /// Reads the parts at the indices `group` of the plan in parallel.
    fn read(&mut self, group: &[usize]) -> Result<()> {
        let Self { reader, plan, pending, report, .. } = self;
        let rows = (pending.rows_done, pending.limit);
        let read = |index: &usize| {
            let PlannedPart { part, was_read } = &plan[*index];
            reader.read(part, *was_read, rows)
        };
        let results: Vec<Result<_>> = group.par_iter().map(read).collect();
        for (index, result) in group.iter().zip(results) {
            let (new_rows, part_report) = result?;
            pending.merge_with(new_rows);
            if !std::mem::replace(&mut plan[*index].was_read, true) {
                report.dropped_rows += part_report.dropped_rows;
                report.read.records += part_report.read.records;
                for damage in part_report.read.damage {
                    damage.add_to(&mut report.read.damage);
                }
            }
        }
        Ok(())
    }
}
