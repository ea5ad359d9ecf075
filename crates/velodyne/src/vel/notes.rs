//! What the manifest of a `.vel` log notes, so that a log is resumed without reading
//! anything.

use logtool_core::{Damage, Manifest, Result, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    lidar::Lidar,
    model::Sensor,
    oddity::Oddity,
    vel::{index::IndexVerdict, topics::TopicKind, wire::SizeField},
};

/// What the format is called, in a manifest too.
pub(crate) const FORMAT_NAME: &str = "vel";

/// All that readers of parts need, and the survey found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// The version of the file.
    pub(crate) version: (u16, u16),
    pub(crate) size_field: SizeField,
    pub(crate) index: IndexVerdict,
    /// Where the messages begin, and where the last of them ends.
    pub(crate) messages: (u64, u64),
    /// Whether a mark says that they end there.
    pub(crate) has_end_mark: bool,
    /// What cannot be read, in the order of the file.
    pub(crate) gaps: Vec<Damage>,
    /// The validity of the messages of which points are made.
    pub(crate) valid: u8,
    /// The messages of packets that are broken, in the order of the file.
    pub(crate) broken: Vec<BrokenMessage>,
    /// What the topics are, but for the derived one.
    pub(crate) topics: Vec<TopicKind>,
    /// The topic of the points that are made of the packets.
    pub(crate) points: Option<TopicId>,
    /// The lidar that sent them, if it is known.
    pub(crate) lidar: Option<Lidar>,
    /// What is odd, but for what is of the lidar.
    pub(crate) oddities: Vec<Oddity>,
}

/// A message of packets that the file ends within, or that has a wrong size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokenMessage {
    pub(crate) at: u64,
    /// How long it is up to the end of its last packet that can be read.
    pub(crate) len: u64,
}

impl Notes {
    /// Returns the broken message at `at`, if there is one.
    pub(crate) fn broken_at(&self, at: u64) -> Option<BrokenMessage> {
        let found = self.broken.binary_search_by_key(&at, |broken| broken.at);
        found.ok().and_then(|index| self.broken.get(index)).copied()
    }

    /// Returns whether a broken message begins between `start` and `end`.
    pub(crate) fn has_broken(&self, start: u64, end: u64) -> bool {
        let first = self.broken.partition_point(|broken| broken.at < start);
        self.broken.get(first).is_some_and(|broken| broken.at < end)
    }

    /// The topic of messages of `kind`.
    pub(crate) fn topic(&self, kind: TopicKind) -> Option<TopicId> {
        let position = |kind| self.topics.iter().position(|known| *known == kind);
        let index = position(kind).or_else(|| position(TopicKind::OtherRaw))?;
        Some(TopicId(index as u32))
    }
}

/// Of a `.vel` log with this manifest: the topic of the messages of packets, the validity
/// of those that are valid, and what sent them.
pub(crate) fn packets_topic(
    manifest: &Manifest,
) -> Result<(Option<TopicId>, u8, Option<Sensor>)> {
    let notes: Notes = manifest.noted(FORMAT_NAME)?;
    let index = notes.topics.iter().position(|kind| *kind == TopicKind::Packets);
    let sensor = notes.lidar.map(|lidar| lidar.sensor);
    Ok((index.map(|index| TopicId(index as u32)), notes.valid, sensor))
}
