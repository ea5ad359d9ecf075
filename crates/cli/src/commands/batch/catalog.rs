//! The catalog of a data set: a row for each log and topic.

mod files;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use logtool::Result;
use logtool_core::{TableSink, Topic, TopicOrigin};
use logtool_sinks::{
    FileNames, JsonLinesSink, MemoryBudget, NameStyle, Outputs, ParquetSink,
};

use crate::commands::batch::entry::{Entry, TopicEntry};

pub(super) use self::files::Catalogs;

/// The key of a catalog's metadata that has a digest of what changes how logs are read.
pub(super) const OPTIONS: &str = "logtool.options";

/// Writes the catalog of logs with these `rows`, which come in their order and were made with
/// `options`, into the file that is called `stem` and an extension among `outputs`; as JSON
/// Lines if `is_jsonl`.
pub(super) fn write(
    outputs: &Arc<Outputs>,
    stem: &str,
    is_jsonl: bool,
    options: &str,
    rows: &mut dyn Iterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    let names = [(("catalog".to_owned(), 0), stem.to_owned())];
    let names = FileNames::from_stems(NameStyle::FirstBare, names.into());
    let sink: Box<dyn TableSink> = match is_jsonl {
        true => Box::new(JsonLinesSink::new(outputs.clone(), names)),
        false => {
            let options = (OPTIONS.to_owned(), options.to_owned());
            let (told, room) = (BTreeMap::from([options]), MemoryBudget::default());
            Box::new(ParquetSink::new(outputs.clone(), names, told, room))
        }
    };
    let none = batch(&[])?;
    let mut writer = sink.table(&table(&none), &none.schema())?;
    for rows in rows {
        writer.write(&rows?)?;
    }
    writer.finish()?;
    Ok(sink.finish()?)
}

/// The rows of one log: one for each topic, or one if it has none.
pub(super) fn rows(entry: &Entry) -> Result<RecordBatch> {
    let topics: Vec<Row<'_>> =
        entry.topics.iter().map(|topic| (entry, Some(topic))).collect();
    if topics.is_empty() { batch(&[(entry, None)]) } else { batch(&topics) }
}

/// `rows` of a log that cannot be read now, as `error` says.
pub(super) fn with_error(rows: &RecordBatch, error: &str) -> Result<RecordBatch> {
    let schema = rows.schema();
    let mut columns = rows.columns().to_vec();
    if let Some(place) = columns.get_mut(schema.index_of("error")?) {
        let errors = std::iter::repeat_n(Some(error), rows.num_rows());
        *place = Arc::new(errors.collect::<StringArray>());
    }
    Ok(RecordBatch::try_new(schema, columns)?)
}

type Row<'r> = (&'r Entry, Option<&'r TopicEntry>);

/// The columns of `rows`.
fn batch(rows: &[Row<'_>]) -> Result<RecordBatch> {
    let text = |of: &dyn Fn(&Entry) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(|(log, _)| of(log)).collect::<StringArray>())
    };
    let number = |of: &dyn Fn(&Entry) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(|(log, _)| of(log)).collect::<Int64Array>())
    };
    let utc = |of: &dyn Fn(&Row<'_>) -> Option<i64>| -> ArrayRef {
        let times: TimestampNanosecondArray = rows.iter().map(of).collect();
        Arc::new(times.with_timezone("UTC"))
    };
    let topic_text = |of: &dyn Fn(&TopicEntry) -> Option<String>| -> ArrayRef {
        let texts = rows.iter().map(|(_, topic)| topic.and_then(of));
        Arc::new(texts.collect::<StringArray>())
    };
    let topic_number = |of: &dyn Fn(&TopicEntry) -> Option<i64>| -> ArrayRef {
        let numbers = rows.iter().map(|(_, topic)| topic.and_then(of));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let float = |of: &dyn Fn(&Row<'_>) -> Option<f64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<Float64Array>())
    };
    let seconds =
        |(first, last): (i64, i64)| (i128::from(last) - i128::from(first)) as f64 / 1e9;
    let unix = |log: &Entry, time: i64| time.checked_add(log.to_unix_ns?);
    let own = |row: &Row<'_>| row.1.and_then(|topic| topic.time_ns);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("log", text(&|log| Some(&log.log))),
        ("source", text(&|log| Some(&log.source))),
        (
            "digest",
            text(&|log| Some(&log.digest).filter(|d| !d.is_empty()).map(|d| &**d)),
        ),
        ("source_bytes", number(&|log| signed(log.source_bytes))),
        ("modified", utc(&|(log, _)| log.modified_ns)),
        ("format", text(&|log| Some(&*log.format).filter(|format| !format.is_empty()))),
        ("packed_with", text(&|log| log.packed_with.as_deref())),
        ("clock", text(&|log| Some(&*log.clock).filter(|clock| !clock.is_empty()))),
        ("utc_from", text(&|log| log.utc_from.as_deref())),
        ("start_ns", number(&|log| Some(log.time_ns?.0))),
        ("end_ns", number(&|log| Some(log.time_ns?.1))),
        ("start_utc", utc(&|(log, _)| unix(log, log.time_ns?.0))),
        ("end_utc", utc(&|(log, _)| unix(log, log.time_ns?.1))),
        ("duration_s", float(&|(log, _)| log.time_ns.map(seconds))),
        ("records", number(&|log| signed(log.records?))),
        ("damages", number(&|log| signed(log.damages?))),
        ("lost_bytes", number(&|log| signed(log.lost_bytes?))),
        ("lost_records", number(&|log| signed(log.lost_records?))),
        ("damage", text(&|log| log.damage.as_deref())),
        ("error", text(&|log| log.error.as_deref())),
        ("tool", text(&|log| Some(&log.tool))),
        ("topic", topic_text(&|topic| Some(topic.name.clone()))),
        ("instance", topic_number(&|topic| Some(topic.instance.into()))),
        ("type", topic_text(&|topic| Some(topic.type_name.clone()))),
        ("origin", topic_text(&|topic| Some(topic.origin.clone()))),
        ("table", topic_text(&|topic| topic.table.clone())),
        ("topic_records", topic_number(&|topic| signed(topic.records?))),
        ("topic_rows", topic_number(&|topic| signed(topic.rows?))),
        ("topic_bytes", topic_number(&|topic| signed(topic.bytes?))),
        ("topic_start_ns", topic_number(&|topic| Some(topic.time_ns?.0))),
        ("topic_end_ns", topic_number(&|topic| Some(topic.time_ns?.1))),
        ("topic_start_utc", utc(&|row| unix(row.0, own(row)?.0))),
        ("topic_end_utc", utc(&|row| unix(row.0, own(row)?.1))),
        ("rate_hz", float(&|(_, topic)| topic.as_ref()?.rate_hz())),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )?)
}

fn signed(number: u64) -> Option<i64> {
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What a sink has to know of the catalog.
fn table(rows: &RecordBatch) -> Topic {
    Topic {
        origin: TopicOrigin::Derived,
        encoding: "logtool".to_owned(),
        ..Topic::new("catalog", rows.schema())
    }
}
