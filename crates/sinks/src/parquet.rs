//! Tables as Parquet files.
//!
//! Files are made for reading a few columns of a time span: each column has statistics
//! and an index of its pages, so that readers skip what they do not want. What is in
//! them is as the [view](logtool_core::View) of the tables has it, nested or flat.

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

pub use self::properties::Floats;
use crate::{
    error::from_parquet,
    file_name::FileNames,
    parquet::{
        properties::properties,
        row_groups::{FieldEncoder, RowGroups},
    },
    provenance::table_metadata,
    room::Room,
    row_buffer::Held,
    staged::{Outputs, Staged},
};

/// Writes Parquet files: one a topic.
#[derive(Clone, Debug)]
pub struct ParquetSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    room: Room,
    floats: Floats,
}

impl ParquetSink {
    /// Writes files called `names` among `outputs`, with `metadata` in each of them, and
    /// holds as many rows of each as there is `room` for.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
        room: Room,
    ) -> Self {
        Self { outputs, names, metadata, room, floats: Floats::default() }
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
        let (floats, room) = (self.floats, self.room);
        let writer = ParquetWriter::new(staged, schema, metadata, floats, room)?;
        Ok(Box::new(writer))
    }
}

/// Row groups grow to so many bytes where there is room for less: there may be 32,767 of them, of
/// which the writer keeps some kilobytes each.
const ROW_GROUP: usize = 16 << 20;

/// Writes one Parquet file.
///
/// Rows are held as they come until they are a row group: one that is being encoded takes
/// far more memory than its rows, so that none is while others wait.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<Slot>,
    groups: RowGroups,
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

impl ParquetWriter {
    pub(crate) fn new(
        staged: Staged,
        schema: &SchemaRef,
        metadata: BTreeMap<String, String>,
        floats: Floats,
        room: Room,
    ) -> Result<Self> {
        let columns =
            ArrowSchemaConverter::new().convert(schema).map_err(from_parquet)?;
        let properties = Arc::new(properties(schema, &columns, metadata, floats));
        let fields = schema.fields().iter();
        let fields = fields.map(|field| FieldEncoder::new(field, &properties));
        let groups = RowGroups::new(fields.collect::<Result<_>>()?);
        let file = SerializedFileWriter::new(
            Slot(Some(staged)),
            columns.root_schema_ptr(),
            properties,
        );
        let file = file.map_err(from_parquet)?;
        let held = Held::new(schema, room.bytes()).growing_to(ROW_GROUP);
        Ok(Self { file, groups, held })
    }
}

impl TableWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { file, groups, held } = self;
        held.push(batch, |rows| groups.write(file, rows))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Self { file, groups, held } = &mut *self;
        held.hand_on(|rows| groups.write(file, rows))?;
        groups.write_rest(file)?;
        // Not `into_inner`, which makes a text of what the system says.
        self.file.finish().map_err(from_parquet)?;
        self.file.inner_mut().0.take().map_or(Ok(()), Staged::finish)
    }
}

#[cfg(test)]
mod tests;
