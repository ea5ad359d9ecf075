//! What people were told, as `foxglove.Log`.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{
    Array as _, ArrayRef, RecordBatch, cast::AsArray as _, types::UInt16Type,
};
use logtool_core::{
    Columns, Log, RowTranslator, Topic, TopicId, Translate, Translation,
};
use logtool_protobuf::{FoxgloveLog, LogLevel};

use crate::translate::nanos_of;

/// How lines of the topic `id` of `log` become those of `foxglove.Log`, `offset_nanos`
/// later.
pub(super) fn said(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Translation> {
    let about = super::topic(topic, FoxgloveLog::TYPE, &FoxgloveLog::files());
    let log = log.clone();
    let begin = move || {
        let decoder = log.decoder(id, &Columns::default())?;
        let put = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
            line(batch, row, offset_nanos, out);
            true
        };
        let translator: Box<dyn Translate> = Box::new(RowTranslator::new(decoder, put));
        Ok(translator)
    };
    Ok(Translation { from: id, topic: about, begin: Arc::new(begin) })
}

/// Adds the line in the row `row` of `batch` to `out`.
fn line(batch: &RecordBatch, row: usize, offset_nanos: i64, out: &mut Vec<u8>) {
    let column = |name: &str| batch.column_by_name(name);
    let text = |name: &str| column(name).and_then(|c| text(c, row)).unwrap_or_default();
    let nanos = nanos_of(batch, row);
    let tags = column("tag").and_then(|c| c.as_primitive_opt::<UInt16Type>());
    let tag = tags.filter(|c| c.is_valid(row)).map(|c| c.value(row));
    let name = match tag {
        Some(tag) => format!("tag {tag}"),
        None => text("source").to_owned(),
    };
    let line = FoxgloveLog {
        nanos: nanos.saturating_add(offset_nanos),
        level: level(text("level")),
        message: text("message"),
        name: &name,
    };
    line.put(out);
}

fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    let column = column.as_string_opt::<i32>()?;
    column.is_valid(row).then(|| column.value(row))
}

/// The level that is called as syslog calls it.
fn level(name: &str) -> LogLevel {
    match name {
        "emergency" | "alert" | "critical" => LogLevel::Fatal,
        "error" => LogLevel::Error,
        "warning" => LogLevel::Warning,
        "notice" | "info" => LogLevel::Info,
        "debug" => LogLevel::Debug,
        _ => LogLevel::Unknown,
    }
}
