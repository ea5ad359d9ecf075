//! The catalog of a dataset: a table with a row for each log and topic.

mod files;

use std::{collections::BTreeMap, iter::repeat_n, sync::Arc};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use logtool_core::{TableSink, Topic, TopicOrigin};
use logtool_sinks::{
    CsvOptions, CsvSink, FileNames, JsonLinesSink, MemoryBudget, NameStyle, Outputs,
    ParquetSink,
};

use crate::{
    dataset::entry::{LogEntry, TopicEntry},
    error::Result,
};

pub(super) use self::files::DatasetCatalogs;

/// The metadata key of the digest of the options with which the logs were read.
pub(super) const OPTIONS_KEY: &str = "logtool.options";

/// The file format of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum CatalogFormat {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// A JSON object on each line
    #[cfg_attr(feature = "clap", value(name = "jsonl"))]
    JsonLines,
}

impl CatalogFormat {
    /// All formats.
    pub const ALL: &'static [Self] = &[Self::Parquet, Self::Csv, Self::JsonLines];

    /// Returns the extension of files, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// The columns of a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CatalogColumns {
    /// What opening a log finds out.
    #[default]
    Description,
    /// Also the analysis of flights.
    #[cfg(feature = "flight")]
    Analysis,
}

/// Writes a catalog with these `rows`, which were made with `options`, to the file `stem` with
/// the extension of `format` in `outputs`.
pub(super) fn write(
    outputs: &Arc<Outputs>,
    stem: &str,
    format: CatalogFormat,
    options: &str,
    columns: CatalogColumns,
    rows: &mut dyn Iterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    let names = [(("catalog".to_owned(), 0), stem.to_owned())];
    let names = FileNames::from_stems(NameStyle::OmitInstanceZero, names.into());
    let sink: Box<dyn TableSink> = match format {
        CatalogFormat::Csv => {
            Box::new(CsvSink::new(outputs.clone(), names, CsvOptions::default()))
        }
        CatalogFormat::JsonLines => {
            Box::new(JsonLinesSink::new(outputs.clone(), names))
        }
        CatalogFormat::Parquet => {
            let metadata =
                BTreeMap::from([(OPTIONS_KEY.to_owned(), options.to_owned())]);
            let budget = MemoryBudget::default();
            Box::new(ParquetSink::new(outputs.clone(), names, metadata, budget))
        }
    };
    let empty = batch(&[], columns)?;
    let mut writer = sink.new_table(&catalog_topic(&empty), &empty.schema())?;
    for rows in rows {
        writer.write(&rows?)?;
    }
    writer.finish()?;
    Ok(sink.finish()?)
}

/// Returns the rows of a log: one for each topic, or one if it has no topics.
pub(super) fn rows(entry: &LogEntry, columns: CatalogColumns) -> Result<RecordBatch> {
    let topics: Vec<Row<'_>> =
        entry.topics.iter().map(|topic| (entry, Some(topic))).collect();
    if topics.is_empty() {
        batch(&[(entry, None)], columns)
    } else {
        batch(&topics, columns)
    }
}

/// Returns `rows` with `error`, the reason why the log cannot be read now.
pub(super) fn with_error(rows: &RecordBatch, error: &str) -> Result<RecordBatch> {
    let schema = rows.schema();
    let mut columns = rows.columns().to_vec();
    if let Some(column) = columns.get_mut(schema.index_of("error")?) {
        let errors = repeat_n(Some(error), rows.num_rows());
        *column = Arc::new(errors.collect::<StringArray>());
    }
    Ok(RecordBatch::try_new(schema, columns)?)
}

type Row<'r> = (&'r LogEntry, Option<&'r TopicEntry>);

/// Returns the columns of `rows`.
fn batch(rows: &[Row<'_>], kind: CatalogColumns) -> Result<RecordBatch> {
    let text = |value: &dyn Fn(&LogEntry) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(|(log, _)| value(log)).collect::<StringArray>())
    };
    let number = |value: &dyn Fn(&LogEntry) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(|(log, _)| value(log)).collect::<Int64Array>())
    };
    let utc = |value: &dyn Fn(&Row<'_>) -> Option<i64>| -> ArrayRef {
        let times: TimestampNanosecondArray = rows.iter().map(value).collect();
        Arc::new(times.with_timezone("UTC"))
    };
    let topic_text = |value: &dyn Fn(&TopicEntry) -> Option<String>| -> ArrayRef {
        let values = rows.iter().map(|(_, topic)| topic.and_then(value));
        Arc::new(values.collect::<StringArray>())
    };
    let topic_number = |value: &dyn Fn(&TopicEntry) -> Option<i64>| -> ArrayRef {
        let values = rows.iter().map(|(_, topic)| topic.and_then(value));
        Arc::new(values.collect::<Int64Array>())
    };
    let float = |value: &dyn Fn(&Row<'_>) -> Option<f64>| -> ArrayRef {
        Arc::new(rows.iter().map(value).collect::<Float64Array>())
    };
    let non_empty = |text: &'_ str| !text.is_empty();
    let columns: Vec<(&'static str, ArrayRef)> = vec![
        ("log", text(&|log| Some(&log.log))),
        ("source", text(&|log| Some(&log.source))),
        ("digest", text(&|log| Some(&*log.digest).filter(|text| non_empty(text)))),
        ("source_bytes", number(&|log| to_signed(log.source_bytes))),
        ("modified", utc(&|(log, _)| log.modified_ns)),
        ("format", text(&|log| Some(&*log.format).filter(|text| non_empty(text)))),
        ("packed_with", text(&|log| log.packed_with.as_deref())),
        ("clock", text(&|log| Some(&*log.clock).filter(|text| non_empty(text)))),
        ("utc_from", text(&|log| log.utc_from.as_deref())),
        ("start_ns", number(&|log| Some(log.time_ns?.0))),
        ("end_ns", number(&|log| Some(log.time_ns?.1))),
        ("start_utc", utc(&|(log, _)| to_unix(log, log.time_ns?.0))),
        ("end_utc", utc(&|(log, _)| to_unix(log, log.time_ns?.1))),
        ("duration_s", float(&|(log, _)| log.time_ns.map(seconds))),
        ("records", number(&|log| to_signed(log.records?))),
        ("damages", number(&|log| to_signed(log.damages?))),
        ("lost_bytes", number(&|log| to_signed(log.lost_bytes?))),
        ("lost_records", number(&|log| to_signed(log.lost_records?))),
        ("damage", text(&|log| log.damage.as_deref())),
        ("error", text(&|log| log.error.as_deref())),
        ("tool", text(&|log| Some(&log.tool))),
        ("topic", topic_text(&|topic| Some(topic.name.clone()))),
        ("instance", topic_number(&|topic| Some(topic.instance.into()))),
        ("type", topic_text(&|topic| Some(topic.type_name.clone()))),
        ("origin", topic_text(&|topic| Some(topic.origin.clone()))),
        ("table", topic_text(&|topic| topic.table.clone())),
        ("topic_records", topic_number(&|topic| to_signed(topic.records?))),
        ("topic_rows", topic_number(&|topic| to_signed(topic.rows?))),
        ("topic_bytes", topic_number(&|topic| to_signed(topic.bytes?))),
        ("topic_start_ns", topic_number(&|topic| Some(topic.time_ns?.0))),
        ("topic_end_ns", topic_number(&|topic| Some(topic.time_ns?.1))),
        ("topic_start_utc", utc(&|(log, topic)| to_unix(log, (*topic)?.time_ns?.0))),
        ("topic_end_utc", utc(&|(log, topic)| to_unix(log, (*topic)?.time_ns?.1))),
        ("rate_hz", float(&|(_, topic)| topic.as_ref()?.rate_hz())),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name.to_owned(), column));
    let more = match kind {
        CatalogColumns::Description => Vec::new(),
        #[cfg(feature = "flight")]
        CatalogColumns::Analysis => {
            let flights = rows.iter().map(|(log, _)| log.flight.as_ref());
            crate::dataset::flight_columns::columns(&flights.collect::<Vec<_>>())
        }
    };
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.chain(more).map(|(name, column)| (name, column, true)),
    )?)
}

fn to_signed(number: u64) -> Option<i64> {
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}

fn seconds((first, last): (i64, i64)) -> f64 {
    (i128::from(last) - i128::from(first)) as f64 / 1e9
}

/// Returns the Unix time of `time` on the clock of `log`, in nanoseconds.
fn to_unix(log: &LogEntry, time: i64) -> Option<i64> {
    time.checked_add(log.to_unix_ns?)
}

/// Returns the topic of the rows of a catalog, which sinks need.
fn catalog_topic(rows: &RecordBatch) -> Topic {
    Topic {
        origin: TopicOrigin::Derived,
        encoding: "logtool".to_owned(),
        ..Topic::new("catalog", rows.schema())
    }
}
