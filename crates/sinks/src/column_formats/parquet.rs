//! Tables as Parquet files.
//!
//! Files are optimised for reading a few columns of a time range: each column has statistics and
//! a page index, so that readers skip other pages. Columns are nested or flat, depending on the
//! [view](logtool_core::View) of the tables.

mod properties;
mod row_groups;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Result, TableSink, TableWriter, Topic};
use parquet::{arrow::ArrowSchemaConverter, file::writer::SerializedFileWriter};

use crate::{
    column_formats::parquet::{
        properties::properties,
        row_groups::{FieldEncoder, RowGroups},
    },
    error::from_parquet,
    files::{
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    provenance::table_metadata,
    row_buffers::{memory_budget::MemoryBudget, row_buffer::RowBuffer},
};

pub use self::properties::Floats;

/// Writes one Parquet file for each topic.
#[derive(Clone, Debug)]
pub struct ParquetSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    budget: MemoryBudget,
    floats: Floats,
}

impl ParquetSink {
    /// Creates a sink that writes files with `names` among `outputs`, with `metadata` in each of
    /// them. It buffers at most `budget` of rows for each table.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
        budget: MemoryBudget,
    ) -> Self {
        Self { outputs, names, metadata, budget, floats: Floats::default() }
    }

    /// Writes floats with the encoding `floats`.
    pub fn with_floats(self, floats: Floats) -> Self {
        Self { floats, ..self }
    }
}

impl TableSink for ParquetSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let file = self.outputs.create(&self.names.file_name(topic, "parquet"))?;
        let metadata = table_metadata(topic, &self.metadata);
        let (floats, budget) = (self.floats, self.budget);
        let writer = ParquetWriter::new(file, schema, metadata, floats, budget)?;
        Ok(Box::new(writer))
    }
}

/// If the memory budget is smaller than this, row groups start small and may grow up to this size:
/// a file has at most 32,767 row groups, and the writer keeps a few kilobytes for each.
const MAX_ROW_GROUP_BYTES: usize = 16 << 20;

/// Writes one Parquet file.
///
/// Rows are buffered until they fill a row group. Encoding takes far more memory than the rows
/// themselves, so no encoder exists while rows are collected.
pub(crate) struct ParquetWriter {
    writer: SerializedFileWriter<FinishableFile>,
    groups: RowGroups,
    buffer: RowBuffer,
}

/// The file, or `None` after it is finished.
struct FinishableFile(Option<StagedFile>);

impl Write for FinishableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.0 else {
            return Err(io::Error::other("the file is finished"));
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), StagedFile::flush)
    }
}

impl ParquetWriter {
    /// Creates a writer of a table with the columns `schema` and with `metadata`.
    pub(crate) fn new(
        file: StagedFile,
        schema: &SchemaRef,
        metadata: BTreeMap<String, String>,
        floats: Floats,
        budget: MemoryBudget,
    ) -> Result<Self> {
        let columns =
            ArrowSchemaConverter::new().convert(schema).map_err(from_parquet)?;
        let properties = Arc::new(properties(schema, &columns, metadata, floats));
        let encoders = schema
            .fields()
            .iter()
            .map(|field| FieldEncoder::new(field, &properties))
            .collect::<Result<_>>()?;
        let writer = SerializedFileWriter::new(
            FinishableFile(Some(file)),
            columns.root_schema_ptr(),
            properties,
        );
        Ok(Self {
            writer: writer.map_err(from_parquet)?,
            groups: RowGroups::new(encoders),
            buffer: RowBuffer::new(schema, budget.bytes())
                .with_max_group_bytes(MAX_ROW_GROUP_BYTES),
        })
    }
}

impl TableWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { writer, groups, buffer } = self;
        buffer.push(batch, |rows| groups.write(writer, rows))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Self { writer, groups, buffer } = &mut *self;
        buffer.flush(|rows| groups.write(writer, rows))?;
        groups.write_remaining(writer)?;
        // Not `into_inner`, which converts an I/O error to a string.
        writer.finish().map_err(from_parquet)?;
        writer.inner_mut().0.take().map_or(Ok(()), StagedFile::finish)
    }
}

#[cfg(test)]
mod tests;
