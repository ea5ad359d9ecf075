//! Tables as PX4's Flight Review v2 stores them, so that its viewer opens them.
//!
//! The layout is that of PX4/flight-review-rs, `crates/converter/src/converter.rs` and
//! `metadata.rs`: one Parquet file for each topic, called `<topic>.parquet`, and
//! `<topic>_<multi id>.parquet` for all multi ids except 0; one column for each scalar, e.g.
//! `q[0]`; the first column is `timestamp`, microseconds since boot as `uint64`; in the same
//! folder are `manifest.json` and `metadata.json`. The viewer queries columns by name with DuckDB.
//!
//! These files differ on purpose in the following: a string of the log is one column, and not one
//! column for each character; columns have the order of the log, and are not sorted by name;
//! unknown times are null; other encodings make the files smaller. A topic whose name cannot be a
//! file name has a file with another name, so the viewer cannot query it. `analysis` is passed by
//! the caller, or null.

mod documents;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array as _, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{Error, ErrorKind, Result, TableSink, TableWriter, Topic};
use parking_lot::Mutex;

use crate::{
    column_formats::{
        flight_review::documents::{ManifestDocument, MetadataDocument},
        parquet::{Floats, ParquetWriter},
    },
    error::from_arrow,
    files::{
        file_name::{FileNames, NameStyle},
        staged_outputs::Outputs,
    },
    provenance::table_metadata,
    row_buffers::memory_budget::MemoryBudget,
    text::time_text::nanos,
};

pub use crate::column_formats::flight_review::documents::{
    Px4Change, Px4Message, Px4Metadata, Px4Position, Px4TaggedMessage, Px4Value,
};

/// Writes the files of Flight Review v2.
///
/// Tables must be in the flat view, with times on the log's own clock. After the last table,
/// [`finish`](Self::finish) writes the two documents.
#[derive(Debug)]
pub struct Px4Sink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    budget: MemoryBudget,
    completed: Arc<Mutex<Vec<CompletedTable>>>,
}

/// A table whose file is complete.
#[derive(Debug)]
struct CompletedTable {
    topic: String,
    instance: u32,
    rows: u64,
    file_name: String,
}

impl Px4Sink {
    /// Creates a sink that writes files among `outputs` for a log with `topics`, with `metadata`
    /// in each of them. It buffers at most `budget` of rows for each table.
    pub fn new(
        outputs: Arc<Outputs>,
        topics: &[Topic],
        metadata: BTreeMap<String, String>,
        budget: MemoryBudget,
    ) -> Self {
        let names = FileNames::new(NameStyle::OmitInstanceZero, topics);
        Self { outputs, names, metadata, budget, completed: Arc::default() }
    }

    /// Writes `manifest.json` and `metadata.json` for the log called `source`, with the topics
    /// that were written.
    pub fn finish(self, source: &str, flight: &Px4Metadata) -> Result<()> {
        let mut completed = self.completed.lock();
        completed.sort_by(|a, b| (&a.topic, a.instance).cmp(&(&b.topic, b.instance)));
        let files = completed.iter().map(|table| table.file_name.as_str());
        let manifest = ManifestDocument::new(source, flight, files);
        let topics = completed
            .iter()
            .map(|table| (table.topic.as_str(), table.instance, table.rows));
        let metadata = MetadataDocument::new(flight, topics);
        let json_error = |err: serde_json::Error| {
            Error::new(ErrorKind::Unsupported, "cannot write the metadata as JSON")
                .with_source(err)
        };
        let manifest = serde_json::to_vec_pretty(&manifest).map_err(json_error)?;
        let metadata = serde_json::to_vec_pretty(&metadata).map_err(json_error)?;
        self.outputs.write("manifest.json", &manifest)?;
        self.outputs.write("metadata.json", &metadata)
    }
}

impl TableSink for Px4Sink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let file_name = self.names.file_name(topic, "parquet");
        let file = self.outputs.create(&file_name)?;
        let schema = viewer_schema(schema)?;
        let metadata = table_metadata(topic, &self.metadata);
        let (floats, budget) = (Floats::default(), self.budget);
        let writer = ParquetWriter::new(file, &schema, metadata, floats, budget)?;
        let table = CompletedTable {
            topic: topic.name.clone(),
            instance: topic.instance,
            rows: 0,
            file_name,
        };
        let completed = self.completed.clone();
        Ok(Box::new(Px4Writer { schema, writer, table, completed }))
    }
}

struct Px4Writer {
    schema: SchemaRef,
    writer: ParquetWriter,
    table: CompletedTable,
    completed: Arc<Mutex<Vec<CompletedTable>>>,
}

impl TableWriter for Px4Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.table.rows += batch.num_rows() as u64;
        let mut columns = batch.columns().to_vec();
        if let Some(times) = columns.first_mut() {
            *times = to_micros(times)?;
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        self.writer.write(&batch.map_err(from_arrow)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, table, completed, .. } = *self;
        Box::new(writer).finish()?;
        completed.lock().push(table);
        Ok(())
    }
}

/// Returns `schema` as the viewer expects it: the time column is an integer column called
/// `timestamp`. Another column of that name, e.g. a 32-bit counter, gets a different name.
fn viewer_schema(schema: &SchemaRef) -> Result<SchemaRef> {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    let Some(time_field) = fields.first_mut() else {
        return Err(Error::new(ErrorKind::Malformed, "a table without columns"));
    };
    let is_nullable = time_field.is_nullable();
    *time_field = Arc::new(Field::new("timestamp", DataType::UInt64, is_nullable));
    let mut unused_name = "timestamp_logged".to_owned();
    while fields.iter().any(|field| *field.name() == unused_name) {
        unused_name.push('_');
    }
    for field in fields.iter_mut().skip(1).filter(|field| field.name() == "timestamp") {
        *field = Arc::new(Field::clone(field).with_name(&unused_name));
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Converts a time column to whole microseconds; negative times become null.
fn to_micros(times: &ArrayRef) -> Result<ArrayRef> {
    let Some(nanos) = nanos(times) else {
        return Err(Error::new(
            ErrorKind::Malformed,
            "the first column of a table is not a time",
        ));
    };
    let micros = nanos.iter().enumerate().map(|(row, nanos)| {
        let micros = u64::try_from(*nanos).ok()? / 1_000;
        times.is_valid(row).then_some(micros)
    });
    Ok(Arc::new(micros.collect::<UInt64Array>()))
}

#[cfg(test)]
mod tests;
