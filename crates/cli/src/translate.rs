//! Logs as files of other formats can hold them.
//!
//! The crates of the formats do not know of one another. Here, topics of which the records
//! are nothing that MCAP knows become topics of protocol buffers, as Foxglove's own
//! examples have it: `/vehicle_attitude`, and `/sensor_gps/1` for a second instance, of the
//! types `ulog.vehicle_attitude` and `ulog.sensor_gps`. What people were told is also
//! `foxglove.Log`, and positions are `foxglove.LocationFix`. Logs of lidars become messages
//! of ROS 1.

mod fixes;
mod ros;
mod said;
mod words;

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use arrow_array::{
    Array as _, RecordBatch, cast::AsArray as _, types::TimestampNanosecondType,
};
use logtool_core::{
    ClockZero, Columns, Log, Manifest, RowTranslator, Topic, TopicId, TopicOrigin,
    TopicSet, TranslatedLog, Translation,
};
use logtool_protobuf::{FileSet, LayoutMessages, RowMessages};

use crate::translate::{fixes::fixes, said::said};

pub(crate) use self::{
    ros::{all_topics as ros_topics, ros, words as ros_words},
    words::words,
};

/// A log that can be written in another format.
pub(crate) struct Prepared {
    pub(crate) log: Arc<dyn Log>,
    /// What cannot be held there, or is not as it was: a sentence each, for people.
    pub(crate) remarks: Vec<String>,
    /// By how much its times are later than they were, in nanoseconds.
    pub(crate) offset_nanos: i64,
}

/// The formats of which an MCAP file takes the records as protocol buffers.
pub(crate) const AS_PROTOBUF: [&str; 1] = ["ulog"];

/// Topics that say in words what others say.
const WORDS: (&str, &str) = ("messages", "logged_strings");

/// The topics that an MCAP file is to have, if nobody names some: those of the file, but
/// the strings as people read them, events among them.
pub(crate) fn all_topics(manifest: &Manifest) -> TopicSet {
    let has_words = manifest.topic(WORDS.0).is_ok();
    let is_wanted = |topic: &Topic| match topic.origin {
        TopicOrigin::Derived => topic.name == WORDS.0,
        TopicOrigin::BuiltIn => topic.name != WORDS.1 || !has_words,
        TopicOrigin::Logged => true,
    };
    let wanted = manifest.topics().filter(|(_, topic)| is_wanted(topic));
    wanted.map(|(id, _)| id).collect()
}

/// `log` with those of its `wanted` topics that can be had as messages of protocol
/// buffers, at Unix time if the log knows it.
///
/// # Errors
/// Where a topic cannot be read.
pub(crate) fn protobuf(log: Arc<dyn Log>, wanted: &TopicSet) -> Result<Prepared> {
    let (offset_nanos, is_unix) = to_unix(log.manifest());
    let mut prepared = protobuf_at(log, wanted, offset_nanos, is_unix)?;
    if !is_unix {
        let since = "since the vehicle was switched on";
        let remark = format!("times count {since}: the log does not know UTC");
        prepared.remarks.push(remark);
    }
    Ok(prepared)
}

/// The same, each record `offset_nanos` later than it was; with `is_unix` that is Unix
/// time.
///
/// # Errors
/// Where a topic cannot be read.
pub(crate) fn protobuf_at(
    log: Arc<dyn Log>,
    wanted: &TopicSet,
    offset_nanos: i64,
    is_unix: bool,
) -> Result<Prepared> {
    let manifest = log.manifest();
    let (mut translations, mut left_out) = (Vec::new(), Vec::new());
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        match translation(&log, id, topic, offset_nanos)? {
            Ok(made) => translations.push(made),
            Err(why) => left_out.push(format!("{} ({why})", topic.label())),
        }
        translations.extend(fixes(&log, id, topic, offset_nanos)?);
    }
    let mut remarks = Vec::new();
    if !left_out.is_empty() {
        remarks.push(format!("left out: {}", left_out.join(", ")));
    }
    let log = Arc::new(TranslatedLog::new(log, translations, offset_nanos, is_unix));
    Ok(Prepared { log, remarks, offset_nanos })
}

/// What is to be added to the times of a log to make them Unix time, and whether that is
/// known.
fn to_unix(manifest: &Manifest) -> (i64, bool) {
    match (&manifest.clock.to_unix, manifest.clock.zero) {
        (Some(fit), _) => (fit.offset_nanos, true),
        (None, ClockZero::Unix) => (0, true),
        (None, _) => (0, false),
    }
}

/// The time of the row `row` of `batch`, in nanoseconds of the log's clock.
fn nanos_of(batch: &RecordBatch, row: usize) -> i64 {
    let times = batch.columns().first();
    let times = times.and_then(|c| c.as_primitive_opt::<TimestampNanosecondType>());
    times.filter(|c| c.is_valid(row)).map_or(0, |c| c.value(row))
}

/// How the topic `id` of `log` becomes one of protocol buffers, or why it does not.
fn translation(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Result<Translation, String>> {
    if [WORDS.0, WORDS.1].contains(&topic.type_name.as_str())
        && topic.origin != TopicOrigin::Logged
    {
        return Ok(Ok(said(log, id, topic, offset_nanos)?));
    }
    let package = log.manifest().format.as_str();
    if let Some(layout) = log.payload_layout(id) {
        return Ok(match LayoutMessages::new(&layout, package) {
            Ok(messages) => {
                let about = self::topic(topic, &messages.type_name, &messages.files);
                Ok(Translation {
                    from: id,
                    topic: about,
                    begin: Arc::new(move || Ok(Box::new(messages.clone()))),
                })
            }
            Err(why) => Err(why.to_string()),
        });
    }
    if topic.origin == TopicOrigin::Logged {
        return Ok(Err("nothing is known of its records".to_owned()));
    }
    let rows = RowMessages::new(&topic.schema, package, &topic.type_name);
    let rows = match rows {
        Ok(rows) => Arc::new(rows),
        Err(why) => return Ok(Err(why.to_string())),
    };
    let about = self::topic(topic, &rows.type_name, &rows.files);
    let log = log.clone();
    let begin = Arc::new(move || {
        let (decoder, rows) = (log.decoder(id, &Columns::default())?, rows.clone());
        let put = move |batch: &_, row, out: &mut _| {
            rows.put(batch, row, out);
            true
        };
        let translator: Box<dyn logtool_core::Translate> =
            Box::new(RowTranslator::new(decoder, put));
        Ok(translator)
    });
    Ok(Ok(Translation { from: id, topic: about, begin }))
}

/// What `topic` is as one of protocol buffers, with messages of the type `type_name`.
fn topic(topic: &Topic, type_name: &str, files: &FileSet) -> Topic {
    let mut metadata = BTreeMap::from([
        ("schema_encoding".to_owned(), "protobuf".to_owned()),
        ("topic".to_owned(), topic.label().into_owned()),
    ]);
    if topic.origin == TopicOrigin::Logged {
        metadata.insert("multi_id".to_owned(), topic.instance.to_string());
    }
    Topic {
        name: name(topic),
        instance: 0,
        origin: TopicOrigin::Logged,
        encoding: "protobuf".to_owned(),
        type_name: type_name.to_owned(),
        definition: files.to_string(),
        descriptor: files.to_bytes(),
        metadata,
        envelope: 0,
        ..topic.clone()
    }
}

/// `/name`, or `/name/1` for the next instance.
fn name(topic: &Topic) -> String {
    let name = topic.name.trim_start_matches('/');
    match topic.instance {
        0 => format!("/{name}"),
        instance => format!("/{name}/{instance}"),
    }
}
