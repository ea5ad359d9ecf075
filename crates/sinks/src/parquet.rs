//! Tables as Parquet files.

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

mod properties;

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
        let properties = properties(schema, table_metadata(topic, &self.metadata))?;
        let writer = ArrowWriter::try_new(staged, schema.clone(), Some(properties))
            .map_err(from_parquet)?;
        Ok(Box::new(ParquetWriter { writer, share: Budget::share(&self.budget) }))
    }
}

struct ParquetWriter {
    writer: ArrowWriter<Staged>,
    share: Share,
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
