//! The rows of a table, put down column by column.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use logtool_core::Result;

use crate::{
    arrays::{column::Column, spill::Spill},
    room::Room,
    row_buffer::Held,
    staged::Outputs,
};

/// What the tables of a sink share.
#[derive(Debug)]
pub(super) struct Shared {
    spill: Mutex<Option<Arc<Spill>>>,
    room: Room,
}

/// A table on its way to be arrays.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    pub(super) spill: Arc<Spill>,
    held: Held,
}

/// So many bytes of rows are put down at once: a piece of each column.
const PIECE_BYTES: usize = 4 << 20;

impl Shared {
    /// Nothing, with so much `room` for each table.
    pub(super) fn new(room: Room) -> Self {
        Self { spill: Mutex::default(), room }
    }

    /// A table with the columns of `schema`, put down beside `outputs`.
    pub(super) fn table(&self, outputs: &Outputs, schema: &Schema) -> Result<Table> {
        let columns = schema.fields().iter().map(|field| Column::new(field));
        let columns = columns.collect::<Result<_>>()?;
        let mut spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
        let spill = match &*spill {
            Some(spill) => spill.clone(),
            None => {
                spill.insert(Spill::new(&outputs.scratch_dir(), outputs.dir())?).clone()
            }
        };
        let schema = Arc::new(schema.clone());
        let held = Held::new(&schema, self.room.bytes().min(PIECE_BYTES));
        Ok(Table { columns, rows: 0, spill, held })
    }
}

impl Table {
    /// Adds rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { columns, rows, spill, held } = self;
        held.push(batch, |some| put_down(columns, rows, spill, some))
    }

    /// Puts down the rows that wait.
    pub(super) fn put_down(&mut self) -> Result<()> {
        let Self { columns, rows, spill, held } = self;
        held.hand_on(|some| put_down(columns, rows, spill, some))
    }
}

/// Puts `some` rows down behind the `rows` that are.
fn put_down(
    columns: &mut [Column],
    rows: &mut u64,
    spill: &Spill,
    some: &RecordBatch,
) -> Result<()> {
    for (column, array) in columns.iter_mut().zip(some.columns()) {
        column.push(array, spill)?;
    }
    *rows += some.num_rows() as u64;
    Ok(())
}
