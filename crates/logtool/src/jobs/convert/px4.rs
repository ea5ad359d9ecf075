//! The files of PX4's Flight Review 2, and the metadata in its documents.

mod first_fix;

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use logtool_core::{
    Block, Columns, DropoutStatistics, Log, Manifest, MetadataKey, Selection,
    TimeRange, Timestamp, TopicOrigin, TopicSet, Value, View,
};
use logtool_sinks::{
    Px4Change, Px4Message, Px4Metadata, Px4Sink, Px4TaggedMessage, Px4Value,
};
use logtool_ulog::{Metadata, ParameterValue, topic_names};

use crate::{
    error::Result,
    jobs::convert::{
        job::{ExportJob, ExportSummary},
        table_sink, tables,
    },
    records::message_text,
    source::selection,
};

/// Writes the tables and documents of the log of `job`, which has this `header`.
pub(super) fn write(job: &ExportJob<'_>, header: &Metadata) -> Result<ExportSummary> {
    let log = &*job.opened.log;
    let manifest = log.manifest();
    let globs = &job.request.topics;
    let mut topics = selection::topics(manifest, globs)?;
    if globs.is_empty() {
        // Parameters and messages are in the documents.
        let logged = manifest.topics().filter(|(_, t)| t.origin == TopicOrigin::Logged);
        topics = logged.map(|(id, _)| id).collect();
    }
    let metadata = table_sink::metadata(job);
    let room = table_sink::table_budget(manifest, &topics);
    let sink = Px4Sink::new(job.outputs.clone(), &manifest.topics, metadata, room);
    let summary = tables::write_into(job, &sink, View::Flat, topics)?;
    sink.finish(job.opened.input.file_name(), &metadata_of(log, header)?)?;
    Ok(summary)
}

/// Returns the metadata of the log for `metadata.json`.
fn metadata_of(log: &dyn Log, header: &Metadata) -> Result<Px4Metadata> {
    let mut flight = Px4Metadata::default();
    system(&mut flight, header);
    file(&mut flight, log.manifest(), header);
    let others = header.info.iter().filter(|(key, _)| !NAMED.contains(&key.as_str()));
    flight.info = others.map(|(key, value)| (key.clone(), value.to_string())).collect();
    let texts = |values: &Vec<Value>| values.iter().map(Value::to_string).collect();
    let lists = header.info_multiple.iter();
    flight.multi_info =
        lists.map(|(key, values)| (key.clone(), texts(values))).collect();
    parameters(&mut flight, header, log.manifest().time.map(|time| time.start));
    messages(&mut flight, log)?;
    flight.gps_first_fix = first_fix::find(log)?;
    Ok(flight)
}

/// The information that has its own fields in the document.
const NAMED: [&str; 11] = [
    "sys_name",
    "sys_os_name",
    "sys_os_ver",
    "sys_toolchain",
    "sys_toolchain_ver",
    "sys_uuid",
    "time_ref_utc",
    "ver_hw",
    "ver_hw_subtype",
    "ver_sw",
    "ver_sw_release",
];

fn system(flight: &mut Px4Metadata, header: &Metadata) {
    let text = |key: &str| header.info.get(key).map(Value::to_string);
    let number = |key: &str| match header.info.get(key)? {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    };
    let release = number("ver_sw_release").and_then(|value| u32::try_from(value).ok());
    flight.sys_name = text("sys_name");
    flight.ver_hw = text("ver_hw");
    flight.ver_hw_subtype = text("ver_hw_subtype");
    flight.ver_sw = text("ver_sw");
    flight.ver_sw_release = release;
    flight.ver_sw_release_str = release.map(Px4Metadata::release_text);
    flight.sys_uuid = text("sys_uuid");
    flight.sys_os_name = text("sys_os_name");
    flight.sys_os_ver = text("sys_os_ver");
    flight.sys_toolchain = text("sys_toolchain");
    flight.sys_toolchain_ver = text("sys_toolchain_ver");
    flight.time_ref_utc = number("time_ref_utc");
}

fn file(flight: &mut Px4Metadata, manifest: &Manifest, header: &Metadata) {
    let head = &header.file_header;
    flight.start_timestamp_us = (head.start.as_nanos() / 1_000).unsigned_abs();
    flight.file_version = head.version;
    flight.compat_flags = head.compatible_flags;
    flight.incompat_flags = head.incompatible_flags;
    for (slot, offset) in flight.appended_offsets.iter_mut().zip(&head.appended) {
        *slot = *offset;
    }
    let seconds = |time: TimeRange| time.span_nanos() as f64 / 1e9;
    flight.flight_duration_s = manifest.time.map(seconds);
    let dropouts = manifest.file_metadata(MetadataKey::Dropouts);
    if let Some(dropouts) = dropouts.and_then(DropoutStatistics::from_value) {
        flight.dropout_count = u32::try_from(dropouts.count).unwrap_or(u32::MAX);
        flight.dropout_total_ms = dropouts.total_millis;
    }
}

fn parameters(flight: &mut Px4Metadata, header: &Metadata, start: Option<Timestamp>) {
    let mut changes = Vec::new();
    for (name, parameter) in &header.parameters {
        if let Some(initial) = parameter.initial {
            flight.parameters.insert(name.clone(), px4_value(initial));
        }
        if let Some(default) = parameter.setup_default.or(parameter.system_default) {
            flight.default_parameters.insert(name.clone(), px4_value(default));
        }
        for change in &parameter.changes {
            let in_flight = start.is_some_and(|start| change.time > start);
            let value = px4_value(change.value);
            changes.push((
                change.offset,
                Px4Change { name: name.clone(), value, in_flight },
            ));
        }
    }
    changes.sort_by_key(|(offset, _)| *offset);
    flight.changed_parameters = changes.into_iter().map(|(_, change)| change).collect();
}

fn px4_value(value: ParameterValue) -> Px4Value {
    match value {
        ParameterValue::Int(value) => Px4Value::Int32(value),
        ParameterValue::Float(value) => Px4Value::Float(value),
    }
}

/// Reads the logged strings.
fn messages(flight: &mut Px4Metadata, log: &dyn Log) -> Result<()> {
    let Ok(topic) = log.manifest().topic_id(topic_names::LOGGED_STRINGS) else {
        return Ok(());
    };
    let topics: TopicSet = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::default())?;
    let mut block = Block::default();
    for part in log.manifest().plan(&selection, 8 << 20) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            block.runs().for_each(|run| decoder.append(run, &mut Vec::new()));
        }
        log.source().release(part.bytes);
    }
    add_messages(flight, &decoder.take()?);
    Ok(())
}

fn add_messages(flight: &mut Px4Metadata, batch: &RecordBatch) -> Option<()> {
    let (levels, texts) = message_text::columns(batch)?;
    let times = batch.column(0).as_primitive_opt::<TimestampNanosecondType>()?;
    let tags = batch.column_by_name("tag")?.as_primitive_opt::<UInt16Type>()?;
    for row in 0..batch.num_rows() {
        let level = levels.value(row).to_uppercase();
        let timestamp_us = (times.value(row) / 1_000).unsigned_abs();
        let message = texts.value(row).to_owned();
        if tags.is_valid(row) {
            let tag = tags.value(row);
            let message = Px4TaggedMessage { level, tag, timestamp_us, message };
            flight.tagged_logged_messages.push(message);
        } else {
            flight.logged_messages.push(Px4Message { level, timestamp_us, message });
        }
    }
    Some(())
}
