//! Reads numeric signals of a log over time: all samples, or downsampled for plots.

mod collected_samples;
#[cfg(feature = "plot")]
mod elements;
mod find;
mod numbers;
#[cfg(feature = "plot")]
mod sampled_signals;
mod unit;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::SchemaRef;
use logtool_core::{
    Columns, Damage, Log, Selection, TableJob, TableSink, TableWriter, TimeBase,
    TimeRange, Topic, TopicId, TopicSet, View, export_tables,
};
use parking_lot::Mutex;

use crate::{error::Result, records::signals::numbers::numbers};

#[cfg(feature = "align")]
pub(crate) use self::collected_samples::read_samples;
#[cfg(any(feature = "align", feature = "plot"))]
pub(crate) use self::find::find;
#[cfg(feature = "plot")]
pub(crate) use self::find::is_text_of_field;
pub(crate) use self::{
    collected_samples::{Samples, read_all},
    find::SignalFinder,
    numbers::numbers_of,
};
#[cfg(feature = "plot")]
pub(crate) use self::{
    elements::expand_lists,
    find::{check_count, find_in_topic},
    sampled_signals::{SampledSignals, read, read_into, sampler},
};

/// A signal that is requested.
#[derive(Clone)]
pub(crate) struct RequestedSignal {
    /// The topic of the signal.
    pub topic: TopicId,
    /// The columns of the flat view that it is computed from; at least one.
    pub inputs: Vec<SignalColumn>,
    /// The function that computes the signal from the numbers of the columns.
    pub function: SignalFunction,
    /// The field whose values it has, if it is one field.
    #[cfg(feature = "plot")]
    pub field: String,
    /// The name of the signal.
    pub name: String,
    /// The unit; empty if it is unknown.
    pub unit: String,
    /// Whether a value holds until the next one, e.g. a state.
    pub is_held: bool,
}

/// Computes a number from others.
pub(crate) type SignalFunction = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A column of the flat view, and the part of its values that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalColumn {
    /// The index of the column in the flat view.
    pub column: usize,
    /// The part of each value.
    pub part: ValuePart,
}

/// The part of each value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValuePart {
    /// The value itself, which is a number.
    Itself,
    /// The element of a list at this index.
    Element(usize),
    /// The Euclidean norm of a list.
    #[cfg(feature = "align")]
    Norm,
    /// The number of elements of a list.
    Count,
    /// The time of the row in microseconds; the column is not used.
    #[cfg(feature = "plot")]
    Time,
    /// The time since the row before in microseconds; the column is not used.
    #[cfg(feature = "plot")]
    Interval,
}

/// Receives the numbers of a signal.
trait ReceiveNumbers: Send {
    /// Adds a number at a time in nanoseconds.
    fn add(&mut self, time: i64, number: f64);

    /// Counts a number whose time is unknown.
    fn add_untimed(&mut self);
}

/// Reads `signals` within `time`, each into a value that `new` creates. Returns these
/// values in the order of the request, and the damage.
fn gather<G: ReceiveNumbers + 'static>(
    log: &dyn Log,
    signals: &[RequestedSignal],
    time: TimeRange,
    new: &dyn Fn() -> G,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Vec<G>, Vec<Damage>)> {
    let topics: TopicSet = signals.iter().map(|signal| signal.topic).collect();
    let mut signals_by_topic: BTreeMap<TopicId, Vec<(usize, &RequestedSignal)>> =
        BTreeMap::new();
    for (index, signal) in signals.iter().enumerate() {
        signals_by_topic.entry(signal.topic).or_default().push((index, signal));
    }
    let mut columns_by_topic = BTreeMap::new();
    let mut plans = BTreeMap::new();
    for (id, topic) in log.manifest().topics().filter(|(id, _)| topics.contains(*id)) {
        let topic_signals = || signals_by_topic.get(&id).into_iter().flatten().copied();
        let inputs = || topic_signals().flat_map(|(_, signal)| &signal.inputs);
        let mut indices: Vec<usize> = inputs().map(|input| input.column).collect();
        let validity = validity(log, id, topic)?;
        indices.extend(validity.map(|(column, _)| column));
        indices.sort_unstable();
        indices.dedup();
        // In the table, the first column is the time.
        let position =
            |column: usize| indices.binary_search(&column).map_or(0, |index| index + 1);
        let repositioned = |input: &SignalColumn| SignalColumn {
            column: position(input.column),
            ..*input
        };
        let makers = topic_signals().map(|(index, signal)| SignalComputer {
            index,
            inputs: signal.inputs.iter().map(repositioned).collect(),
            function: signal.function.clone(),
            // All values of the validity column itself are shown.
            validity: validity
                .filter(|(column, _)| signal.inputs.iter().all(|i| i.column != *column))
                .map(|(column, valid)| (position(column), valid)),
            last_time: None,
            values: new(),
        });
        plans.insert(topic.label().into_owned(), makers.collect());
        columns_by_topic
            .insert(id, Columns { indices: Some(indices), ..Columns::new(View::Flat) });
    }
    let computers = Arc::new(Mutex::new(Vec::new()));
    let sink = SignalSink { plans: Mutex::new(plans), done: computers.clone() };
    let job = TableJob {
        selection: Selection { topics, time },
        columns: Columns::new(View::Flat),
        columns_by_topic,
        time: TimeBase::default(),
        part_bytes: 4 << 20,
        progress,
    };
    let report = export_tables(log, &job, &sink)?;
    let mut values: Vec<G> = signals.iter().map(|_| new()).collect();
    let mut computers = computers.lock();
    for maker in computers.drain(..) {
        if let Some(value) = values.get_mut(maker.index) {
            *value = maker.values;
        }
    }
    Ok((values, report.damage))
}

/// Returns the column of `topic` that states which rows are valid, and its value in valid rows;
/// `None` if all rows are valid.
fn validity(log: &dyn Log, id: TopicId, topic: &Topic) -> Result<Option<(usize, f64)>> {
    let Some(valid) = topic.valid_row_value() else { return Ok(None) };
    let decoder = log.decoder(id, &Columns::new(View::Flat))?;
    let column = decoder.schema().index_of("validity").ok();
    Ok(column.map(|column| (column, valid.into())))
}

/// Computes one of the signals from a table.
struct SignalComputer<G> {
    index: usize,
    inputs: Vec<SignalColumn>,
    function: SignalFunction,
    /// The column and its value in valid rows.
    validity: Option<(usize, f64)>,
    /// The time of the last row so far, in nanoseconds.
    last_time: Option<i64>,
    values: G,
}

/// A sink that computes signals from tables.
struct SignalSink<G> {
    plans: Mutex<BTreeMap<String, Vec<SignalComputer<G>>>>,
    done: Arc<Mutex<Vec<SignalComputer<G>>>>,
}

impl<G: ReceiveNumbers + 'static> TableSink for SignalSink<G> {
    fn new_table(
        &self,
        topic: &Topic,
        _: &SchemaRef,
    ) -> logtool_core::Result<Box<dyn TableWriter>> {
        let mut plans = self.plans.lock();
        let makers = plans.remove(&*topic.label()).unwrap_or_default();
        Ok(Box::new(TableSignals { makers, done: self.done.clone() }))
    }
}

/// The signals of the table of a topic.
struct TableSignals<G> {
    makers: Vec<SignalComputer<G>>,
    done: Arc<Mutex<Vec<SignalComputer<G>>>>,
}

impl<G: ReceiveNumbers> TableWriter for TableSignals<G> {
    fn write(&mut self, batch: &RecordBatch) -> logtool_core::Result<()> {
        let times = batch.columns().first();
        let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
        let Some(times) = times else { return Ok(()) };
        let mut row_of = Vec::new();
        for maker in &mut self.makers {
            let last_time = maker.last_time;
            let inputs = maker.inputs.iter().map(|input| match input.part {
                #[cfg(feature = "plot")]
                ValuePart::Time => numbers::micros(times),
                #[cfg(feature = "plot")]
                ValuePart::Interval => numbers::interval_micros(times, last_time),
                part => {
                    let column = batch.columns().get(input.column);
                    column.map_or_else(Vec::new, |column| numbers(column, part))
                }
            });
            let inputs: Vec<Vec<f64>> = inputs.collect();
            maker.last_time = times.iter().flatten().last().or(last_time);
            let validity = maker.validity.and_then(|(column, valid)| {
                Some((numbers(batch.columns().get(column)?, ValuePart::Itself), valid))
            });
            let is_valid = |row: usize| match &validity {
                Some((marks, valid)) => marks.get(row) == Some(valid),
                None => true,
            };
            for row in (0..batch.num_rows()).filter(|row| is_valid(*row)) {
                row_of.clear();
                let number = |numbers: &Vec<f64>| numbers.get(row).copied();
                row_of.extend(inputs.iter().map(|i| number(i).unwrap_or(f64::NAN)));
                if times.is_valid(row) {
                    maker.values.add(times.value(row), (maker.function)(&row_of))
                } else {
                    maker.values.add_untimed()
                }
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> logtool_core::Result<()> {
        let mut computers = self.done.lock();
        computers.extend(self.makers);
        Ok(())
    }
}
