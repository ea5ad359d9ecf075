//! Resolves the names of signals.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, SchemaRef};
use logtool_core::{Columns, Log, Topic, TopicId, View};

use crate::{
    error::{Error, Result},
    formats::LogFormat,
    records::signals::{
        RequestedSignal, SignalColumn, ValuePart,
        numbers::{is_list, is_number},
        unit,
    },
    source::selection::{Pattern, unique_label},
    text::suggest,
};

/// The maximum number of fields in an error message.
const MAX_NAMED_FIELDS: usize = 8;

/// The maximum number of lines in a plot.
const MAX_LINES: usize = 200;

/// Returns the signals named by `texts`, as [`SignalFinder::find`] does.
///
/// # Errors
/// Those of [`SignalFinder::find`].
#[cfg(any(feature = "align", feature = "plot"))]
pub(crate) fn find(log: &dyn Log, texts: &[String]) -> Result<Vec<RequestedSignal>> {
    SignalFinder::new(log).find(texts)
}

/// Finds signals of a log by their names.
pub(crate) struct SignalFinder<'l> {
    log: &'l dyn Log,
    /// The topics by their labels, and by their names and instances.
    topics: HashMap<String, Vec<TopicId>>,
}

impl<'l> SignalFinder<'l> {
    pub(crate) fn new(log: &'l dyn Log) -> Self {
        let mut topics: HashMap<String, Vec<TopicId>> = HashMap::new();
        for (id, topic) in log.manifest().topics() {
            for label in [topic.label().into_owned(), unique_label(topic)] {
                let ids = topics.entry(label).or_default();
                if ids.last() != Some(&id) {
                    ids.push(id);
                }
            }
        }
        Self { log, topics }
    }

    pub(crate) fn log(&self) -> &'l dyn Log {
        self.log
    }

    /// Returns the topics that the pattern `name` matches.
    fn topics(&self, name: &str) -> Vec<TopicId> {
        if !name.contains(['*', '?']) {
            return self.topics.get(name).cloned().unwrap_or_default();
        }
        let Ok(pattern) = Pattern::new(name) else { return Vec::new() };
        let topics = self.log.manifest().topics();
        topics.filter(|(_, t)| pattern.matches_label(t)).map(|(id, _)| id).collect()
    }

    /// Returns the signals named by `texts`. Each is a topic and a field, e.g. `sensor_gps.1.lat`,
    /// `/imu/data.angular_velocity.x`, `vehicle_attitude.q` or `/scan.ranges[3]`. The signal of a
    /// whole list, e.g. `/scan.ranges`, is its [number of elements](ValuePart::Count).
    ///
    /// # Errors
    /// `NotFound` if the log does not have a signal; `InvalidRequest` if there are too many.
    pub(crate) fn find(&self, texts: &[String]) -> Result<Vec<RequestedSignal>> {
        let (log, manifest) = (self.log, self.log.manifest());
        let mut signals: Vec<RequestedSignal> = Vec::new();
        for text in texts {
            let mut failed_lookup = FailedLookup::default();
            let before = signals.len();
            // Each dot may end the topic; the longest topic is preferred.
            let dots = text.match_indices('.').map(|(offset, _)| text.split_at(offset));
            let mut splits = dots.map(|(name, field)| (self.topics(name), field));
            let split = splits.rfind(|(topics, _)| !topics.is_empty());
            let (topics, field) = split.unwrap_or_default();
            let field = field.strip_prefix('.').unwrap_or(field);
            for id in topics {
                let topic = manifest.topic(id)?;
                let schema = columns(log, id)?;
                let format = LogFormat::from_manifest(manifest);
                let finder = NumberFinder { id, topic, format };
                signals.extend(finder.signals_of_field(&schema, field)?);
                failed_lookup.add(&topic.label(), field, &schema);
            }
            if signals.len() == before {
                return Err(failed_lookup.error(text, log));
            }
            check_count(signals.len())?;
        }
        Ok(signals)
    }
}

/// Returns whether `text` names a field of the log: some number of it, or a list.
#[cfg(feature = "plot")]
pub(crate) fn is_text_of_field(log: &dyn Log, text: &str) -> bool {
    find(log, &[text.to_owned()]).is_ok()
}

/// Rejects too many lines for one plot.
pub(crate) fn check_count(lines: usize) -> Result<()> {
    if lines <= MAX_LINES {
        return Ok(());
    }
    let message = format!("{lines} lines are too many for a plot");
    Err(Error::invalid_request(message)
        .with_hint("name fewer fields, or elements as x[0]"))
}

/// Returns the signal of the column `column` of the topic `id`, if it is numeric. The column
/// can also be an element of a list, e.g. `ranges[3]`.
#[cfg(feature = "plot")]
pub(crate) fn find_in_topic(
    log: &dyn Log,
    id: TopicId,
    column: &str,
) -> Option<RequestedSignal> {
    let manifest = log.manifest();
    let topic = manifest.topic(id).ok()?;
    let finder = NumberFinder { id, topic, format: LogFormat::from_manifest(manifest) };
    let schema = columns(log, id).ok()?;
    let Ok(index) = schema.index_of(column) else {
        let is_element = column.ends_with(']');
        return finder
            .signals_of_field(&schema, column)
            .ok()?
            .pop()
            .filter(|_| is_element);
    };
    let field = schema.field(index);
    is_number(field.data_type())
        .then(|| finder.requested_signal(index, ValuePart::Itself, field))
}

/// Returns the flat view of a topic. The first column is the time, which cannot be selected;
/// columns are counted after it.
fn columns(log: &dyn Log, id: TopicId) -> Result<SchemaRef> {
    Ok(log.decoder(id, &Columns::new(View::Flat))?.schema().clone())
}

/// Finds the numbers of a topic.
struct NumberFinder<'t> {
    id: TopicId,
    topic: &'t Topic,
    format: Option<LogFormat>,
}

impl NumberFinder<'_> {
    /// Returns the numbers in the columns that the field `text` selects.
    fn signals_of_field(
        &self,
        schema: &SchemaRef,
        text: &str,
    ) -> Result<Vec<RequestedSignal>> {
        let pattern = Pattern::new(text)?;
        let mut signals = Vec::new();
        for (index, field) in schema.fields().iter().enumerate().skip(1) {
            if is_number(field.data_type()) && pattern.matches_prefix(field.name()) {
                signals.push(self.requested_signal(index, ValuePart::Itself, field));
            }
        }
        // A list is one column of the table. Its elements are selected by their index.
        let element = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let element = element.and_then(|(name, index)| {
            Some((name, ValuePart::Element(index.parse().ok()?)))
        });
        let (name, part) = element.unwrap_or((text, ValuePart::Count));
        let list = schema.index_of(name).ok().map(|index| (index, schema.field(index)));
        let list =
            list.filter(|(_, field)| signals.is_empty() && is_list(field.data_type()));
        signals.extend(
            list.map(|(index, field)| self.requested_signal(index, part, field)),
        );
        Ok(signals)
    }

    /// Returns the number `part` of the column `field`, which has the index `column`.
    fn requested_signal(
        &self,
        column: usize,
        part: ValuePart,
        field: &Field,
    ) -> RequestedSignal {
        let name = format!("{}.{}", self.topic.label(), field.name());
        let element_type = match field.data_type() {
            DataType::List(item) => item.data_type(),
            own => own,
        };
        // States and flags keep their value until the next one.
        let is_state = matches!(
            element_type,
            DataType::Boolean | DataType::UInt8 | DataType::Int8
        );
        RequestedSignal {
            topic: self.id,
            inputs: vec![SignalColumn { column, part }],
            function: Arc::new(|numbers| numbers.first().copied().unwrap_or(f64::NAN)),
            #[cfg(feature = "plot")]
            field: field.name().clone(),
            name: match part {
                ValuePart::Element(at) => format!("{name}[{at}]"),
                _ => name,
            },
            unit: unit::column_unit(self.format, self.topic, field),
            is_held: is_state,
        }
    }
}

/// Returns the error for `text` if it is a topic without a field.
fn without_field(text: &str, log: &dyn Log) -> Option<Error> {
    let is_match = |(_, topic): &(TopicId, &Topic)| *topic.label() == *text;
    let (id, _) = log.manifest().topics().find(is_match)?;
    let schema = columns(log, id).ok()?;
    let numbers = schema.fields().iter().skip(1);
    let numbers = numbers.filter(|field| is_number(field.data_type()));
    let mut names: Vec<&str> = numbers.map(|field| field.name().as_str()).collect();
    let more = names.len().saturating_sub(MAX_NAMED_FIELDS);
    names.truncate(MAX_NAMED_FIELDS);
    let hint = match (&*names, more) {
        ([], _) => "it has no numeric fields".to_owned(),
        (names, 0) => format!("its numeric fields are {}", names.join(", ")),
        (names, more) => {
            format!("its numeric fields are {} and {more} more", names.join(", "))
        }
    };
    Some(
        Error::other(format!("`{text}` is a topic; add a field, e.g. {text}.x"))
            .with_hint(hint),
    )
}

/// The topics that were tried without success.
#[derive(Default)]
struct FailedLookup {
    labels: Vec<String>,
    field: String,
    columns: Vec<String>,
    /// Columns with the name that are not numeric.
    others: Vec<&'static str>,
}

impl FailedLookup {
    fn add(&mut self, label: &str, field: &str, schema: &SchemaRef) {
        self.labels.push(label.to_owned());
        self.field = field.to_owned();
        for column in schema.fields().iter().skip(1) {
            if is_number(column.data_type()) {
                self.columns.push(column.name().clone());
            } else if column.name() == field {
                self.others.push(kind_name(column.data_type()));
            }
        }
    }

    fn error(&self, text: &str, log: &dyn Log) -> Error {
        if let Some(error) = without_field(text, log) {
            return error;
        }
        let Some(label) = self.labels.first() else {
            let labels = log.manifest().topics.iter().map(Topic::label);
            let labels: Vec<_> = labels.map(|label| label.into_owned()).collect();
            let topic = text.rsplit_once('.').map_or(text, |(topic, _)| topic);
            let usual = "name a topic and a field, e.g. battery_status.voltage_v; \
                         `logtool schema` names them";
            let hint = suggest::hint(topic, labels.iter().map(String::as_str), usual);
            return Error::not_found(format!("the log has no topic of `{text}`"))
                .with_hint(hint);
        };
        if let Some(kind) = self.others.first() {
            let message =
                format!("`{}` of {label} is {kind}, not a number", self.field);
            return Error::other(message).with_hint("`logtool cat` prints it");
        }
        let names = self.columns.iter().map(String::as_str);
        let usual = format!("`logtool schema FILE {label}` lists them");
        let hint = suggest::hint(&self.field, names, &usual);
        let message = format!("{label} has no numeric field `{}`", self.field);
        Error::not_found(message).with_hint(hint)
    }
}

/// Returns what values of `data_type`, which are not numbers, are called in a sentence.
fn kind_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            "a list"
        }
        DataType::Struct(_) => "a structure",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Timestamp(..) => "a time",
        DataType::Duration(_) => "a duration",
        _ => "a sequence of bytes",
    }
}
