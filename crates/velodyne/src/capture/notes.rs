//! What the manifest of a capture notes, so that it is resumed without reading anything.

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    capture::{
        container::Container, duplicates::Latest, item::Declaration, sender::Sender,
        top_of_hour::Hours,
    },
    lidar::Lidar,
    oddity::Oddity,
};

/// All that readers of parts need, and the survey found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    pub(crate) container: Container,
    /// Sections and interfaces, and where they are declared.
    pub(crate) declarations: Vec<(u64, Declaration)>,
    /// What cannot be read, in the order of the file.
    pub(crate) gaps: Vec<Damage>,
    /// For each of the manifest's parts, the state at its start.
    pub(crate) starts: Vec<PartStart>,
    /// What the topics are, but for those that are derived.
    pub(crate) topics: Vec<Sender>,
    /// For each of these, what points are made of, where it is a lidar that is known.
    pub(crate) points: Vec<Option<Points>>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
    /// What is odd, but for what is of lidars.
    pub(crate) oddities: Vec<Oddity>,
}

/// The points of a lidar.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Points {
    /// The topic of the points.
    pub(crate) topic: TopicId,
    /// Who sends their packets.
    pub(crate) lidar: Lidar,
}

/// The state of a reader where a part begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartStart {
    /// Where the frames are of which the pieces still wait for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pieces: Vec<u64>,
    /// The last packets, which may come again.
    #[serde(default, skip_serializing_if = "Latest::is_empty")]
    pub(crate) latest: Latest,
    /// Of packets without a container: the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hours: Option<Hours>,
}

impl Notes {
    /// The topic of what `sender` sends.
    pub(crate) fn topic(&self, sender: &Sender) -> Option<TopicId> {
        let index = self.topics.iter().position(|known| known == sender)?;
        Some(TopicId(index as u32))
    }

    /// The topic of the packets of which the points of `topic` are made, and these.
    pub(crate) fn points(&self, topic: TopicId) -> Option<(TopicId, &Points)> {
        let all = (0..).map(TopicId).zip(&self.points);
        let mut known = all.filter_map(|(id, points)| Some((id, points.as_ref()?)));
        known.find(|(_, points)| points.topic == topic)
    }

    /// The topic of the points that are made of the packets of `topic`.
    pub(crate) fn points_of(&self, topic: TopicId) -> Option<TopicId> {
        Some(self.points.get(topic.index())?.as_ref()?.topic)
    }
}
