//! Translates topics whose records are unknown to MCAP to topics of protocol buffers. Like in
//! Foxglove's own examples, they are called `/vehicle_attitude`, and `/sensor_gps/1` for a
//! second instance, with the types `ulog.vehicle_attitude` and `ulog.sensor_gps`. Log messages
//! are also `foxglove.Log`, and positions are also `foxglove.LocationFix`. The [poses of the
//! vehicle](crate::records::translate::px4::poses) are `foxglove.FrameTransform` and
//! `foxglove.PoseInFrame`.

mod location_fix;
mod log_messages;
mod poses;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, Topic, TopicContent, TopicId, TopicOrigin, TopicSet, TranslatedLog,
    Translation,
};
use logtool_mcap::set_schema_encoding;
use logtool_protobuf::{FileSet, FrameTransform, LayoutMessages, RowMessages};

use crate::{
    error::Result,
    records::translate::{
        Frames, MessageSource, PreparedTranslation,
        from_rows::translate_columns,
        has_log_messages, name,
        protobuf::log_messages::log_messages,
        px4::{
            attitudes::{self, AttitudeInterpolator},
            poses::PoseTranslator,
        },
    },
    time::offset::ClockOffset,
};

pub(super) use self::location_fix::fixes;

/// The types of messages with frames of the vehicle.
pub(super) const TYPES_WITH_FRAMES: &[&str] = &[FrameTransform::TYPE];

/// Translates those of the `selected` topics of `log` that can be messages of protocol buffers.
///
/// # Errors
/// A topic cannot be read.
pub(super) fn protobuf(
    log: Arc<dyn Log>,
    selected: &TopicSet,
    offset: ClockOffset,
    frames: &Frames,
) -> Result<PreparedTranslation> {
    let offset_nanos = offset.nanos;
    let manifest = log.manifest();
    let (mut translations, mut left_out) = (Vec::new(), Vec::new());
    for (id, topic) in manifest.topics().filter(|(id, _)| selected.contains(*id)) {
        match translation(&log, id, topic, offset_nanos)? {
            Ok(translation) => translations.push(translation),
            Err(reason) => left_out.push(format!("{} ({reason})", topic.label())),
        }
        translations.extend(fixes(&log, id, topic, offset_nanos)?);
    }
    let attitudes = AttitudeInterpolator::from_log(&log).map(Arc::new);
    let poses =
        PoseTranslator::new(&*log, selected, attitudes.as_ref(), offset_nanos, frames);
    let topic_count = translations.len();
    if let Some(poses) = &poses {
        poses::add_poses(poses, &mut translations);
    }
    let remarks = attitudes::too_many(manifest, "there are no poses").into_iter();
    let mut remarks: Vec<String> = remarks.collect();
    if !left_out.is_empty() {
        remarks.push(format!("left out: {}", left_out.join(", ")));
    }
    let clock = offset.resulting_clock(&manifest.clock);
    let attitudes = attitudes.map(|attitudes| attitudes.topic());
    let with_attitudes = (topic_count..translations.len()).collect();
    let sources =
        MessageSource::with_dependency(&translations, attitudes, &with_attitudes);
    let log = TranslatedLog::new(log, translations, offset_nanos).with_clock(clock);
    let log = Arc::new(log);
    Ok(PreparedTranslation { log, sources, remarks, warnings: Vec::new() })
}

/// Translates the topic `id` of `log` to protocol buffers, or returns why this is impossible.
fn translation(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Result<Translation, String>> {
    if has_log_messages(topic) {
        return Ok(Ok(log_messages(log, id, topic, offset_nanos)));
    }
    let package = log.manifest().format.as_str();
    if let Some(layout) = log.payload_layout(id) {
        return Ok(match LayoutMessages::new(&layout, package) {
            Ok(messages) => {
                let topic_info =
                    self::topic(topic, &messages.type_name, &messages.files);
                Ok(Translation {
                    source_topic: id,
                    topic: topic_info,
                    new_translator: Arc::new(move || Ok(Box::new(messages.clone()))),
                })
            }
            Err(err) => Err(err.to_string()),
        });
    }
    if topic.origin == TopicOrigin::Logged {
        return Ok(Err("its records have no definition".to_owned()));
    }
    rows(log, id, topic, package, &topic.type_name)
}

/// Translates the records of the topic `id` of `log` to messages of the type `name` of
/// `package`, which is derived from their columns, or returns why this is impossible.
pub(super) fn rows(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    package: &str,
    name: &str,
) -> Result<Result<Translation, String>> {
    let rows = RowMessages::new(&topic.schema, package, name);
    let rows = match rows {
        Ok(rows) => Arc::new(rows),
        Err(err) => return Ok(Err(err.to_string())),
    };
    let topic_info = self::topic(topic, &rows.type_name, &rows.files);
    let encode = move |batch: &RecordBatch, row, out: &mut Vec<u8>| {
        rows.append_message(batch, row, out);
        true
    };
    Ok(Ok(translate_columns(log, id, Columns::default(), topic_info, encode)))
}

/// Returns the topic of messages of the common type `type_name` for `topic`, with `more`
/// appended to its name.
pub(super) fn common_topic(
    topic: &Topic,
    more: &str,
    type_name: &str,
    files: &FileSet,
) -> Topic {
    let mut topic_info = self::topic(topic, type_name, files);
    topic_info.name.push_str(more);
    topic_info.records = None;
    topic_info
}

/// Returns the topic of protocol buffers of the type `type_name` for `topic`.
fn topic(topic: &Topic, type_name: &str, files: &FileSet) -> Topic {
    let mut metadata =
        BTreeMap::from([("topic".to_owned(), topic.label().into_owned())]);
    set_schema_encoding(&mut metadata, "protobuf");
    if topic.origin == TopicOrigin::Logged {
        metadata.insert("multi_id".to_owned(), topic.instance.to_string());
    }
    Topic {
        name: name(topic),
        instance: 0,
        origin: TopicOrigin::Logged,
        content: TopicContent::Records,
        encoding: "protobuf".to_owned(),
        type_name: type_name.to_owned(),
        definition: files.to_string(),
        descriptor: files.to_bytes(),
        metadata,
        header_len: 0,
        ..topic.clone()
    }
}
