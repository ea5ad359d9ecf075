//! Reads the fields of a log that analyses need, in one pass.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::SchemaRef;
use logtool_core::{
    Columns, Damage, Log, Selection, TableJob, TableSink, TableWriter, TimeBase,
    TimeRange, Topic, TopicId, TopicSet, View, export_tables,
};
use logtool_flight::{AnalysisScope, Dropout, FlightData, Series, needed_topics};
use logtool_ulog::topic_names;
use parking_lot::Mutex;

use crate::{
    error::Result,
    inspect::flight::fifo::{FifoReader, FifoSamples},
    records::signals::numbers_of,
    text::units::count_of,
};

/// The maximum number of rows of a topic, which take 32 MiB and 16 MiB for each field. At 1000 Hz
/// that is more than an hour.
const MAX_ROWS: usize = 1 << 22;

/// The column with the durations of dropouts.
const DROPOUT_FIELD: &str = "duration_ms";

/// The collected topics, and the damage that reading found.
pub(super) struct Collected {
    pub(super) data: FlightData,
    pub(super) topics: TopicSet,
    pub(super) damage: Vec<Damage>,
    pub(super) remarks: Vec<String>,
    pub(super) fifos: Vec<FifoSamples>,
}

/// The result that a topic is collected for.
enum Purpose {
    /// A series of these fields. The table has them in this order, after the time.
    Series(Vec<String>),
    /// The samples of a FIFO.
    Fifo(Box<FifoReader>),
}

/// Reads the topics that the analyses of `scope` need.
pub(super) fn collect(
    log: &dyn Log,
    scope: AnalysisScope,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Collected> {
    let manifest = log.manifest();
    let time = manifest.time.unwrap_or(TimeRange::ALL);
    let all = |name: &str| {
        let name = name.to_owned();
        manifest.topics().filter(move |(_, topic)| topic.name == name)
    };
    let mut purposes = BTreeMap::new();
    let mut columns_of = BTreeMap::new();
    let mut want = |id: TopicId, topic: &Topic, fields: &[&str]| -> Result<()> {
        let decoder = log.decoder(id, &Columns::all(View::Flat))?;
        let schema = decoder.schema();
        let found = fields.iter().filter_map(|field| {
            schema.index_of(field).ok().map(|column| (column, (*field).to_owned()))
        });
        let mut found: Vec<(usize, String)> = found.collect();
        // The decoder delivers columns in the order of the schema.
        found.sort_unstable();
        found.dedup();
        let (only, names) = found.into_iter().unzip();
        columns_of.insert(id, Columns { only: Some(only), ..Columns::all(View::Flat) });
        purposes.insert(topic.label().into_owned(), Purpose::Series(names));
        Ok(())
    };
    for needed in needed_topics(scope) {
        let count = if needed.has_all_instances { usize::MAX } else { 1 };
        for (id, topic) in all(needed.name).take(count) {
            want(id, topic, needed.fields)?;
        }
    }
    for (id, topic) in all(topic_names::DROPOUTS) {
        want(id, topic, &[DROPOUT_FIELD])?;
    }
    if scope == AnalysisScope::Signals {
        for name in FifoReader::TOPICS {
            for (id, topic) in all(name).take(1) {
                let decoder = log.decoder(id, &Columns::all(View::Flat))?;
                let Some((only, reader)) =
                    FifoReader::new(name, decoder.schema(), time)
                else {
                    continue;
                };
                let columns = Columns { only: Some(only), ..Columns::all(View::Flat) };
                columns_of.insert(id, columns);
                purposes.insert(
                    topic.label().into_owned(),
                    Purpose::Fifo(Box::new(reader)),
                );
            }
        }
    }
    let topics: TopicSet = columns_of.keys().copied().collect();
    let done = Arc::new(Mutex::new(Vec::new()));
    let sink = CollectorSink { purposes: Mutex::new(purposes), done: done.clone() };
    // Values from before the start are those at the start. Later times are impossible.
    let selected = TimeRange { start: TimeRange::ALL.start, end: time.end };
    let job = TableJob {
        selection: Selection { topics: topics.clone(), time: selected },
        columns: Columns::all(View::Flat),
        columns_of,
        time: TimeBase::default(),
        part_bytes: 4 << 20,
        progress,
    };
    let report = export_tables(log, &job, &sink)?;
    let last = time.end.as_nanos().saturating_sub(1);
    let mut data = FlightData::new((time.start.as_nanos(), last));
    let (mut remarks, mut fifos) = (Vec::new(), Vec::new());
    for table in done.lock().drain(..) {
        if table.left_out > 0 {
            let rows = count_of(table.left_out, "row");
            let label = &table.label;
            remarks.push(format!(
                "{rows} of {label} after the first {MAX_ROWS} were not analysed"
            ));
        }
        match table.into_output() {
            TableOutput::Series(series) if series.topic == topic_names::DROPOUTS => {
                let millis = series.column(DROPOUT_FIELD).unwrap_or_default();
                let rows = series.times.iter().zip(millis);
                data.dropouts.extend(rows.map(|(time, millis)| Dropout {
                    time: *time,
                    seconds: f64::from(*millis) / 1e3,
                }));
            }
            TableOutput::Series(series) => data.series.push(series),
            TableOutput::Fifo(mut fifo) => {
                data.fifo_spectrograms.extend(fifo.spectrogram.take());
                fifos.push(*fifo);
            }
        }
    }
    data.series.sort_by(|a, b| (&a.topic, a.instance).cmp(&(&b.topic, b.instance)));
    data.fifo_spectrograms.sort_by(|a, b| a.topic.cmp(&b.topic));
    fifos.sort_by_key(|fifo| fifo.topic);
    if data.series.is_empty() {
        remarks.push("the log has no topics of PX4 that are analysed".to_owned());
    }
    remarks.sort();
    Ok(Collected { data, topics, damage: report.damage, remarks, fifos })
}

/// A sink that keeps the columns of tables.
struct CollectorSink {
    purposes: Mutex<BTreeMap<String, Purpose>>,
    done: Arc<Mutex<Vec<TableCollector>>>,
}

impl TableSink for CollectorSink {
    fn table(
        &self,
        topic: &Topic,
        _: &SchemaRef,
    ) -> logtool_core::Result<Box<dyn TableWriter>> {
        let label = topic.label().into_owned();
        let purpose = self.purposes.lock().remove(&label);
        let purpose = purpose.unwrap_or_else(|| Purpose::Series(Vec::new()));
        let columns = match &purpose {
            Purpose::Series(names) => names.len(),
            Purpose::Fifo(_) => 0,
        };
        // The records were counted when the log was opened.
        let rows = topic.records.and_then(|records| usize::try_from(records).ok());
        let rows = rows.unwrap_or_default().min(MAX_ROWS);
        Ok(Box::new(TableWriterOf {
            table: TableCollector {
                topic: topic.name.clone(),
                instance: topic.instance,
                label,
                purpose,
                times: Vec::with_capacity(rows),
                columns: (0..columns).map(|_| Vec::with_capacity(rows)).collect(),
                left_out: 0,
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
    left_out: u64,
}

/// The result of a table.
enum TableOutput {
    Series(Series),
    Fifo(Box<FifoSamples>),
}

impl TableCollector {
    fn into_output(self) -> TableOutput {
        match self.purpose {
            Purpose::Fifo(reader) => TableOutput::Fifo(Box::new(reader.finish())),
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
        if let Purpose::Fifo(reader) = &mut self.purpose {
            reader.add(batch);
            return;
        }
        let timed: Vec<usize> =
            (0..batch.num_rows()).filter(|row| times.is_valid(*row)).collect();
        let room = MAX_ROWS - self.times.len();
        let kept = timed.get(..room).unwrap_or(&timed);
        self.left_out += (timed.len() - kept.len()) as u64;
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
