//! Where records and tables go.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::{block::Record, error::Result, topic::Topic};

/// Takes records as they are: a writer of a log format.
pub trait RecordSink: Send {
    /// Writes one record.
    fn write(&mut self, record: Record<'_>) -> Result<()>;

    /// Writes what is still missing, the index for one. Without it the output is a
    /// truncated log.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Takes tables, one per topic: a writer of Parquet, CSV, Arrow IPC…
///
/// Each table is written by its own [`TableWriter`], so that several can be written
/// side by side.
pub trait TableSink: Sync {
    /// Starts the table of `topic`. It is called once for each topic that has rows.
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>>;
}

/// Takes the rows of one table.
pub trait TableWriter: Send {
    /// Writes some rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is still missing, the footer for one.
    fn finish(self: Box<Self>) -> Result<()>;
}
