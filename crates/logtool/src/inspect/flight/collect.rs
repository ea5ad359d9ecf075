//! Reads the fields of a log that an analysis needs, in one pass.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::SchemaRef;
use logtool_core::{
    Columns, Damage, Log, Manifest, Selection, TableJob, TableSink, TableWriter,
    TimeBase, TimeRange, Topic, TopicId, TopicSet, View, export_tables,
};
use logtool_flight::{
    ACCELERATION, Dropout, FlightData, MAX_ELEMENTS, NeededTopic, ROTATION_SOURCES,
    RotationSource, Series, Spectrogram,
};
use logtool_ulog::topic_names;
use parking_lot::Mutex;

use crate::{
    error::Result,
    inspect::flight::{
        acceleration::AccelerationReader,
        fifo::{FifoReader, FifoSamples},
        rotation::{Rotation, RotationReader},
    },
    records::signals::numbers_of,
    text::units::count_of,
};

/// The maximum number of rows of a topic, which take 32 MiB and 16 MiB for each field. At 1000 Hz
/// that is more than an hour.
const MAX_ROWS: usize = 1 << 22;

/// The column with the durations of dropouts.
const DROPOUT_FIELD: &str = "duration_ms";

/// The collected topics, and the damage that reading found.
pub(super) struct CollectedData {
    pub(super) data: FlightData,
    pub(super) topics: TopicSet,
    pub(super) damage: Vec<Damage>,
    pub(super) remarks: Vec<String>,
    pub(super) fifos: Vec<FifoSamples>,
    /// Whether the log has none of the topics.
    pub(super) is_empty: bool,
}

/// The result that a topic is collected for.
enum Purpose {
    /// A series of these fields. The table has them in this order, after the time.
    Series(Vec<String>),
    /// The samples of a FIFO.
    Fifo(Box<FifoReader>),
    /// The spectrogram of an acceleration.
    Acceleration(Box<AccelerationReader>),
    /// The rotation of the vehicle.
    Rotation(Box<RotationReader>),
}

/// Reads the topics that statistics and diagnoses need.
pub(super) fn collect_flight(
    log: &dyn Log,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<CollectedData> {
    let mut collection = Collection::new(log);
    collection.add_needed(logtool_flight::flight_topics())?;
    for source in ROTATION_SOURCES {
        if let Some((id, topic)) = topics_called(log.manifest(), source.topic).next() {
            collection.add_rotation(source, id, topic)?;
        }
    }
    for (id, topic) in topics_called(log.manifest(), topic_names::DROPOUTS) {
        collection.add_series(id, topic, &[DROPOUT_FIELD])?;
    }
    collection.read(progress)
}

/// Returns a field, or the elements of a list that it may have.
fn elements(field: &str) -> Vec<String> {
    match field.split_once("[*]") {
        Some((list, rest)) => {
            (0..MAX_ELEMENTS).map(|index| format!("{list}[{index}]{rest}")).collect()
        }
        None => vec![field.to_owned()],
    }
}

/// Reads the topics that spectra and step responses need.
pub(super) fn collect_signals(
    log: &dyn Log,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<CollectedData> {
    let mut collection = Collection::new(log);
    collection.add_needed(logtool_flight::signal_topics())?;
    for name in FifoReader::TOPICS {
        if let Some((id, topic)) = topics_called(log.manifest(), name).next() {
            collection.add_fifo(name, id, topic)?;
        }
    }
    collection.read(progress)
}

/// Returns the topics with this name, in the order of the log.
fn topics_called<'m>(
    manifest: &'m Manifest,
    name: &'static str,
) -> impl Iterator<Item = (TopicId, &'m Topic)> {
    manifest.topics().filter(move |(_, topic)| topic.name == name)
}

/// The topics to read.
struct Collection<'l> {
    log: &'l dyn Log,
    /// By the labels of the topics.
    purposes: BTreeMap<String, Purpose>,
    columns_by_topic: BTreeMap<TopicId, Columns>,
}

impl<'l> Collection<'l> {
    fn new(log: &'l dyn Log) -> Self {
        Self { log, purposes: BTreeMap::new(), columns_by_topic: BTreeMap::new() }
    }

    fn add(
        &mut self,
        id: TopicId,
        topic: &Topic,
        indices: Vec<usize>,
        purpose: Purpose,
    ) {
        let columns = Columns { indices: Some(indices), ..Columns::new(View::Flat) };
        self.columns_by_topic.insert(id, columns);
        self.purposes.insert(topic.label().into_owned(), purpose);
    }

    /// Adds topics that analyses need.
    fn add_needed(&mut self, all: &[NeededTopic]) -> Result<()> {
        let manifest = self.log.manifest();
        let is_useful = |needed: &&NeededTopic| {
            let mut others = needed.only_with.iter();
            others.len() == 0
                || others.any(|name| topics_called(manifest, name).next().is_some())
        };
        for needed in all.iter().filter(is_useful) {
            let count = if needed.all_instances { usize::MAX } else { 1 };
            for (id, topic) in topics_called(manifest, needed.name).take(count) {
                let is_acceleration = needed.name == ACCELERATION.topic
                    && needed.fields == ACCELERATION.fields;
                if !(is_acceleration && self.add_acceleration(id, topic)?) {
                    self.add_series(id, topic, needed.fields)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a series with the `fields` that the topic has.
    fn add_series(
        &mut self,
        id: TopicId,
        topic: &Topic,
        fields: &[&str],
    ) -> Result<()> {
        let decoder = self.log.decoder(id, &Columns::new(View::Flat))?;
        let schema = decoder.schema();
        let found =
            fields.iter().flat_map(|field| elements(field)).filter_map(|field| {
                schema.index_of(&field).ok().map(|column| (column, field))
            });
        let mut found: Vec<(usize, String)> = found.collect();
        // The decoder delivers columns in the order of the schema.
        found.sort_unstable();
        found.dedup();
        // Releases of PX4 have other fields.
        if found.is_empty() {
            return Ok(());
        }
        let (indices, names) = found.into_iter().unzip();
        self.add(id, topic, indices, Purpose::Series(names));
        Ok(())
    }

    /// Adds the spectrogram of the acceleration. Returns whether the topic has its fields.
    fn add_acceleration(&mut self, id: TopicId, topic: &Topic) -> Result<bool> {
        let decoder = self.log.decoder(id, &Columns::new(View::Flat))?;
        let Some((indices, reader)) = AccelerationReader::new(decoder.schema()) else {
            return Ok(false);
        };
        self.add(id, topic, indices, Purpose::Acceleration(Box::new(reader)));
        Ok(true)
    }

    /// Adds the rotation of the vehicle, if the topic has its fields.
    fn add_rotation(
        &mut self,
        source: RotationSource,
        id: TopicId,
        topic: &Topic,
    ) -> Result<()> {
        let decoder = self.log.decoder(id, &Columns::new(View::Flat))?;
        if let Some((indices, reader)) = RotationReader::new(source, decoder.schema()) {
            self.add(id, topic, indices, Purpose::Rotation(Box::new(reader)));
        }
        Ok(())
    }

    /// Adds the samples of a FIFO, if the topic has the columns of PX4's.
    fn add_fifo(
        &mut self,
        name: &'static str,
        id: TopicId,
        topic: &Topic,
    ) -> Result<()> {
        let decoder = self.log.decoder(id, &Columns::new(View::Flat))?;
        let time = self.log.manifest().time.unwrap_or(TimeRange::ALL);
        if let Some((indices, reader)) = FifoReader::new(name, decoder.schema(), time) {
            self.add(id, topic, indices, Purpose::Fifo(Box::new(reader)));
        }
        Ok(())
    }

    /// Reads the topics in one pass.
    fn read(self, progress: &(dyn Fn(u64) + Sync)) -> Result<CollectedData> {
        let Self { log, purposes, columns_by_topic } = self;
        let manifest = log.manifest();
        let topics: TopicSet = columns_by_topic.keys().copied().collect();
        let done = Arc::new(Mutex::new(Vec::new()));
        let sink = CollectorSink { purposes: Mutex::new(purposes), done: done.clone() };
        let time = manifest.time.unwrap_or(TimeRange::ALL);
        // Values from before the start are those at the start. Later times are impossible.
        let selected = TimeRange { start: TimeRange::ALL.start, end: time.end };
        let job = TableJob {
            selection: Selection { topics: topics.clone(), time: selected },
            columns: Columns::new(View::Flat),
            columns_by_topic,
            time: TimeBase::default(),
            part_bytes: 4 << 20,
            progress,
        };
        let report = export_tables(log, &job, &sink)?;
        // A log without records has no duration.
        let span = manifest.time.map_or((0, 0), |time| {
            (time.start.as_nanos(), time.end.as_nanos().saturating_sub(1))
        });
        let mut data = FlightData::new(span);
        let (mut remarks, mut fifos) = (Vec::new(), Vec::new());
        // Whether a topic was read without keeping a series.
        let mut has_streamed_topic = false;
        for table in done.lock().drain(..) {
            has_streamed_topic |= matches!(
                table.purpose,
                Purpose::Acceleration(_) | Purpose::Rotation(_)
            );
            if table.dropped_rows > 0 {
                let rows = count_of(table.dropped_rows, "row");
                let label = &table.label;
                remarks.push(format!(
                    "{rows} of {label} after the first {MAX_ROWS} were not analysed"
                ));
            }
            match table.into_output() {
                TableOutput::Series(series)
                    if series.topic == topic_names::DROPOUTS =>
                {
                    let millis = series.column(DROPOUT_FIELD).unwrap_or_default();
                    let rows = series.times.iter().zip(millis);
                    data.dropouts.extend(rows.map(|(time, millis)| Dropout {
                        time: *time,
                        seconds: f64::from(*millis) / 1e3,
                    }));
                }
                TableOutput::Series(series) => data.series.push(series),
                TableOutput::Spectrogram(found) => {
                    data.streamed_spectrograms.extend(found)
                }
                TableOutput::Rotation(rotation) => {
                    data.rotation.push(rotation.maxima);
                    data.streamed_sampling.extend(rotation.sampling);
                }
                TableOutput::Fifo(mut fifo) => {
                    data.streamed_spectrograms.extend(fifo.spectrogram.take());
                    fifos.push(*fifo);
                }
            }
        }
        data.series.sort_by(|a, b| (&a.topic, a.instance).cmp(&(&b.topic, b.instance)));
        data.streamed_sampling.sort_by(|a, b| a.topic.cmp(&b.topic));
        let rank = |found: &Spectrogram| found.topic != ACCELERATION.topic;
        data.streamed_spectrograms
            .sort_by(|a, b| (rank(a), &a.topic).cmp(&(rank(b), &b.topic)));
        fifos.sort_by_key(|fifo| fifo.topic);
        let is_empty = data.series.is_empty() && !has_streamed_topic;
        Ok(CollectedData {
            data,
            topics,
            damage: report.damage,
            remarks,
            fifos,
            is_empty,
        })
    }
}

/// A sink that keeps the columns of tables.
struct CollectorSink {
    purposes: Mutex<BTreeMap<String, Purpose>>,
    done: Arc<Mutex<Vec<TableCollector>>>,
}

impl TableSink for CollectorSink {
    fn new_table(
        &self,
        topic: &Topic,
        _: &SchemaRef,
    ) -> logtool_core::Result<Box<dyn TableWriter>> {
        let label = topic.label().into_owned();
        let purpose = self.purposes.lock().remove(&label);
        let purpose = purpose.unwrap_or_else(|| Purpose::Series(Vec::new()));
        let columns = match &purpose {
            Purpose::Series(names) => names.len(),
            Purpose::Fifo(_) | Purpose::Acceleration(_) | Purpose::Rotation(_) => 0,
        };
        // The records were counted when the log was opened.
        let rows = topic.records.and_then(|records| usize::try_from(records).ok());
        let rows = rows.filter(|_| matches!(purpose, Purpose::Series(_)));
        let rows = rows.unwrap_or_default().min(MAX_ROWS);
        Ok(Box::new(TableWriterOf {
            table: TableCollector {
                topic: topic.name.clone(),
                instance: topic.instance,
                label,
                purpose,
                times: Vec::with_capacity(rows),
                columns: (0..columns).map(|_| Vec::with_capacity(rows)).collect(),
                dropped_rows: 0,
            },
            done: self.done.clone(),
        }))
    }
}

struct TableWriterOf {
    table: TableCollector,
    done: Arc<Mutex<Vec<TableCollector>>>,
}

/// The columns of a table so far.
struct TableCollector {
    topic: String,
    instance: u32,
    label: String,
    purpose: Purpose,
    times: Vec<i64>,
    columns: Vec<Vec<f32>>,
    /// The number of rows beyond [`MAX_ROWS`].
    dropped_rows: u64,
}

/// The result of a table.
enum TableOutput {
    Series(Series),
    Spectrogram(Option<Spectrogram>),
    Rotation(Rotation),
    Fifo(Box<FifoSamples>),
}

impl TableCollector {
    fn into_output(self) -> TableOutput {
        match self.purpose {
            Purpose::Fifo(reader) => TableOutput::Fifo(Box::new(reader.finish())),
            Purpose::Acceleration(reader) => TableOutput::Spectrogram(reader.finish()),
            Purpose::Rotation(reader) => {
                TableOutput::Rotation(reader.finish(&self.label))
            }
            Purpose::Series(names) => {
                let mut series = Series::new(self.topic, self.instance, self.times);
                for (name, column) in names.into_iter().zip(self.columns) {
                    series.add_column(name, column);
                }
                TableOutput::Series(series)
            }
        }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let times = batch.columns().first();
        let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
        let Some(times) = times else { return };
        match &mut self.purpose {
            Purpose::Fifo(reader) => return reader.add(batch),
            Purpose::Acceleration(reader) => return reader.add(batch),
            Purpose::Rotation(reader) => return reader.add(batch),
            Purpose::Series(_) => {}
        }
        let timed: Vec<usize> =
            (0..batch.num_rows()).filter(|row| times.is_valid(*row)).collect();
        let room = MAX_ROWS - self.times.len();
        let kept = timed.get(..room).unwrap_or(&timed);
        self.dropped_rows += (timed.len() - kept.len()) as u64;
        self.times.extend(kept.iter().map(|row| times.value(*row)));
        for (column, array) in
            self.columns.iter_mut().zip(batch.columns().iter().skip(1))
        {
            let numbers = numbers_of(array);
            let number = |row: &usize| numbers.get(*row).copied().unwrap_or(f64::NAN);
            column.extend(kept.iter().map(|row| number(row) as f32));
        }
    }
}

impl TableWriter for TableWriterOf {
    fn write(&mut self, batch: &RecordBatch) -> logtool_core::Result<()> {
        self.table.add(batch);
        Ok(())
    }

    fn finish(self: Box<Self>) -> logtool_core::Result<()> {
        self.done.lock().push(self.table);
        Ok(())
    }
}
