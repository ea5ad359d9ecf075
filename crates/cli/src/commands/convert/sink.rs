//! From what was asked for to a sink.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool::input::open;
use logtool_core::{
    ClockZero, Manifest, Provenance, Result, TableSink, TableWriter, Topic, TopicSet,
};
use logtool_sinks::{
    CsvOptions, CsvSink, FileNames, Floats, Infinities, IpcSink, JsonLinesSink,
    MatSink, NameStyle, NpzSink, ParquetSink, Room, SparkSink,
};

use crate::{
    args::{Layout, Target, TimeChoice},
    commands::convert::job::Job,
};

/// The sink of the tables that `job` asks for, in files called `names`, among which there is
/// so much `room`.
pub(super) fn new(job: &Job<'_>, names: FileNames, room: Room) -> Box<dyn TableSink> {
    let outputs = job.outputs.clone();
    let told = || metadata(job);
    match job.args.target() {
        Target::Jsonl => {
            let infinities = match job.args.keep_infinities {
                true => Infinities::as_large_numbers(),
                false => Infinities::default(),
            };
            Box::new(JsonLinesSink::new(outputs, names).with_infinities(infinities))
        }
        Target::Parquet => {
            let sink = ParquetSink::new(outputs, names, told(), room);
            match job.args.layout {
                Some(Layout::Spark) => {
                    Box::new(SparkSink::new(sink.with_floats(Floats::Plain)))
                }
                _ => Box::new(sink),
            }
        }
        Target::Npz => Box::new(NpzSink::new(outputs, names, told(), room)),
        Target::Mat => Box::new(MatSink::new(outputs, mat_file(job), told(), room)),
        Target::Arrow => Box::new(IpcSink::new(outputs, names, told(), room)),
        // What is made of others has a table beside its files.
        _ => {
            let options = match job.args.csv_safe {
                true => CsvOptions::default().without_formulas(),
                false => CsvOptions::default(),
            };
            Box::new(CsvSink::new(outputs, names, options))
        }
    }
}

/// The room that there is for each of the tables of `topics`.
pub(super) fn room(manifest: &Manifest, topics: &TopicSet) -> Room {
    let wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    Room::of(wanted.map(|(_, topic)| topic))
}

/// What the only file of a log is called.
fn mat_file(job: &Job<'_>) -> String {
    let file = job.args.one_file().and_then(Path::file_name);
    let stem = || open::stem_of(&job.opened.input);
    let named = || format!("{}.mat", stem().unwrap_or_else(|_| "log".to_owned()));
    file.map_or_else(named, |file| file.to_string_lossy().into_owned())
}

/// What the files of topics are called.
pub(super) fn names(job: &Job<'_>) -> FileNames {
    let stem = open::stem_of(&job.opened.input);
    job.names(match job.args.target() {
        Target::Csv => NameStyle::Prefixed(stem.unwrap_or_else(|_| "log".to_owned())),
        _ => NameStyle::Topic,
    })
}

/// What a table says of the log that it was made of. (Parameters and long texts are
/// left out: every table would have them again.)
pub(super) fn metadata(job: &Job<'_>) -> BTreeMap<String, String> {
    let (opened, args) = (job.opened, job.args);
    let manifest = opened.log.manifest();
    let mut metadata = BTreeMap::new();
    let mut tell = |key: &str, value: String| {
        metadata.insert(format!("logtool.{key}"), value);
    };
    tell(Provenance::NAME, job.provenance.json());
    tell("log", opened.input.file_name().to_owned());
    tell("format", manifest.format.clone());
    tell("time", told_time(manifest, args.clock.time()).to_owned());
    tell("clock", json(&manifest.clock));
    tell("damage", manifest.damage.len().to_string());
    for key in ["info", "system", "dropouts"] {
        if let Some(value) = manifest.metadata.get(key) {
            tell(key, json(&value.json()));
        }
    }
    metadata
}

/// On which clock the times of tables are.
fn told_time(manifest: &Manifest, choice: TimeChoice) -> &'static str {
    match (choice, manifest.clock.zero) {
        (TimeChoice::Relative, _) => "relative",
        (TimeChoice::Utc, _) => "utc",
        (TimeChoice::Boot, ClockZero::Boot) => "boot",
        (TimeChoice::Boot, ClockZero::ProgramStart) => "program_start",
        (TimeChoice::Boot, ClockZero::Unix) => "unix",
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // What a log says of itself has text keys and plain values only.
    serde_json::to_string(value).unwrap_or_default()
}

/// Counts what goes into a sink.
pub(super) struct Counted<'s> {
    sink: &'s dyn TableSink,
    /// How many tables it were so far.
    pub(super) tables: AtomicU64,
    /// How many rows of each topic it were so far.
    rows: Mutex<BTreeMap<(String, u32), Arc<AtomicU64>>>,
}

impl<'s> Counted<'s> {
    pub(super) fn new(sink: &'s dyn TableSink) -> Self {
        Self { sink, tables: AtomicU64::new(0), rows: Mutex::default() }
    }

    /// How many rows of each topic it were so far.
    pub(super) fn rows_of(&self) -> BTreeMap<(String, u32), u64> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |count: &Arc<AtomicU64>| count.load(Ordering::Relaxed);
        rows.iter().map(|(topic, rows)| (topic.clone(), count(rows))).collect()
    }
}

impl TableSink for Counted<'_> {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        self.tables.fetch_add(1, Ordering::Relaxed);
        let writer = self.sink.table(topic, schema)?;
        let topic = (topic.name.clone(), topic.instance);
        let mut all = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = all.entry(topic).or_default().clone();
        Ok(Box::new(CountedWriter { writer, rows }))
    }

    fn finish(&self) -> Result<()> {
        self.sink.finish()
    }
}

struct CountedWriter {
    writer: Box<dyn TableWriter>,
    rows: Arc<AtomicU64>,
}

impl TableWriter for CountedWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        self.writer.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}
