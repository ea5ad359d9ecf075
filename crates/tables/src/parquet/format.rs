//! The format, its manifests, and its open logs.

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
        cursor::{RowCursor, TOPIC, lost_rows, untimed_rows},
        decoder::{self, RowDecoder},
        footer::{MAGIC, RowGroup},
        open_file::{OpenFile, own_fields, row_converter},
        times::{first_number, nanos_of, time_column},
    },
    time_column::{TimeColumn, TimeColumnChoice},
};

/// The format, for lists of formats.
pub const FORMAT: Parquet = Parquet { topic: None, time: None };

const NAME: &str = "parquet";

/// The keys of the metadata of a file with the name of its topic, as logtool writes it.
const TOPIC_KEY: &str = "logtool.topic";
const INSTANCE_KEY: &str = "logtool.topic.instance";

/// Parquet files.
#[derive(Clone, Debug, Default)]
pub struct Parquet {
    topic: Option<String>,
    time: Option<TimeColumnChoice>,
}

impl Parquet {
    /// Sets the name of the topic, unless the file states one. It is `table` otherwise.
    #[must_use]
    pub fn with_topic(self, name: impl Into<String>) -> Self {
        Self { topic: Some(name.into()), ..self }
    }

    /// Sets the time column, which is found by its name or its type otherwise.
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
    let first = |column: usize| {
        let Some(group) = groups.first() else { return Ok(None) };
        let batch = file.batches(group, Some(column)).and_then(|mut rows| rows.next());
        // A damaged row group is reported when it is read.
        let batch = batch.ok().flatten();
        Ok(batch.and_then(|batch| first_number(batch.columns().first()?)))
    };
    let schema = file.schema()?;
    let time_column = time_column(schema, choice, first)?;
    let fields = own_fields(schema, time_column.index);
    row_converter(&fields)?;
    let found = TimesOfFile::read(file, groups, &time_column)?;

    let metadata = file.metadata()?.metadata().clone();
    let entries = metadata.file_metadata().key_value_metadata();
    let stated = |key: &str| {
        let entry = entries?.iter().find(|entry| entry.key == key)?;
        entry.value.clone().filter(|value| !value.is_empty())
    };
    let name = stated(TOPIC_KEY).unwrap_or_else(|| topic.to_owned());
    let instance = stated(INSTANCE_KEY).and_then(|text| text.parse().ok());
    let time = (!found.time.is_empty()).then_some(found.time);
    let state = ParquetState { time: time_column };
    let manifest = Manifest {
        format: NAME.to_owned(),
        bytes: file.source().len(),
        access: LogAccess::Indexed,
        topics: vec![Topic {
            encoding: NAME.to_owned(),
            instance: instance.unwrap_or_default(),
            records: Some(found.records),
            time,
            ..Topic::new(name, schema_of(&fields))
        }],
        parts: found.parts,
        clock: state.time.clock(time),
        time,
        damage: found.damage,
        remarks: vec![state.time.to_string()],
        format_state: Manifest::encode_state(&state)?,
        ..Manifest::default()
    };
    Ok((manifest, state))
}

/// Returns the columns of a topic with `fields`, whose names differ from each other.
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
struct TimesOfFile {
    records: u64,
    time: TimeRange,
    parts: Vec<Part>,
    damage: Vec<Damage>,
}

impl TimesOfFile {
    /// Reads the column `time` of all `groups`.
    fn read(file: &OpenFile, groups: &[RowGroup], time: &TimeColumn) -> Result<Self> {
        let mut found = Self {
            records: 0,
            time: TimeRange::EMPTY,
            parts: Vec::new(),
            damage: Vec::new(),
        };
        for group in groups {
            let range = found.add(file, group, time)?;
            // Parts touch each other, so that small row groups are read together.
            let start = found.parts.last().map_or(0, |last| last.bytes.end);
            let bytes = start..group.bytes.end;
            found.parts.push(Part { bytes, topics: TopicSet::All, time: range });
            found.time = found.time.cover(&range);
        }
        Ok(found)
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
            let left = batches.left();
            let batch = match batches.next() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(err) if err.kind() == ErrorKind::Io => return Err(err),
                Err(err) => {
                    lost_rows(&err, group, left).add_to(&mut self.damage);
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
        let all = self.file.row_groups()?;
        let first = all.partition_point(|group| group.bytes.end <= part.bytes.start);
        let end = all.partition_point(|group| group.bytes.end <= part.bytes.end);
        let groups = all.get(first..end).unwrap_or_default().to_vec();
        let time = self.state.time.clone();
        let fields = own_fields(self.file.schema()?, time.index);
        let converter =
            if fields.is_empty() { None } else { Some(row_converter(&fields)?) };
        let (file, selection) = (self.file.clone(), selection.clone());
        Ok(Box::new(RowCursor::new(file, time, groups, converter, selection)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        debug_assert_eq!(topic, TOPIC);
        let topic = self.manifest.get(topic)?;
        Ok(Box::new(RowDecoder::new(&topic.schema, columns)?))
    }

    /// Remarks describe how the table is read, which is no finding.
    fn check(&self, _: &mut Findings) -> Result<()> {
        Ok(())
    }
}
