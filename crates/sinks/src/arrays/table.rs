//! The rows of a table, put down column by column.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use logtool_core::Result;

use crate::{
    arrays::{column::Column, spill::Spill},
    budget::Budget,
    error::from_arrow,
    held::Held,
    staged::Outputs,
};

/// What the tables of a sink share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    spill: Mutex<Option<Arc<Spill>>>,
    budget: Arc<Budget>,
}

/// A table on its way to be arrays.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    pub(super) spill: Arc<Spill>,
    schema: SchemaRef,
    held: Held,
}

/// So many bytes of rows are put down at once: a piece of each column.
const PIECE_BYTES: usize = 4 << 20;

impl Shared {
    /// A table with the columns of `schema`, put down beside `outputs`.
    pub(super) fn table(&self, outputs: &Outputs, schema: &Schema) -> Result<Table> {
        let columns = schema.fields().iter().map(|field| Column::new(field));
        let columns = columns.collect::<Result<_>>()?;
        let mut spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
        let spill = match &*spill {
            Some(spill) => spill.clone(),
            None => spill.insert(Spill::new(outputs.dir())?).clone(),
        };
        let schema = Arc::new(schema.clone());
        let held = Held::new(&schema, &self.budget);
        Ok(Table { columns, rows: 0, spill, schema, held })
    }
}

impl Table {
    /// Adds rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.held.push(batch.clone())? || self.held.bytes() >= PIECE_BYTES {
            self.put_down()?;
        }
        Ok(())
    }

    /// Puts down the rows that wait.
    pub(super) fn put_down(&mut self) -> Result<()> {
        let batches = self.held.take();
        if batches.is_empty() {
            return Ok(());
        }
        let batch = concat_batches(&self.schema, &batches).map_err(from_arrow)?;
        for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
            column.push(array, &self.spill)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }
}
