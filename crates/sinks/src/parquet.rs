//! Tables as Parquet files.
//!
//! Files are made for reading a few columns of a time span: each column has statistics
//! and an index of its pages, so that readers skip what they do not want. What is in
//! them is as the [view](logtool_core::View) of the tables has it, nested or flat.

mod properties;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Result, TableSink, TableWriter, Topic};
use parquet::arrow::ArrowWriter;

use crate::{
    budget::{Budget, Share},
    error::from_parquet,
    file_name::FileNames,
    parquet::properties::properties,
    provenance::table_metadata,
    staged::{Outputs, Staged},
};

/// Writes Parquet files: one a topic.
#[derive(Clone, Debug)]
pub struct ParquetSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    budget: Arc<Budget>,
}

impl ParquetSink {
    /// Writes files called `names` among `outputs`, with `metadata` in each of them.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
    ) -> Self {
        Self { outputs, names, metadata, budget: Arc::default() }
    }
}

impl TableSink for ParquetSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "parquet"))?;
        let metadata = table_metadata(topic, &self.metadata);
        let share = Budget::share(&self.budget);
        Ok(Box::new(ParquetWriter::new(staged, schema, metadata, share)?))
    }
}

/// Writes one Parquet file.
///
/// What belongs to one row group is held, compressed, until the row group is full, or
/// until all tables together hold too much.
pub(crate) struct ParquetWriter {
    writer: ArrowWriter<Staged>,
    share: Share,
}

impl ParquetWriter {
    pub(crate) fn new(
        staged: Staged,
        schema: &SchemaRef,
        metadata: BTreeMap<String, String>,
        share: Share,
    ) -> Result<Self> {
        let properties = properties(schema, metadata)?;
        let writer = ArrowWriter::try_new(staged, schema.clone(), Some(properties))
            .map_err(from_parquet)?;
        Ok(Self { writer, share })
    }
}

impl TableWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(from_parquet)?;
        if self.share.set(self.writer.memory_size()) {
            self.writer.flush().map_err(from_parquet)?;
            self.share.set(self.writer.memory_size());
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.into_inner().map_err(from_parquet)?.finish()
    }
}

#[cfg(test)]
mod tests;
