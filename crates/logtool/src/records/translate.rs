//! Translates logs to messages that other formats can hold.
//!
//! The crates of the formats do not depend on each other. This module translates ULogs to protocol
//! buffers in MCAP files, and to messages of ROS in other files; logs of lidars to messages of ROS,
//! or to protocol buffers of Foxglove's types; and messages of ROS 2 to those of ROS 1.

mod frames;
mod from_rows;
mod lidar;
mod log_messages;
mod metadata;
mod protobuf;
mod px4;
mod ros;
mod tables;

use logtool_ulog::topic_names;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use arrow_array::{
    Array as _, RecordBatch, cast::AsArray as _, types::TimestampNanosecondType,
};
use logtool_core::{
    Log, Manifest, Selection, Topic, TopicId, TopicOrigin, TopicSet, Translation,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    formats::{LogFormat, RecordKind},
    records::translate::lidar::LidarMessageKind,
    time::{offset::ClockOffset, repaired_times::RepairedTimes},
};

pub use self::frames::Frames;

/// The types of the messages that a log without messages is translated to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageTypes {
    /// Protocol buffers for a ULog in an MCAP file; messages of ROS otherwise.
    #[default]
    Any,
    /// Messages of ROS. In an MCAP file, they are those of ROS 2, in CDR.
    Ros,
    /// Protocol buffers of Foxglove's types.
    Foxglove,
}

/// A kind of translation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TranslationKind {
    /// A ULog as protocol buffers.
    Protobuf,
    /// A ULog as messages of ROS 1.
    Px4,
    /// A log of a lidar as messages of this kind.
    Lidar(LidarMessageKind),
    /// An MCAP file of ROS 2 as messages of ROS 1.
    Cdr,
    /// A table as protocol buffers.
    TableProtobuf,
    /// A table as messages of ROS 1.
    TableRos,
}

/// A log that was translated for another format.
pub struct PreparedTranslation {
    /// The translated log.
    pub log: Arc<dyn Log>,
    /// The source of the messages of each topic of the translated log.
    pub sources: Vec<MessageSource>,
    /// Remarks about dropped or changed data, one sentence each.
    pub remarks: Vec<String>,
    /// Warnings about omitted data and changed timestamps, one sentence each.
    pub warnings: Vec<String>,
}

/// The topics of a log from which the messages of a translated topic are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSource {
    /// The topic whose records become messages.
    pub topic: TopicId,
    /// Another topic, if messages depend on its records.
    pub dependency: Option<TopicId>,
}

impl TranslationKind {
    /// Returns how a log `source` is translated to the format `target`, with these types of
    /// messages. Returns `None` if its records are copied unchanged, or cannot be held.
    pub fn for_target(
        source: &Manifest,
        target: LogFormat,
        messages: MessageTypes,
    ) -> Option<Self> {
        let is_mcap = target == LogFormat::Mcap;
        match LogFormat::from_manifest(source)?.record_kind() {
            _ if !target.has_messages() => None,
            RecordKind::Px4 if is_mcap && messages != MessageTypes::Ros => {
                Some(Self::Protobuf)
            }
            RecordKind::Px4 => Some(Self::Px4),
            RecordKind::LidarPacket
                if is_mcap && messages == MessageTypes::Foxglove =>
            {
                Some(Self::Lidar(LidarMessageKind::Foxglove))
            }
            RecordKind::LidarPacket => Some(Self::Lidar(LidarMessageKind::Ros)),
            RecordKind::TableRow if is_mcap && messages != MessageTypes::Ros => {
                Some(Self::TableProtobuf)
            }
            RecordKind::TableRow => Some(Self::TableRos),
            // Bags hold only the messages of ROS 1.
            RecordKind::Message => {
                let is_cdr = !is_mcap && source.topics.iter().any(ros::is_foreign);
                is_cdr.then_some(Self::Cdr)
            }
        }
    }

    /// Returns whether the log is of a lidar.
    pub fn is_lidar(self) -> bool {
        matches!(self, Self::Lidar(_))
    }

    /// Returns a frame that is in messages of the `translated` log and that has another name
    /// for each vehicle, if there is one.
    pub fn example_frame(self, translated: &Manifest) -> Option<&'static str> {
        let has_type = |types: &[&str]| {
            let mut topics = translated.topics.iter();
            topics.any(|topic| types.contains(&topic.type_name.as_str()))
        };
        match self {
            Self::Lidar(_) => Some("velodyne"),
            Self::Protobuf => {
                has_type(protobuf::TYPES_WITH_FRAMES).then_some("base_link")
            }
            Self::Px4 => has_type(ros::PX4_TYPES_WITH_FRAMES).then_some("base_link"),
            Self::Cdr | Self::TableProtobuf | Self::TableRos => None,
        }
    }

    /// Returns whether the topics of the new log are named after one vehicle.
    pub fn is_vehicle(self) -> bool {
        !matches!(self, Self::Cdr | Self::TableProtobuf | Self::TableRos)
    }

    /// Returns whether each record of the file becomes one message; derived records become none.
    pub fn is_one_to_one(self) -> bool {
        self == Self::Cdr
    }

    /// Returns the topics of a log that are translated if none are selected.
    pub fn all_topics(self, manifest: &Manifest) -> TopicSet {
        match self {
            Self::Protobuf | Self::Px4 => all_topics(manifest),
            Self::Lidar(_) => lidar::all_topics(manifest),
            Self::Cdr | Self::TableProtobuf | Self::TableRos => {
                manifest.logged_topics()
            }
        }
    }

    /// Translates the topics in `selection` of `log`, with times on another clock. Messages that
    /// combine several rows only contain rows of the selected times. `frames` gives the names
    /// of the frames of the vehicle and its lidars.
    ///
    /// # Errors
    /// A topic cannot be read.
    pub fn prepare(
        self,
        log: Arc<dyn Log>,
        selection: &Selection,
        offset: ClockOffset,
        frames: &Frames,
    ) -> Result<PreparedTranslation> {
        let RepairedTimes { log, warning, .. } = RepairedTimes::new(log)?;
        let mut prepared = self.translate(log, selection, offset, frames, None)?;
        prepared.warnings.extend(warning);
        Ok(prepared)
    }

    /// Translates `log` like [`prepare`](Self::prepare), without replacing unusable times.
    /// In a log that was opened with an excerpt of its manifest, `scans` are the numbers of
    /// the scans of points that become messages; a whole log has `None`.
    ///
    /// # Errors
    /// A topic cannot be read.
    pub fn translate(
        self,
        log: Arc<dyn Log>,
        selection: &Selection,
        offset: ClockOffset,
        frames: &Frames,
        scans: Option<Range<u32>>,
    ) -> Result<PreparedTranslation> {
        match self {
            Self::Protobuf => {
                protobuf::protobuf(log, &selection.topics, offset, frames)
            }
            Self::Px4 => ros::px4(log, &selection.topics, offset, frames),
            Self::Lidar(kind) => {
                lidar::lidar(log, selection, offset, kind, frames, scans)
            }
            Self::Cdr => ros::cdr(log, &selection.topics, offset),
            Self::TableProtobuf | Self::TableRos => {
                let is_ros = self == Self::TableRos;
                tables::tables(log, &selection.topics, offset, is_ros)
            }
        }
    }

    /// Fails if messages of `topics` depend on all records before them.
    ///
    /// # Errors
    /// `Unsupported` if they do.
    pub fn check_independence(
        self,
        manifest: &Manifest,
        topics: &TopicSet,
    ) -> Result<()> {
        match self {
            Self::Lidar(kind) => lidar::check_independence(manifest, topics, kind),
            _ => Ok(()),
        }
    }

    /// Returns a remark about metadata of the log that a log of the format `target` cannot hold.
    pub fn dropped_metadata(
        self,
        manifest: &Manifest,
        target: LogFormat,
    ) -> Option<String> {
        match self {
            Self::Px4 if !target.stores_annotations() => {
                ros::px4_dropped_metadata(manifest)
            }
            _ => None,
        }
    }

    /// Returns the metadata of the log called `name` for a format that can store it.
    pub fn metadata_records(
        self,
        manifest: &Manifest,
        name: &str,
    ) -> Vec<(String, BTreeMap<String, String>)> {
        let mut records = metadata::metadata_records(manifest, name);
        if self.is_lidar() {
            records.extend(lidar::metadata_records(manifest));
        }
        records
    }
}

impl MessageSource {
    /// Returns the sources of `translations` that need no other topic.
    fn of_each(translations: &[Translation]) -> Vec<Self> {
        let source = |translation: &Translation| Self {
            topic: translation.source_topic,
            dependency: None,
        };
        translations.iter().map(source).collect()
    }

    /// Returns the sources of `translations`. Those at the indices `dependent` also need the
    /// topic `dependency`.
    fn with_dependency(
        translations: &[Translation],
        dependency: Option<TopicId>,
        dependent: &BTreeSet<usize>,
    ) -> Vec<Self> {
        let mut sources = Self::of_each(translations);
        for (index, source) in sources.iter_mut().enumerate() {
            source.dependency = dependency.filter(|_| dependent.contains(&index));
        }
        sources
    }
}

impl MessageTypes {
    /// Rejects Foxglove's types unless one of the `translations` makes such messages.
    ///
    /// # Errors
    /// `InvalidRequest` if no translation makes them.
    pub fn check(self, translations: &[Option<TranslationKind>]) -> Result<()> {
        let is_made = translations
            .contains(&Some(TranslationKind::Lidar(LidarMessageKind::Foxglove)));
        if self != Self::Foxglove || is_made {
            return Ok(());
        }
        let message = "Foxglove's types are for .vel logs and captures, as MCAP files";
        let hint = "without this request, ULogs become protocol buffers, with poses, \
                    positions and messages of Foxglove's types, and messages of other \
                    logs stay as they are";
        Err(Error::invalid_request(message).with_hint(hint))
    }
}

/// The topics of messages with text, derived and logged.
const MESSAGE_TOPICS: (&str, &str) =
    (topic_names::MESSAGES, topic_names::LOGGED_STRINGS);

/// Returns the topics of a ULog that are translated if none are selected: those of the file, but
/// instead of the logged strings the messages with text, which include events.
fn all_topics(manifest: &Manifest) -> TopicSet {
    let has_words = manifest.topic_id(MESSAGE_TOPICS.0).is_ok();
    let is_wanted = |topic: &Topic| match topic.origin {
        TopicOrigin::Derived => topic.name == MESSAGE_TOPICS.0,
        TopicOrigin::BuiltIn => topic.name != MESSAGE_TOPICS.1 || !has_words,
        TopicOrigin::Logged => true,
    };
    let topics = manifest.topics().filter(|(_, topic)| is_wanted(topic));
    topics.map(|(id, _)| id).collect()
}

/// Returns whether `topic` contains log messages for users.
fn has_log_messages(topic: &Topic) -> bool {
    topic.origin != TopicOrigin::Logged
        && [MESSAGE_TOPICS.0, MESSAGE_TOPICS.1].contains(&topic.type_name.as_str())
}

/// Returns the time of the row at index `row` of `batch`, in nanoseconds of the log's clock.
fn nanos_of(batch: &RecordBatch, row: usize) -> i64 {
    let times = batch.columns().first();
    let times = times.and_then(|c| c.as_primitive_opt::<TimestampNanosecondType>());
    times.filter(|c| c.is_valid(row)).map_or(0, |c| c.value(row))
}

/// Returns `/name`, or `/name/1` for the next instance.
fn name(topic: &Topic) -> String {
    let name = topic.name.trim_start_matches('/');
    match topic.instance {
        0 => format!("/{name}"),
        instance => format!("/{name}/{instance}"),
    }
}
