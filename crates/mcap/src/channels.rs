//! Maps channel ids to streams and topics.

use std::collections::HashMap;

use logtool_core::{Topic, TopicId, TopicOrigin};
use logtool_rosmsg::{Derivation, DerivedTopics, PointColumns};

/// The streams and topics of channels, and the topics that are derived from them.
#[derive(Debug)]
pub(crate) struct Channels {
    by_id: HashMap<u16, (u32, TopicId)>,
    pub(crate) derived: DerivedTopics,
}

impl Channels {
    /// Creates the map from `channels`, the ids and topics in stream order, and the
    /// `topics` of the manifest.
    pub(crate) fn new(channels: &[(u16, TopicId)], topics: &[Topic]) -> Self {
        let with_streams = (0..).zip(channels);
        let by_id =
            with_streams.map(|(stream, (id, topic))| (*id, (stream, *topic))).collect();
        Self { by_id, derived: derived_of(topics) }
    }

    /// Sets columns of points that are known.
    pub(crate) fn with_point_columns(mut self, columns: Vec<PointColumns>) -> Self {
        self.derived = self.derived.with_point_columns(columns);
        self
    }

    /// Returns the ids and the topics of the channels, in stream order.
    pub(crate) fn list(&self) -> Vec<(u16, TopicId)> {
        let mut list: Vec<(u32, u16, TopicId)> = self
            .by_id
            .iter()
            .map(|(id, (stream, topic))| (*stream, *id, *topic))
            .collect();
        list.sort_unstable();
        list.into_iter().map(|(_, id, topic)| (id, topic)).collect()
    }

    /// Returns the stream and the topic of the channel `id`.
    pub(crate) fn get(&self, id: u16) -> Option<(u32, TopicId)> {
        self.by_id.get(&id).copied()
    }
}

/// Returns the topics that are derived from the logged topics among `topics`.
pub(crate) fn derived_of(topics: &[Topic]) -> DerivedTopics {
    let own = topics.iter().filter(|topic| topic.origin == TopicOrigin::Logged);
    DerivedTopics::new(own.map(Derivation::from_topic))
}
