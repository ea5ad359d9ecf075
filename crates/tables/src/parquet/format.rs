//! The format Parquet, its manifests, and its open logs.

use std::sync::Arc;

use arrow_schema::{FieldRef, SchemaRef};
use logtool_core::{
    Columns, Cursor, Damage, Decoder, ErrorKind, Findings, Format, Log, LogAccess,
    Manifest, MatchConfidence, OpenOptions, Part, Result, Selection, Source, TimeRange,
    Timestamp, Topic, TopicId, TopicSet,
};
use serde::{Deserialize, Serialize};

use crate::{
    column_names::unique_names,
    parquet::{
        cursor::{RowCursor, lost_rows, untimed_rows},
        decoder::{self, RowDecoder},
        footer::{MAGIC, RowGroup},
        open_file::{OpenFile, data_fields, row_converter},
        times::{first_number, nanos_of, time_column},
    },
    time_column::{TimeColumn, TimeColumnChoice},
};

/// The format with default settings, for lists of formats.
pub const FORMAT: Parquet = Parquet { topic: None, time: None };

const NAME: &str = "parquet";

/// The metadata keys with the name and the instance of the topic, in files that logtool wrote.
const TOPIC_KEY: &str = "logtool.topic";
const INSTANCE_KEY: &str = "logtool.topic.instance";

/// Parquet files.
#[derive(Clone, Debug, Default)]
pub struct Parquet {
    topic: Option<String>,
    time: Option<TimeColumnChoice>,
}

impl Parquet {
    /// Sets the name of the topic for files without the name of a topic. The default is `table`.
    #[must_use]
    pub fn with_topic(self, name: impl Into<String>) -> Self {
        Self { topic: Some(name.into()), ..self }
    }

    /// Sets the time column. By default, it is found by its name or its type.
    #[must_use]
    pub fn with_time_column(self, choice: TimeColumnChoice) -> Self {
        Self { time: Some(choice), ..self }
    }
}

/// The private state of the format.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ParquetState {
    time: TimeColumn,
}

impl Format for Parquet {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self, _: &str, head: &[u8]) -> MatchConfidence {
        if head.starts_with(MAGIC) || head.starts_with(b"PARE") {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let file = OpenFile::new(source, options);
        let topic = self.topic.as_deref().unwrap_or("table");
        let (manifest, state) = manifest(&file, topic, self.time.as_ref())?;
        let (file, manifest) = (Arc::new(file), Arc::new(manifest));
        Ok(Box::new(ParquetLog { file, manifest, state }))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let state = manifest.decode_state(NAME)?;
        let file = Arc::new(OpenFile::new(source, options));
        Ok(Box::new(ParquetLog { file, manifest, state }))
    }
}

/// Reads the footer and the time column of `file`, and returns the manifest of the log.
fn manifest(
    file: &OpenFile,
    topic: &str,
    choice: Option<&TimeColumnChoice>,
) -> Result<(Manifest, ParquetState)> {
    let groups = file.row_groups()?;
    let first_value = |column: usize| {
        let Some(group) = groups.first() else { return Ok(None) };
        let batch = file.batches(group, Some(column)).and_then(|mut rows| rows.next());
        // A damaged row group is reported when it is read.
        let batch = batch.ok().flatten();
        Ok(batch.and_then(|batch| first_number(batch.columns().first()?)))
    };
    let schema = file.schema()?;
    let time_column = time_column(schema, choice, first_value)?;
    let fields = data_fields(schema, time_column.index);
    row_converter(&fields)?;
    let file_times = FileTimes::read(file, groups, &time_column)?;

    let metadata = file.metadata()?.metadata().clone();
    let entries = metadata.file_metadata().key_value_metadata();
    let metadata_value = |key: &str| {
        let entry = entries?.iter().find(|entry| entry.key == key)?;
        entry.value.clone().filter(|value| !value.is_empty())
    };
    let name = metadata_value(TOPIC_KEY).unwrap_or_else(|| topic.to_owned());
    let instance = metadata_value(INSTANCE_KEY).and_then(|text| text.parse().ok());
    let time = (!file_times.time.is_empty()).then_some(file_times.time);
    let state = ParquetState { time: time_column };
    let manifest = Manifest {
        format: NAME.to_owned(),
        bytes: file.source().len(),
        access: LogAccess::Indexed,
        topics: vec![Topic {
            encoding: NAME.to_owned(),
            instance: instance.unwrap_or_default(),
            records: Some(file_times.records),
            time,
            ..Topic::new(name, schema_of(&fields))
        }],
        parts: file_times.parts,
        clock: state.time.clock(time),
        time,
        damage: file_times.damage,
        remarks: vec![state.time.to_string()],
        format_state: Manifest::encode_state(&state)?,
        ..Manifest::default()
    };
    Ok((manifest, state))
}

/// Returns the schema of a topic with `fields`, which get unique names.
fn schema_of(fields: &[FieldRef]) -> SchemaRef {
    let names = unique_names(fields.iter().map(|field| field.name().as_str()));
    let fields = fields.iter().zip(names);
    let fields: Vec<FieldRef> = fields
        .map(|(field, name)| {
            Arc::new(field.as_ref().clone().with_name(name)) as FieldRef
        })
        .collect();
    decoder::schema(&fields)
}

/// The times of the rows of a file.
struct FileTimes {
    records: u64,
    time: TimeRange,
    parts: Vec<Part>,
    damage: Vec<Damage>,
}

impl FileTimes {
    /// Reads the column `time` of all `groups`.
    fn read(file: &OpenFile, groups: &[RowGroup], time: &TimeColumn) -> Result<Self> {
        let mut times = Self {
            records: 0,
            time: TimeRange::EMPTY,
            parts: Vec::new(),
            damage: Vec::new(),
        };
        for group in groups {
            let range = times.add(file, group, time)?;
            // There is no gap between parts, so that small row groups can be read together.
            let start = times.parts.last().map_or(0, |last| last.bytes.end);
            let bytes = start..group.bytes.end;
            times.parts.push(Part { bytes, topics: TopicSet::All, time: range });
            times.time = times.time.cover(&range);
        }
        Ok(times)
    }

    /// Adds the rows of `group`, and returns the range of their times.
    fn add(
        &mut self,
        file: &OpenFile,
        group: &RowGroup,
        time: &TimeColumn,
    ) -> Result<TimeRange> {
        let (mut range, mut untimed) = (TimeRange::EMPTY, 0);
        let mut batches = match file.batches(group, Some(time.index)) {
            Ok(batches) => batches,
            Err(err) if err.kind() == ErrorKind::Io => return Err(err),
            Err(err) => {
                lost_rows(&err, group, group.rows).add_to(&mut self.damage);
                return Ok(range);
            }
        };
        loop {
            let remaining = batches.remaining();
            let batch = match batches.next() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(err) if err.kind() == ErrorKind::Io => return Err(err),
                Err(err) => {
                    lost_rows(&err, group, remaining).add_to(&mut self.damage);
                    break;
                }
            };
            let Some(column) = batch.columns().first() else { break };
            for nanos in nanos_of(column, time.unit) {
                match nanos {
                    Some(nanos) => {
                        let time = Timestamp::from_nanos(nanos);
                        range = range.cover(&TimeRange::from_timestamp(time));
                        self.records += 1;
                    }
                    None => untimed += 1,
                }
            }
        }
        if untimed > 0 {
            untimed_rows(group, untimed, time).add_to(&mut self.damage);
        }
        Ok(range)
    }
}

/// An open Parquet file.
struct ParquetLog {
    file: Arc<OpenFile>,
    manifest: Arc<Manifest>,
    state: ParquetState,
}

impl Log for ParquetLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.file.source()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let groups = self.file.row_groups()?;
        let first = groups.partition_point(|group| group.bytes.end <= part.bytes.start);
        let end = groups.partition_point(|group| group.bytes.end <= part.bytes.end);
        let groups = groups.get(first..end).unwrap_or_default().to_vec();
        let time = self.state.time.clone();
        let fields = data_fields(self.file.schema()?, time.index);
        let converter =
            if fields.is_empty() { None } else { Some(row_converter(&fields)?) };
        let (file, selection) = (self.file.clone(), selection.clone());
        Ok(Box::new(RowCursor::new(file, time, groups, converter, selection)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let topic = self.manifest.topic(topic)?;
        Ok(Box::new(RowDecoder::new(&topic.schema, columns)?))
    }

    /// The remarks describe how the table is read, so they are not findings.
    fn check(&self, _: &mut Findings) -> Result<()> {
        Ok(())
    }
}
