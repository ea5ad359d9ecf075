//! Rows that wait until they are worth writing.

use std::mem;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use logtool_core::Result;

use crate::{
    error::from_arrow,
    memory_size::{bits, rows_of},
};

/// The last rows of a table, not yet written.
///
/// Which rows are taken together depends on the rows only, and not on the batches that
/// they come in.
#[derive(Debug)]
pub(crate) struct Held {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    bits: u64,
    most: u64,
    /// What `most` may grow to.
    enough: u64,
    /// How often rows were handed on since more are held.
    handed_on: u32,
}

/// So many batches are made one: each costs some 200 bytes a column.
const MAX_BATCHES: usize = 32;
/// The most rows that are held.
const MAX_ROWS: usize = 1 << 20;
/// After so many times, twice as much is handed on at a time, if it may grow.
const TIMES: u32 = 2048;

impl Held {
    /// No rows yet, of a table with the columns `schema`, of which `bytes` are written at a
    /// time.
    pub(crate) fn new(schema: &SchemaRef, bytes: usize) -> Self {
        let most = (8 * bytes as u64).max(1);
        let (schema, batches) = (schema.clone(), Vec::new());
        Self { schema, batches, rows: 0, bits: 0, most, enough: most, handed_on: 0 }
    }

    /// The same, of which more and more is written at a time, up to some `bytes`: for writers that
    /// keep something of each time until the end.
    pub(crate) fn growing_to(self, bytes: usize) -> Self {
        Self { enough: 8 * bytes as u64, ..self }
    }

    /// Adds the rows of `batch`, and hands on those that are worth writing, together.
    pub(crate) fn push(
        &mut self,
        batch: &RecordBatch,
        mut write: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            from += self.hold(batch, from)?;
            if self.bits >= self.most || self.rows >= MAX_ROWS {
                self.hand_on(&mut write)?;
            }
        }
        Ok(())
    }

    /// Hands on the rows that are left, if there are some.
    pub(crate) fn hand_on(
        &mut self,
        mut write: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        (self.rows, self.bits) = (0, 0);
        self.handed_on = self.handed_on.saturating_add(1);
        if self.handed_on == TIMES && self.most < self.enough {
            (self.handed_on, self.most) = (0, 2 * self.most);
        }
        let batches = mem::take(&mut self.batches);
        if batches.is_empty() { Ok(()) } else { write(&self.one(&batches)?) }
    }

    /// Takes as many of the rows of `batch` that begin with the one with the index `from` as
    /// there is room for, and says how many that are.
    fn hold(&mut self, batch: &RecordBatch, from: usize) -> Result<usize> {
        let most = (batch.num_rows() - from).min(MAX_ROWS - self.rows);
        let some = batch.slice(from, most);
        let rows = rows_of(&some, self.most - self.bits);
        let mut some = some.slice(0, rows);
        self.rows += rows;
        self.bits += bits(&some, 0..rows);
        let stays = self.bits < self.most && self.rows < MAX_ROWS;
        if stays && rows < batch.num_rows() {
            // As it is, it would keep all of the batch.
            some = self.one(&[some.clone(), some.slice(0, 0)])?;
        }
        self.batches.push(some);
        if self.batches.len() >= MAX_BATCHES {
            self.batches = vec![self.one(&self.batches)?];
        }
        Ok(rows)
    }

    fn one(&self, batches: &[RecordBatch]) -> Result<RecordBatch> {
        concat_batches(&self.schema, batches).map_err(from_arrow)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::testing::{column, table};

    /// The lengths of what is handed on of 1,000 rows that come so many at a time.
    fn cut(rows: usize) -> (Vec<RecordBatch>, RecordBatch) {
        let texts = (0..1_000).map(|row| "x".repeat(row % 100));
        let texts: ArrayRef = Arc::new(texts.map(Some).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(
            (0..1_000).map(|row| (row % 3 > 0).then_some(row)).collect::<Int64Array>(),
        );
        let batch = table(vec![column("number", numbers), column("text", texts)]);
        let mut held = Held::new(&batch.schema(), 6_150);
        let mut all = Vec::new();
        let mut write = |rows: &RecordBatch| -> Result<()> {
            all.push(rows.clone());
            Ok(())
        };
        for from in (0..1_000).step_by(rows) {
            let some = batch.slice(from, rows.min(1_000 - from));
            held.push(&some, &mut write).unwrap();
        }
        held.hand_on(&mut write).unwrap();
        (all, batch)
    }

    #[test]
    fn where_little_is_held_more_is_handed_on_at_a_time_with_time() {
        let numbers: ArrayRef = Arc::new((0..200_000).collect::<Int64Array>());
        let batch = table(vec![column("number", numbers)]);
        // Room for a row.
        let mut held = Held::new(&batch.schema(), 8).growing_to(1 << 20);
        let (mut groups, mut rows) = (0, 0);
        let mut write = |some: &RecordBatch| -> Result<()> {
            (groups, rows) = (groups + 1, rows + some.num_rows());
            Ok(())
        };
        held.push(&batch, &mut write).unwrap();
        held.hand_on(&mut write).unwrap();
        assert_eq!(rows, 200_000);
        // 2,048 each of 1, 2, 4, 8, 16 and 32 rows are 129,024 rows; the others are in groups of 64.
        assert_eq!(groups, 6 * 2_048 + 70_976 / 64);
    }

    #[test]
    fn rows_are_cut_by_what_they_are_and_not_by_how_they_come() {
        let (whole, batch) = cut(1_000);
        // A hundred rows are 100 × (8 + 4) + (0 + 99) × 50 = 6,150 bytes.
        let lengths: Vec<usize> = whole.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(lengths, [100; 10]);
        assert_eq!(concat_batches(&batch.schema(), &whole).unwrap(), batch);
        for rows in [1, 7, 64, 333] {
            assert_eq!(cut(rows).0, whole, "{rows} at a time");
        }
    }
}
