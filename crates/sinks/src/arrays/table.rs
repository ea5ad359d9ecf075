//! Stores the rows of a table column by column in a temporary file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use logtool_core::Result;
use parking_lot::Mutex;

use crate::{
    arrays::{column::ArrayColumn, spill_file::SpillFile},
    files::staged_outputs::Outputs,
    row_buffers::{memory_budget::MemoryBudget, row_buffer::RowBuffer},
};

/// The state that the tables of a sink share.
#[derive(Debug)]
pub(super) struct SinkState {
    /// The temporary file, which is created together with the first table.
    spill_file: Mutex<Option<Arc<SpillFile>>>,
    budget: MemoryBudget,
}

/// A table whose rows are collected to be written as arrays.
#[derive(Debug)]
pub(super) struct ArrayTable {
    pub(super) columns: Vec<ArrayColumn>,
    pub(super) rows: u64,
    pub(super) spill_file: Arc<SpillFile>,
    buffer: RowBuffer,
}

/// Rows are stored in blocks of this many bytes, with a segment for each column.
const BLOCK_BYTES: usize = 4 << 20;

impl SinkState {
    /// Creates the state of a sink whose tables may each buffer `budget`.
    pub(super) fn new(budget: MemoryBudget) -> Self {
        Self { spill_file: Mutex::default(), budget }
    }

    /// Creates a table with the columns of `schema`; the temporary file is next to `outputs`.
    pub(super) fn table(
        &self,
        outputs: &Outputs,
        schema: &Schema,
    ) -> Result<ArrayTable> {
        let columns = schema
            .fields()
            .iter()
            .map(|field| ArrayColumn::new(field))
            .collect::<Result<_>>()?;
        let mut shared_file = self.spill_file.lock();
        let spill_file = match &*shared_file {
            Some(spill_file) => spill_file.clone(),
            None => {
                let spill_file = SpillFile::new(&outputs.scratch_dir(), outputs.dir())?;
                shared_file.insert(spill_file).clone()
            }
        };
        let schema = Arc::new(schema.clone());
        let buffer = RowBuffer::new(&schema, self.budget.bytes().min(BLOCK_BYTES));
        Ok(ArrayTable { columns, rows: 0, spill_file, buffer })
    }
}

impl ArrayTable {
    /// Appends the rows of `batch`.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { columns, rows, spill_file, buffer } = self;
        buffer.push(batch, |slice| store(columns, rows, spill_file, slice))
    }

    /// Stores the rows that are still buffered.
    pub(super) fn store_buffered(&mut self) -> Result<()> {
        let Self { columns, rows, spill_file, buffer } = self;
        buffer.flush(|slice| store(columns, rows, spill_file, slice))
    }
}

/// Stores the rows of `slice`, and adds their number to `stored_rows`.
fn store(
    columns: &mut [ArrayColumn],
    stored_rows: &mut u64,
    spill_file: &SpillFile,
    slice: &RecordBatch,
) -> Result<()> {
    for (column, array) in columns.iter_mut().zip(slice.columns()) {
        column.push(array, spill_file)?;
    }
    *stored_rows += slice.num_rows() as u64;
    Ok(())
}
