//! Tables as Arrow IPC files, also known as Feather: columns in their layout in memory.

use std::{collections::BTreeMap, io::BufWriter, sync::Arc};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{Schema, SchemaRef};
use logtool_core::{Result, TableSink, TableWriter, Topic};

use crate::{
    column_formats::dictionary_unifier::DictionaryUnifier,
    error::from_arrow,
    files::{
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    provenance::table_metadata,
    row_buffers::{memory_budget::MemoryBudget, row_buffer::RowBuffer},
};

/// Writes one Arrow IPC file for each topic, or an IPC stream to standard output. Columns of
/// value names are dictionary columns.
#[derive(Clone, Debug)]
pub struct IpcSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    budget: MemoryBudget,
}

impl IpcSink {
    /// Creates a sink that writes files with `names` among `outputs`, with `metadata` in each of
    /// them. It buffers at most `budget` of rows for each table.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
        budget: MemoryBudget,
    ) -> Self {
        Self { outputs, names, metadata, budget }
    }
}

impl TableSink for IpcSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let file = self.outputs.create(&self.names.file_name(topic, "arrow"))?;
        let schema = file_schema(topic, schema, &self.metadata);
        let buffered_file = BufWriter::with_capacity(32 << 10, file);
        let writer = if self.outputs.is_stdout() {
            FormatWriter::Stream(
                StreamWriter::try_new(buffered_file, &schema).map_err(from_arrow)?,
            )
        } else {
            FormatWriter::File(
                FileWriter::try_new(buffered_file, &schema).map_err(from_arrow)?,
            )
        };
        let buffer = RowBuffer::new(&schema, self.budget.bytes().min(BATCH_BYTES));
        let dictionaries = DictionaryUnifier::new(&schema)?;
        Ok(Box::new(IpcWriter { dictionaries, writer, buffer }))
    }
}

struct IpcWriter {
    dictionaries: DictionaryUnifier,
    writer: FormatWriter,
    buffer: RowBuffer,
}

/// The two variants of Arrow IPC: a stream is read from start to end; a reader of a file starts
/// with the footer at its end.
enum FormatWriter {
    File(FileWriter<BufWriter<StagedFile>>),
    Stream(StreamWriter<BufWriter<StagedFile>>),
}

/// The target size of batches, if the memory budget allows it. Each batch adds about 100 bytes for
/// each column to the file.
const BATCH_BYTES: usize = 1 << 20;

impl TableWriter for IpcWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.dictionaries.apply(batch)?;
        let Self { writer, buffer, .. } = self;
        buffer.push(&batch, |rows| writer.write(rows))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { mut writer, mut buffer, .. } = *self;
        buffer.flush(|rows| writer.write(rows))?;
        let buffered_file = match writer {
            FormatWriter::File(writer) => writer.into_inner(),
            FormatWriter::Stream(writer) => writer.into_inner(),
        }
        .map_err(from_arrow)?;
        buffered_file.into_inner().map_err(|err| err.into_error())?.finish()
    }
}

impl FormatWriter {
    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        match self {
            Self::File(writer) => writer.write(rows),
            Self::Stream(writer) => writer.write(rows),
        }
        .map_err(from_arrow)
    }
}

/// Returns `schema` with the metadata of `topic` and of the log, which is `metadata`.
fn file_schema(
    topic: &Topic,
    schema: &SchemaRef,
    metadata: &BTreeMap<String, String>,
) -> SchemaRef {
    let mut schema_metadata = schema.metadata().clone();
    schema_metadata.extend(table_metadata(topic, metadata));
    Arc::new(Schema::new_with_metadata(schema.fields().clone(), schema_metadata))
}

#[cfg(test)]
mod tests;
