//! The sinks that write the tables of a request.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    ClockZero, Manifest, MetadataKey, Provenance, Result, TableSink, TableWriter,
    Topic, TopicSet,
};
use logtool_sinks::{
    CsvOptions, CsvSink, FileNames, Floats, Infinities, IpcSink, JsonLinesSink,
    MatSink, MemoryBudget, NameStyle, NpzSink, ParquetSink, SparkSink,
};
use parking_lot::Mutex;

use crate::{
    error::Remedy,
    jobs::convert::{
        ArrayFormat, FormatKind, OutputFormat, TableFormat, TableLayout, job::ExportJob,
    },
    source::input::open,
    time::clock::TimeChoice,
};

/// Creates the sink of the tables of `job`, whose files have these `names` and share `memory`.
/// [`ReadRequest`](crate::split::ReadRequest) creates those of splits.
pub(super) fn new(
    job: &ExportJob<'_>,
    names: FileNames,
    memory: MemoryBudget,
) -> Box<dyn TableSink> {
    let sink = plain(job, names, memory);
    match job.request.layout {
        Some(TableLayout::Spark) => Box::new(SparkSink::new(sink)),
        _ => sink,
    }
}

/// Returns the sink of tables whose columns are as they are.
fn plain(
    job: &ExportJob<'_>,
    names: FileNames,
    memory: MemoryBudget,
) -> Box<dyn TableSink> {
    let outputs = job.outputs.clone();
    let metadata = || metadata(job);
    match job.request.format.kind() {
        FormatKind::Tables(TableFormat::Jsonl) => {
            let infinities = if job.request.has_json_infinities {
                Infinities::as_large_numbers()
            } else {
                Infinities::default()
            };
            Box::new(JsonLinesSink::new(outputs, names).with_infinities(infinities))
        }
        FormatKind::Tables(TableFormat::Parquet) => {
            let sink = ParquetSink::new(outputs, names, metadata(), memory);
            match job.request.layout {
                Some(TableLayout::Spark) => Box::new(sink.with_floats(Floats::Plain)),
                _ => Box::new(sink),
            }
        }
        FormatKind::Arrays(ArrayFormat::Npz) => {
            Box::new(NpzSink::new(outputs, names, metadata(), memory))
        }
        FormatKind::Arrays(ArrayFormat::Mat) => {
            Box::new(MatSink::new(outputs, mat_file(job), metadata(), memory))
        }
        FormatKind::Tables(TableFormat::Arrow) => {
            Box::new(IpcSink::new(outputs, names, metadata(), memory))
        }
        // Images and points have a CSV table next to their files. Tracks and logs have no tables.
        FormatKind::Tables(TableFormat::Csv)
        | FormatKind::Images
        | FormatKind::Points(_)
        | FormatKind::Tracks(_)
        | FormatKind::Log(_) => {
            let mut options = CsvOptions::default();
            if job.request.is_csv_safe {
                options = options.with_marked_formulas();
            }
            if job.request.layout == Some(TableLayout::Spark) {
                options = options.for_spark();
            }
            Box::new(CsvSink::new(outputs, names, options))
        }
    }
}

/// Returns what helps against the losses that the `remarks` of the sink of `job` describe.
pub(super) fn remedy(job: &ExportJob<'_>, remarks: &[String]) -> Option<Remedy> {
    // A sink of JSON Lines has remarks on infinities only.
    let are_infinities = job.request.format == OutputFormat::Jsonl;
    (are_infinities && !remarks.is_empty()).then_some(Remedy::KeepInfinities)
}

/// Returns the memory for each of the tables of `topics`.
pub(super) fn table_budget(manifest: &Manifest, topics: &TopicSet) -> MemoryBudget {
    let converted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    MemoryBudget::for_topics(converted.map(|(_, topic)| topic))
}

/// Returns the name of the one file of a log.
fn mat_file(job: &ExportJob<'_>) -> String {
    let file = job.destination.file().and_then(Path::file_name);
    let stem = || open::stem_of(&job.opened.input);
    let named = || format!("{}.mat", stem().unwrap_or_else(|_| "log".to_owned()));
    file.map_or_else(named, |file| file.to_string_lossy().into_owned())
}

/// Returns the names of the files of topics.
pub(super) fn names(job: &ExportJob<'_>) -> FileNames {
    let stem = open::stem_of(&job.opened.input);
    job.names(match job.request.format {
        OutputFormat::Csv => {
            NameStyle::Prefixed(stem.unwrap_or_else(|_| "log".to_owned()))
        }
        _ => NameStyle::Topic,
    })
}

/// Returns the metadata of a table: the log that it was made from. Parameters and long strings
/// are left out, since every table would repeat them.
pub(super) fn metadata(job: &ExportJob<'_>) -> BTreeMap<String, String> {
    let opened = job.opened;
    let manifest = opened.log.manifest();
    let mut metadata = BTreeMap::new();
    let mut insert = |key: &str, value: String| {
        metadata.insert(format!("logtool.{key}"), value);
    };
    insert(Provenance::NAME, job.provenance.json());
    insert("log", opened.input.file_name().to_owned());
    insert("format", manifest.format.clone());
    insert("time", clock_name(manifest, job.request.clock()).to_owned());
    insert("clock", json(&manifest.clock));
    insert("damage", manifest.damage.len().to_string());
    for key in [MetadataKey::Info, MetadataKey::System, MetadataKey::Dropouts] {
        if let Some(value) = manifest.file_metadata(key) {
            insert(key.name(), json(&value.json()));
        }
    }
    metadata
}

/// Returns the name of the clock on which the times of tables are.
fn clock_name(manifest: &Manifest, choice: TimeChoice) -> &'static str {
    match (choice, manifest.clock.zero) {
        (TimeChoice::Relative, _) => "relative",
        (TimeChoice::Utc, _) => "utc",
        (TimeChoice::Boot, ClockZero::Boot) => "boot",
        (TimeChoice::Boot, ClockZero::ProgramStart) => "program_start",
        (TimeChoice::Boot, ClockZero::Unix) => "unix",
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // Metadata have string keys and plain values, so that this cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// A sink that counts the tables and rows it passes on.
pub(super) struct CountingSink<'s> {
    sink: &'s dyn TableSink,
    /// The number of tables so far.
    pub(super) tables: AtomicU64,
    /// The number of rows of each topic so far.
    rows: Mutex<BTreeMap<(String, u32), Arc<AtomicU64>>>,
}

impl<'s> CountingSink<'s> {
    pub(super) fn new(sink: &'s dyn TableSink) -> Self {
        Self { sink, tables: AtomicU64::new(0), rows: Mutex::default() }
    }

    /// Returns the number of rows of each topic so far.
    pub(super) fn topic_rows(&self) -> BTreeMap<(String, u32), u64> {
        let rows = self.rows.lock();
        let count = |count: &Arc<AtomicU64>| count.load(Ordering::Relaxed);
        rows.iter().map(|(topic, rows)| (topic.clone(), count(rows))).collect()
    }
}

impl TableSink for CountingSink<'_> {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        self.tables.fetch_add(1, Ordering::Relaxed);
        let writer = self.sink.new_table(topic, schema)?;
        let topic = (topic.name.clone(), topic.instance);
        let mut rows_by_topic = self.rows.lock();
        let rows = rows_by_topic.entry(topic).or_default().clone();
        Ok(Box::new(CountingWriter { writer, rows }))
    }

    fn finish(&self) -> Result<()> {
        self.sink.finish()
    }
}

struct CountingWriter {
    writer: Box<dyn TableWriter>,
    rows: Arc<AtomicU64>,
}

impl TableWriter for CountingWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        self.writer.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}
