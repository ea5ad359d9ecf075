//! The private state of a capture in its manifest, with which it is opened without
//! reading it again.

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    anomaly::Anomaly,
    capture::{
        container::Container,
        hour_counter::HourCounter,
        item::Declaration,
        packets::{duplicates::DuplicateFilter, sender::Sender},
    },
    lidar::Lidar,
    points::ScanIndex,
};

/// The results of the index pass that readers of parts need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    pub(crate) container: Container,
    /// The sections and interfaces, with their positions.
    pub(crate) declarations: Vec<(u64, Declaration)>,
    /// The damaged ranges, in the order of the file.
    pub(crate) gaps: Vec<Damage>,
    /// The state at the start of each part of the manifest.
    pub(crate) starts: Vec<PartStart>,
    /// The topics, except derived ones.
    pub(crate) topics: Vec<Sender>,
    /// The points of each topic, if its lidar is known.
    pub(crate) points: Vec<Option<PointsTopic>>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
    /// The anomalies, except those of lidars.
    pub(crate) anomalies: Vec<Anomaly>,
}

/// The points of a lidar.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PointsTopic {
    /// The topic of the points.
    pub(crate) topic: TopicId,
    /// The lidar that sends the packets.
    pub(crate) lidar: Lidar,
    /// The scans, if they are known without reading the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scans: Option<ScanIndex>,
}

/// The state of a reader at the start of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartStart {
    /// The positions of the frames with fragments of incomplete datagrams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fragments: Vec<u64>,
    /// The last packets, for detecting duplicates.
    #[serde(default, skip_serializing_if = "DuplicateFilter::is_empty")]
    pub(crate) duplicate_filter: DuplicateFilter,
    /// The time of packets without a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hours: Option<HourCounter>,
}

impl FormatState {
    /// Returns the topic of packets from `sender`.
    pub(crate) fn topic(&self, sender: &Sender) -> Option<TopicId> {
        let index = self.topics.iter().position(|known| known == sender)?;
        Some(TopicId(index as u32))
    }

    /// Returns the points with the topic `topic`, and the topic of their packets.
    pub(crate) fn points(&self, topic: TopicId) -> Option<(TopicId, &PointsTopic)> {
        let ids_and_points = (0..).map(TopicId).zip(&self.points);
        let mut with_points =
            ids_and_points.filter_map(|(id, points)| Some((id, points.as_ref()?)));
        with_points.find(|(_, points)| points.topic == topic)
    }

    /// Returns the topic of the points that are decoded from the packets of `topic`.
    pub(crate) fn points_of(&self, topic: TopicId) -> Option<TopicId> {
        Some(self.points.get(topic.index())?.as_ref()?.topic)
    }
}
