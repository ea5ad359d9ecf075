//! Rows that wait until they are worth writing.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use logtool_core::Result;

use crate::{
    budget::{Budget, Share},
    error::from_arrow,
};

/// The last rows of a table, not yet written.
#[derive(Debug)]
pub(crate) struct Held {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    share: Share,
}

/// So many batches are made one: each costs some 200 bytes a column.
const MAX_BATCHES: usize = 32;

impl Held {
    /// No rows yet, of a table with the columns `schema`.
    pub(crate) fn new(schema: &SchemaRef, budget: &Arc<Budget>) -> Self {
        let share = Budget::share(budget);
        Self { schema: schema.clone(), batches: Vec::new(), rows: 0, share }
    }

    /// How many rows wait.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many bytes they are in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.share.bytes()
    }

    /// Adds rows, and asks whether it is time to [take](Self::take) them.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<bool> {
        self.rows += batch.num_rows();
        let mut bytes = self.share.bytes() + batch.get_array_memory_size();
        self.batches.push(batch);
        if self.batches.len() >= MAX_BATCHES {
            let one =
                concat_batches(&self.schema, &self.batches).map_err(from_arrow)?;
            bytes = one.get_array_memory_size();
            self.batches = vec![one];
        }
        Ok(self.share.set(bytes))
    }

    /// Takes all rows that wait.
    pub(crate) fn take(&mut self) -> Vec<RecordBatch> {
        self.rows = 0;
        self.share.set(0);
        std::mem::take(&mut self.batches)
    }
}
