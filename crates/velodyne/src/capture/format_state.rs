//! The private state of a capture in its manifest. With it, the capture is opened without
//! reading it again.

use std::sync::Arc;

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    anomaly::Anomaly,
    capture::{
        container::Container,
        corrections::Corrections,
        hour_counter::HourCounter,
        item::Declaration,
        packets::{duplicates::DuplicateFilter, sender::Sender},
    },
    lidar::Lidar,
    points::ScanIndex,
};

/// The results of the index pass that are needed for reading parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    pub(crate) container: Container,
    /// The sections and interfaces, with their offsets.
    pub(crate) declarations: Vec<(u64, Declaration)>,
    /// The damaged ranges, in the order of the file.
    #[serde(rename = "gaps")]
    pub(crate) damage: Vec<Damage>,
    /// The state at the start of each part of the manifest.
    pub(crate) starts: Vec<PartStart>,
    /// The sender of each topic, except derived ones.
    #[serde(rename = "topics")]
    pub(crate) senders: Vec<Sender>,
    /// The points of each of these topics, if its lidar is known.
    pub(crate) points: Vec<Option<PointsTopic>>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
    /// The corrections of senders and of their checksums.
    #[serde(default, skip_serializing_if = "is_without_corrections")]
    pub(crate) corrections: Arc<Corrections>,
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
    /// The scans of an excerpt, which cannot be computed from its packets alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scans: Option<ScanIndex>,
}

/// The state of a reader at the start of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartStart {
    /// The offsets of the frames whose fragments must be read first, in the order of the
    /// file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fragments: Vec<u64>,
    /// The last packets, for detecting duplicates.
    #[serde(default, skip_serializing_if = "DuplicateFilter::is_empty")]
    pub(crate) duplicate_filter: DuplicateFilter,
    /// The clock of packets without a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hours: Option<HourCounter>,
}

fn is_without_corrections(corrections: &Corrections) -> bool {
    corrections.is_empty()
}

impl FormatState {
    /// Returns the topic of the packets from `sender`.
    pub(crate) fn packets_topic(&self, sender: &Sender) -> Option<TopicId> {
        let index = self.senders.iter().position(|other| other == sender)?;
        Some(TopicId(index as u32))
    }

    /// Returns the points whose topic is `topic`, and the topic of their packets.
    pub(crate) fn points(&self, topic: TopicId) -> Option<(TopicId, &PointsTopic)> {
        let packets_and_points = (0..).map(TopicId).zip(&self.points);
        packets_and_points
            .filter_map(|(packets, points)| Some((packets, points.as_ref()?)))
            .find(|(_, points)| points.topic == topic)
    }

    /// Returns the topic of the points that are decoded from the topic `packets`.
    pub(crate) fn points_topic(&self, packets: TopicId) -> Option<TopicId> {
        Some(self.points.get(packets.index())?.as_ref()?.topic)
    }
}
