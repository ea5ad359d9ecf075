//! Building the rows of the table.

use std::{ops::Range, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray, new_null_array};
use arrow_schema::SchemaRef;

use crate::{
    error::Result,
    log::Log,
    model::time_base::TimeBase,
    operations::asof::{
        AsofJob, grid::Grid, into_error, limits::MemoryLimits,
        pending_rows::PendingRows, schema_on_log_clock, topic_rows::TopicRows,
    },
    sink::TableWriter,
};

/// Builds the rows of the table and writes them.
pub(super) struct JoinWriter<'o> {
    writer: &'o mut dyn TableWriter,
    grid: Grid,
    max_age_nanos: Option<u64>,
    time_base: TimeBase,
    /// The schemas with times on the log's clock and on the table's clock.
    schemas: [SchemaRef; 2],
    /// One null for each column except the time.
    nulls: Vec<ArrayRef>,
    /// The number of columns of each topic.
    column_counts: Vec<usize>,
    limits: MemoryLimits,
}

impl<'o> JoinWriter<'o> {
    /// Creates the output of the table of `job` to `writer`.
    pub(super) fn new(
        writer: &'o mut dyn TableWriter,
        log: &dyn Log,
        job: &AsofJob<'_>,
        grid: Grid,
        limits: MemoryLimits,
    ) -> Result<Self> {
        let (schema, column_counts) = schema_on_log_clock(log, job)?;
        let fields = schema.fields().iter().skip(1);
        let nulls = fields.map(|field| new_null_array(field.data_type(), 1)).collect();
        let output_schema = job.base.schema(&schema);
        Ok(Self {
            writer,
            grid,
            max_age_nanos: job.max_age_nanos,
            time_base: job.base,
            schemas: [schema, output_schema],
            nulls,
            column_counts,
            limits,
        })
    }

    /// Writes the rows of the table before `end`. All rows that they require must be pending.
    pub(super) fn write(&mut self, pending: &mut PendingRows, end: u32) -> Result<()> {
        if pending.rows_done >= end {
            return Ok(());
        }
        let max_row_bytes = pending
            .topic_rows
            .iter()
            .map(TopicRows::max_row_bytes)
            .fold(8, usize::saturating_add);
        let batch_rows = u32::try_from(self.limits.batch_bytes / max_row_bytes)
            .unwrap_or(u32::MAX)
            .clamp(1, self.limits.batch_rows.max(1));
        let mut search_starts = vec![0; pending.topic_rows.len()];
        let mut row = pending.rows_done;
        while row < end {
            let batch_end = row.saturating_add(batch_rows).min(end);
            let rows = row..batch_end;
            let batch = self.batch(&pending.topic_rows, &mut search_starts, rows)?;
            self.writer.write(&batch)?;
            row = batch_end;
        }
        pending.advance(end)
    }

    /// Returns these `rows` of the table. `search_starts` has the index in each topic at which
    /// to start the search.
    fn batch(
        &self,
        topic_rows: &[TopicRows],
        search_starts: &mut [usize],
        rows: Range<u32>,
    ) -> Result<RecordBatch> {
        let times = rows.clone().map(|row| self.grid.time(row));
        let times = TimestampNanosecondArray::from_iter_values(times);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(times)];
        let mut nulls = self.nulls.iter();
        for ((rows_of_topic, search_start), column_count) in
            topic_rows.iter().zip(search_starts).zip(&self.column_counts)
        {
            let position_for_row = |row| {
                let (position, time) = rows_of_topic.find(row, search_start)?;
                let age = self.grid.time(row).abs_diff(time);
                let is_too_old =
                    self.max_age_nanos.is_some_and(|max_age| age > max_age);
                if is_too_old { None } else { Some(position) }
            };
            let positions: Vec<_> = rows.clone().map(position_for_row).collect();
            for (column, null) in nulls.by_ref().take(*column_count).enumerate() {
                columns.push(rows_of_topic.column(column, null, &positions)?);
            }
        }
        let [log_clock_schema, output_schema] = &self.schemas;
        let batch = RecordBatch::try_new(log_clock_schema.clone(), columns);
        self.time_base.apply(batch.map_err(into_error)?, output_schema)
    }
}
