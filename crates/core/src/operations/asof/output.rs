//! Building the rows of the table.

use std::sync::Arc;

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
    base: TimeBase,
    /// The schemas with times on the log's clock and on the table's clock.
    schemas: [SchemaRef; 2],
    /// One null for each column except the time.
    nulls: Vec<ArrayRef>,
    /// The number of columns of each topic.
    widths: Vec<usize>,
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
        let (schema, widths) = schema_on_log_clock(log, job)?;
        let fields = schema.fields().iter().skip(1);
        let nulls = fields.map(|field| new_null_array(field.data_type(), 1)).collect();
        let (max_age_nanos, base) = (job.max_age_nanos, job.base);
        let schemas = [schema.clone(), base.schema(&schema)];
        Ok(Self { writer, grid, max_age_nanos, base, schemas, nulls, widths, limits })
    }

    /// Writes the rows of the table before `ready`. All required rows must be pending.
    pub(super) fn write(
        &mut self,
        pending: &mut PendingRows,
        ready: u32,
    ) -> Result<()> {
        if pending.rows_done >= ready {
            return Ok(());
        }
        let max_row_bytes = pending
            .topic_rows
            .iter()
            .map(TopicRows::max_row_bytes)
            .fold(8, usize::saturating_add);
        let rows =
            u32::try_from(self.limits.batch_bytes / max_row_bytes).unwrap_or(u32::MAX);
        let rows = rows.clamp(1, self.limits.batch_rows.max(1));
        let mut search_starts = vec![0; pending.topic_rows.len()];
        let mut row = pending.rows_done;
        while row < ready {
            let end = row.saturating_add(rows).min(ready);
            let batch =
                self.batch(&pending.topic_rows, &mut search_starts, row, end)?;
            self.writer.write(&batch)?;
            row = end;
        }
        pending.advance(ready)
    }

    /// Returns the rows `row..end` of the table. `search_starts` has the index in each topic at
    /// which to start the search.
    fn batch(
        &self,
        topic_rows: &[TopicRows],
        search_starts: &mut [usize],
        row: u32,
        end: u32,
    ) -> Result<RecordBatch> {
        let times = (row..end).map(|row| self.grid.time(row));
        let times = TimestampNanosecondArray::from_iter_values(times);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(times)];
        let mut nulls = self.nulls.iter();
        for ((rows_of_topic, search_start), width) in
            topic_rows.iter().zip(search_starts).zip(&self.widths)
        {
            let position_at = |row| {
                let (position_at, time) = rows_of_topic.find(row, search_start)?;
                let age = self.grid.time(row).abs_diff(time);
                self.max_age_nanos.is_none_or(|max| age <= max).then_some(position_at)
            };
            let positions: Vec<_> = (row..end).map(position_at).collect();
            for (column, null) in nulls.by_ref().take(*width).enumerate() {
                columns.push(rows_of_topic.column(column, null, &positions)?);
            }
        }
        let [on_log_clock, output_schema] = &self.schemas;
        let batch = RecordBatch::try_new(on_log_clock.clone(), columns);
        self.base.apply(batch.map_err(into_error)?, output_schema)
    }
}
