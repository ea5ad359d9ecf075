//! The private state of a `.vel` log in its manifest, with which a log is opened without
//! reading it again.

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    anomaly::Anomaly,
    lidar::Lidar,
    points::ScanIndex,
    vel::{decode::topics::TopicKind, second_index::IndexStatus, wire::SizeField},
};

/// The name of the format, also in manifests.
pub(crate) const FORMAT_NAME: &str = "vel";

/// The results of the index pass that readers of parts need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    /// The version of the file.
    pub(crate) version: (u16, u16),
    pub(crate) size_field: SizeField,
    pub(crate) index: IndexStatus,
    /// The start of the first message and the end of the last one.
    pub(crate) messages: (u64, u64),
    /// Whether a mark ends the messages.
    pub(crate) has_end_mark: bool,
    /// The damaged ranges, in the order of the file.
    #[serde(rename = "gaps")]
    pub(crate) damage: Vec<Damage>,
    /// The validity byte of the messages whose packets are decoded to points.
    pub(crate) valid: u8,
    /// The broken messages of packets, in the order of the file.
    pub(crate) broken: Vec<BrokenMessage>,
    /// The kinds of the topics, except that of the points.
    pub(crate) topics: Vec<TopicKind>,
    /// The topic of the points, which is derived from that of the packets.
    pub(crate) points: Option<TopicId>,
    /// The lidar that sent the packets, if it is known.
    pub(crate) lidar: Option<Lidar>,
    /// The scans of the points, if they are known without reading the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scans: Option<ScanIndex>,
    /// The anomalies, except those of the lidar.
    pub(crate) anomalies: Vec<Anomaly>,
}

/// A message of packets that is truncated by the end of the file, or whose size is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokenMessage {
    pub(crate) at: u64,
    /// The length of the message up to the end of its last complete packet.
    pub(crate) len: u64,
}

impl FormatState {
    /// Returns the broken message at `at`, if there is one.
    pub(crate) fn broken_at(&self, at: u64) -> Option<BrokenMessage> {
        let index = self.broken.binary_search_by_key(&at, |broken| broken.at);
        index.ok().and_then(|index| self.broken.get(index)).copied()
    }

    /// Returns whether a broken message starts between `start` and `end`.
    pub(crate) fn has_broken(&self, start: u64, end: u64) -> bool {
        let first = self.broken.partition_point(|broken| broken.at < start);
        self.broken.get(first).is_some_and(|broken| broken.at < end)
    }

    /// Returns the topic of messages of `kind`.
    pub(crate) fn topic(&self, kind: TopicKind) -> Option<TopicId> {
        let position = |kind| self.topics.iter().position(|other| *other == kind);
        let index = position(kind).or_else(|| position(TopicKind::OtherRaw))?;
        Some(TopicId(index as u32))
    }
}
