//! Translates log messages to `foxglove.Log`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{Columns, Log, Topic, TopicId, Translation};
use logtool_protobuf::{FoxgloveLog, LogLevel};

use crate::records::translate::{
    from_rows::translate_columns, log_messages::LogLine, nanos_of,
    protobuf::topic as topic_info,
};

/// Translates the log messages of the topic `id` of `log` to `foxglove.Log`, with
/// `offset_nanos` added to their times.
pub(super) fn log_messages(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Translation {
    let topic_info = topic_info(topic, FoxgloveLog::TYPE, &FoxgloveLog::files());
    let encode = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        line(batch, row, offset_nanos, out);
        true
    };
    translate_columns(log, id, Columns::default(), topic_info, encode)
}

/// Appends the message in the row at index `row` of `batch` to `out`.
fn line(batch: &RecordBatch, row: usize, offset_nanos: i64, out: &mut Vec<u8>) {
    let line = LogLine::read(batch, row);
    let line = FoxgloveLog {
        nanos: nanos_of(batch, row).saturating_add(offset_nanos),
        level: level(line.level),
        message: line.message,
        name: &line.name,
    };
    line.encode(out);
}

/// Returns the level with the name `name` of syslog.
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
