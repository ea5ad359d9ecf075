//! Tables as Parquet files.
//!
//! Files are made for reading a few columns of a time span: each column has statistics
//! and an index of its pages, so that readers skip what they do not want. What is in
//! them is as the [view](logtool_core::View) of the tables has it, nested or flat.

mod properties;
mod row_group;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Result, TableSink, TableWriter, Topic};
use parquet::{arrow::ArrowSchemaConverter, file::writer::SerializedFileWriter};

pub use self::properties::Floats;
use crate::{
    budget::Budget,
    error::from_parquet,
    file_name::FileNames,
    held::Held,
    parquet::{
        properties::properties,
        row_group::{FieldEncoder, write_row_group},
    },
    provenance::table_metadata,
    staged::{Outputs, Staged},
};

/// Writes Parquet files: one a topic.
#[derive(Clone, Debug)]
pub struct ParquetSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    floats: Floats,
    budget: Arc<Budget>,
}

impl ParquetSink {
    /// Writes files called `names` among `outputs`, with `metadata` in each of them.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
    ) -> Self {
        let (floats, budget) = (Floats::default(), Arc::default());
        Self { outputs, names, metadata, floats, budget }
    }

    /// The same, with floats written as `floats` says.
    pub fn with_floats(self, floats: Floats) -> Self {
        Self { floats, ..self }
    }
}

impl TableSink for ParquetSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "parquet"))?;
        let metadata = table_metadata(topic, &self.metadata);
        let (floats, budget) = (self.floats, &self.budget);
        let writer = ParquetWriter::new(staged, schema, metadata, floats, budget)?;
        Ok(Box::new(writer))
    }
}

/// Writes one Parquet file.
///
/// Rows are held as they come until they are a row group, or until all tables together
/// hold too much: a row group that is being encoded takes far more memory than its
/// rows, so that none is while others wait.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<Slot>,
    fields: Vec<FieldEncoder>,
    held: Held,
}

/// The file, until it is whole.
struct Slot(Option<Staged>);

impl Write for Slot {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.0 else {
            return Err(io::Error::other("the file is finished"));
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Staged::flush)
    }
}

/// The most rows of a row group.
const MAX_ROWS: usize = 1 << 20;
/// The most bytes of a row group, in memory.
const MAX_BYTES: usize = 16 << 20;

impl ParquetWriter {
    pub(crate) fn new(
        staged: Staged,
        schema: &SchemaRef,
        metadata: BTreeMap<String, String>,
        floats: Floats,
        budget: &Arc<Budget>,
    ) -> Result<Self> {
        let columns =
            ArrowSchemaConverter::new().convert(schema).map_err(from_parquet)?;
        let properties = Arc::new(properties(schema, &columns, metadata, floats));
        let fields = schema.fields().iter();
        let fields = fields.map(|field| FieldEncoder::new(field, &properties));
        let fields = fields.collect::<Result<_>>()?;
        let file = SerializedFileWriter::new(
            Slot(Some(staged)),
            columns.root_schema_ptr(),
            properties,
        );
        let file = file.map_err(from_parquet)?;
        Ok(Self { file, fields, held: Held::new(schema, budget) })
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = self.held.bytes();
        let batches = self.held.take();
        if batches.is_empty() {
            return Ok(());
        }
        write_row_group(&mut self.file, &self.fields, &batches, bytes)
            .map_err(from_parquet)
    }
}

impl TableWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let rows = (batch.num_rows() - from).min(MAX_ROWS - self.held.rows());
            let is_time = self.held.push(batch.slice(from, rows))?;
            if is_time || self.held.rows() >= MAX_ROWS || self.held.bytes() >= MAX_BYTES
            {
                self.flush()?;
            }
            from += rows;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        // Not `into_inner`, which makes a text of what the system says.
        self.file.finish().map_err(from_parquet)?;
        self.file.inner_mut().0.take().map_or(Ok(()), Staged::finish)
    }
}

#[cfg(test)]
mod tests;
