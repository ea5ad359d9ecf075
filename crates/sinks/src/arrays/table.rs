//! Stores the rows of a table column by column in a temporary file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use logtool_core::Result;
use parking_lot::Mutex;

use crate::{
    arrays::{column::ArrayColumn, spill::Spill},
    files::staged_outputs::Outputs,
    row_buffers::{memory_budget::MemoryBudget, row_buffer::RowBuffer},
};

/// The state that the tables of a sink share.
#[derive(Debug)]
pub(super) struct SinkState {
    spill: Mutex<Option<Arc<Spill>>>,
    budget: MemoryBudget,
}

/// A table whose rows are collected to be written as arrays.
#[derive(Debug)]
pub(super) struct ArrayTable {
    pub(super) columns: Vec<ArrayColumn>,
    pub(super) rows: u64,
    pub(super) spill: Arc<Spill>,
    buffer: RowBuffer,
}

/// Rows are stored in blocks of this many bytes, with a segment for each column.
const BLOCK_BYTES: usize = 4 << 20;

impl SinkState {
    /// Creates the state of a sink whose tables may each buffer `budget`.
    pub(super) fn new(budget: MemoryBudget) -> Self {
        Self { spill: Mutex::default(), budget }
    }

    /// Creates a table with the columns of `schema`; the temporary file is next to `outputs`.
    pub(super) fn table(
        &self,
        outputs: &Outputs,
        schema: &Schema,
    ) -> Result<ArrayTable> {
        let columns = schema.fields().iter().map(|field| ArrayColumn::new(field));
        let columns = columns.collect::<Result<_>>()?;
        let mut spill = self.spill.lock();
        let spill = match &*spill {
            Some(spill) => spill.clone(),
            None => {
                spill.insert(Spill::new(&outputs.scratch_dir(), outputs.dir())?).clone()
            }
        };
        let schema = Arc::new(schema.clone());
        let buffer = RowBuffer::new(&schema, self.budget.bytes().min(BLOCK_BYTES));
        Ok(ArrayTable { columns, rows: 0, spill, buffer })
    }
}

impl ArrayTable {
    /// Appends rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { columns, rows, spill, buffer } = self;
        buffer.push(batch, |slice| store(columns, rows, spill, slice))
    }

    /// Stores the rows that are still buffered.
    pub(super) fn store(&mut self) -> Result<()> {
        let Self { columns, rows, spill, buffer } = self;
        buffer.flush(|slice| store(columns, rows, spill, slice))
    }
}

/// Stores the rows `slice`; `rows` counts all that are stored.
fn store(
    columns: &mut [ArrayColumn],
    rows: &mut u64,
    spill: &Spill,
    slice: &RecordBatch,
) -> Result<()> {
    for (column, array) in columns.iter_mut().zip(slice.columns()) {
        column.push(array, spill)?;
    }
    *rows += slice.num_rows() as u64;
    Ok(())
}
