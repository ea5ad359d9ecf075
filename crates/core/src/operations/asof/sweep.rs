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
fn reported_range(
    log: &dyn Log,
    job: &AsofJob<'_>,
    plausible_times: TimeRange,
) -> TimeRange {
    let topics = job.columns_of.keys().map(|id| log.manifest().topic(*id).ok()?.time);
    let Some(times) = topics.collect::<Option<Vec<TimeRange>>>() else {
        return plausible_times;
    };
    let start = times.iter().map(|time| time.start.max(plausible_times.start)).min();
    let end = times.iter().map(|time| time.end.min(plausible_times.end)).max();
    match (start, end) {
        (Some(start), Some(end)) => TimeRange { start, end },
        _ => plausible_times,
    }
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
            reported_range(log, job, logged_times),
            job.time,
            job.period_nanos,
        )?;
        let output = JoinWriter::new(writer, log, job, grid, limits)?;
        let selection = Selection {
            topics: job.columns_of.keys().copied().collect(),
            time: job.affecting_times(),
        };
        let plan = manifest.plan(&selection, limits.part_bytes);
        let mut plan: Vec<PlannedPart> = plan
            .into_iter()
            .map(|part| PlannedPart { part, was_read: false })
            .collect();
        plan.sort_by_key(|planned| planned.part.time.start);

        let reader = SharedReader {
            log,
            job,
            topics: job.columns_of.keys().copied().collect(),
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
        let remaining = self.reader.remaining_times(self.pending.rows_done);
        let is_needed = |planned: &PlannedPart| {
            !planned.was_read || planned.part.time.overlaps(&remaining)
        };
        let queue: Vec<usize> =
            (0..self.plan.len()).filter(|i| is_needed(&self.plan[*i])).collect();
        let mut queue = queue.as_slice();
        loop {
            let group = queue.iter().take(self.limits.width.max(1));
            let (group, later) =
                queue.split_at(group.take_while(|i| self.is_due(**i)).count());
            if group.is_empty() {
                break;
            }
            queue = later;
            self.read(group)?;
            let ready = match queue.first() {
                Some(next) => self.row_from(*next).min(self.pending.limit),
                None => self.pending.limit,
            };
            let is_write_due = ready.saturating_sub(self.pending.rows_done)
                >= self.limits.batch_rows
                || self.pending.bytes() > self.limits.pending_bytes;
            if is_write_due {
                self.output.write(&mut self.pending, ready)?;
            }
            self.pending.shrink(self.limits.pending_bytes)?;
        }
        let ready = self.pending.limit;
        self.output.write(&mut self.pending, ready)
    }

    /// Returns the first row of the table that this part can affect.
    fn row_from(&self, planned: usize) -> u32 {
        self.reader.grid.row_from(self.plan[planned].part.time.start)
    }

    /// Returns whether this part is to be read in the current pass.
    fn is_due(&self, planned: usize) -> bool {
        let PendingRows { limit, .. } = self.pending;
        limit == self.reader.grid.rows || self.row_from(planned) < limit
    }

    /// Reads the parts of `group` in parallel.
    fn read(&mut self, group: &[usize]) -> Result<()> {
        let Self { reader, plan, pending, report, .. } = self;
        let rows = (pending.rows_done, pending.limit);
        let read = |index: &usize| {
            let PlannedPart { part, was_read } = &plan[*index];
            reader.read(part, *was_read, rows)
        };
        let results: Vec<Result<_>> = group.par_iter().map(read).collect();
        for (index, read) in group.iter().zip(results) {
            let (new_rows, part_report) = read?;
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
