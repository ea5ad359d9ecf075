//! Collects rows until they are worth writing.

use std::mem;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use logtool_core::Result;

use crate::{
    error::from_arrow,
    row_buffers::memory_size::{rows_to_reach, size_bits},
};

/// The rows of a table that are not written yet. They are written in groups of a certain size.
///
/// How rows are grouped depends only on the rows, and not on the batches in which they arrive.
#[derive(Debug)]
pub(crate) struct RowBuffer {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The number of buffered rows.
    rows: usize,
    /// The size of the buffered rows in bits.
    bits: u64,
    /// A group is complete when it has at least this size in bits.
    group_bits: u64,
    /// The size up to which `group_bits` may grow.
    max_group_bits: u64,
    /// The number of groups written since `group_bits` was last increased.
    groups_of_size: u32,
}

/// Batches are merged when there are this many, because each uses about 200 bytes for each column.
const MAX_BATCHES: usize = 32;
/// The maximum number of buffered rows.
const MAX_ROWS: usize = 1 << 20;
/// If the size of groups may grow, it is doubled after this many groups.
const GROUPS_PER_SIZE: u32 = 2048;

impl RowBuffer {
    /// Creates an empty buffer for a table with the columns `schema`, which is written in groups
    /// of `group_bytes`.
    pub(crate) fn new(schema: &SchemaRef, group_bytes: usize) -> Self {
        let group_bits = (8 * group_bytes as u64).max(1);
        Self {
            schema: schema.clone(),
            batches: Vec::new(),
            rows: 0,
            bits: 0,
            group_bits,
            max_group_bits: group_bits,
            groups_of_size: 0,
        }
    }

    /// Allows groups to grow up to `max_bytes` when there are many, for writers that keep some
    /// memory for each group until the end of the file.
    pub(crate) fn with_max_group_bytes(self, max_bytes: usize) -> Self {
        Self { max_group_bits: 8 * max_bytes as u64, ..self }
    }

    /// Adds the rows of `batch`, and passes complete groups to `write`.
    pub(crate) fn push(
        &mut self,
        batch: &RecordBatch,
        mut write: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut start_row = 0;
        while start_row < batch.num_rows() {
            start_row += self.append(batch, start_row)?;
            if self.bits >= self.group_bits || self.rows >= MAX_ROWS {
                self.flush(&mut write)?;
            }
        }
        Ok(())
    }

    /// Passes the remaining rows to `write`, if there are any.
    pub(crate) fn flush(
        &mut self,
        mut write: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        (self.rows, self.bits) = (0, 0);
        self.groups_of_size = self.groups_of_size.saturating_add(1);
        if self.groups_of_size == GROUPS_PER_SIZE
            && self.group_bits < self.max_group_bits
        {
            (self.groups_of_size, self.group_bits) = (0, 2 * self.group_bits);
        }
        let batches = mem::take(&mut self.batches);
        if batches.is_empty() { Ok(()) } else { write(&self.concat(&batches)?) }
    }

    /// Appends rows of `batch`, starting at index `start_row`, until the group is complete. Returns
    /// the number of appended rows.
    fn append(&mut self, batch: &RecordBatch, start_row: usize) -> Result<usize> {
        let max_rows = (batch.num_rows() - start_row).min(MAX_ROWS - self.rows);
        let candidates = batch.slice(start_row, max_rows);
        let rows = rows_to_reach(&candidates, self.group_bits - self.bits);
        let mut slice = candidates.slice(0, rows);
        self.rows += rows;
        self.bits += size_bits(&slice, 0..rows);
        let is_incomplete = self.bits < self.group_bits && self.rows < MAX_ROWS;
        if is_incomplete && rows < batch.num_rows() {
            // Copies the rows, because a slice would keep the whole batch in memory.
            slice = self.concat(&[slice.clone(), slice.slice(0, 0)])?;
        }
        self.batches.push(slice);
        if self.batches.len() >= MAX_BATCHES {
            self.batches = vec![self.concat(&self.batches)?];
        }
        Ok(rows)
    }

    fn concat(&self, batches: &[RecordBatch]) -> Result<RecordBatch> {
        concat_batches(&self.schema, batches).map_err(from_arrow)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::testing::{column, table};

    /// The groups of a table of 1,000 rows that arrive `rows` at a time, and that table.
    fn groups_of_table(rows: usize) -> (Vec<RecordBatch>, RecordBatch) {
        let strings = (0..1_000).map(|row| "x".repeat(row % 100));
        let strings: ArrayRef = Arc::new(strings.map(Some).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(
            (0..1_000).map(|row| (row % 3 > 0).then_some(row)).collect::<Int64Array>(),
        );
        let batch = table(vec![column("number", numbers), column("text", strings)]);
        let mut buffer = RowBuffer::new(&batch.schema(), 6_150);
        let mut groups = Vec::new();
        let mut write = |rows: &RecordBatch| -> Result<()> {
            groups.push(rows.clone());
            Ok(())
        };
        for start_row in (0..1_000).step_by(rows) {
            let slice = batch.slice(start_row, rows.min(1_000 - start_row));
            buffer.push(&slice, &mut write).unwrap();
        }
        buffer.flush(&mut write).unwrap();
        (groups, batch)
    }

    #[test]
    fn small_groups_grow_over_time() {
        let numbers: ArrayRef = Arc::new((0..200_000).collect::<Int64Array>());
        let batch = table(vec![column("number", numbers)]);
        // Space for one row.
        let mut buffer =
            RowBuffer::new(&batch.schema(), 8).with_max_group_bytes(1 << 20);
        let (mut groups, mut rows) = (0, 0);
        let mut write = |slice: &RecordBatch| -> Result<()> {
            (groups, rows) = (groups + 1, rows + slice.num_rows());
            Ok(())
        };
        buffer.push(&batch, &mut write).unwrap();
        buffer.flush(&mut write).unwrap();
        assert_eq!(rows, 200_000);
        // 2,048 groups of 1, 2, 4, 8, 16 and 32 rows have 129,024 rows; the rest is in groups
        // of 64.
        assert_eq!(groups, 6 * 2_048 + 70_976 / 64);
    }

    #[test]
    fn groups_depend_on_rows_and_not_on_batches() {
        let (groups, batch) = groups_of_table(1_000);
        // A hundred rows are 100 × (8 + 4) + (0 + 99) × 50 = 6,150 bytes.
        let lengths: Vec<usize> = groups.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(lengths, [100; 10]);
        assert_eq!(concat_batches(&batch.schema(), &groups).unwrap(), batch);
        for rows in [1, 7, 64, 333] {
            assert_eq!(groups_of_table(rows).0, groups, "{rows} at a time");
        }
    }
}
