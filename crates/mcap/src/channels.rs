//! Maps channel ids to streams and topics.

use std::collections::HashMap;

use logtool_core::{IdSet, Topic, TopicId, TopicOrigin};
use logtool_rosmsg::{Derivation, DerivedTopics, PointColumns};

/// The streams and topics of channels, and the topics that are derived from them.
#[derive(Debug)]
pub(crate) struct Channels {
    by_id: HashMap<u16, (u32, TopicId)>,
    /// The topic, the stream and the id of each channel, in ascending order.
    by_topic: Vec<(TopicId, u32, u16)>,
    /// The ids of all channels, including channels that an excerpt leaves out.
    known: IdSet,
    pub(crate) derived: DerivedTopics,
}

impl Channels {
    /// Creates the map from `channels`, the ids and topics in stream order, and the
    /// `topics` of the manifest.
    pub(crate) fn new(channels: &[(u16, TopicId)], topics: &[Topic]) -> Self {
        let with_streams = (0..).zip(channels);
        let by_id =
            with_streams.map(|(stream, (id, topic))| (*id, (stream, *topic))).collect();
        let with_streams = (0..).zip(channels);
        let mut by_topic: Vec<(TopicId, u32, u16)> =
            with_streams.map(|(stream, (id, topic))| (*topic, stream, *id)).collect();
        by_topic.sort_unstable();
        let known = channels.iter().map(|(id, _)| u32::from(*id)).collect();
        Self { by_id, by_topic, known, derived: derived_of(topics) }
    }

    /// Sets the ids of all channels. Messages of channels without a topic are skipped.
    pub(crate) fn with_known(mut self, known: IdSet) -> Self {
        self.known = known;
        self
    }

    /// Sets columns of points that are known.
    pub(crate) fn with_point_columns(mut self, columns: Vec<PointColumns>) -> Self {
        self.derived = self.derived.with_point_columns(columns);
        self
    }

    /// Returns the ids of the channels of `topic`.
    pub(crate) fn of_topic(&self, topic: TopicId) -> impl Iterator<Item = u16> {
        let first = self.by_topic.partition_point(|(before, ..)| *before < topic);
        let rest = self.by_topic.get(first..).unwrap_or_default().iter();
        rest.take_while(move |(of, ..)| *of == topic).map(|(.., id)| *id)
    }

    /// Returns the ids of all channels.
    pub(crate) fn known(&self) -> &IdSet {
        &self.known
    }

    /// Returns the stream and the topic of the channel `id`.
    pub(crate) fn get(&self, id: u16) -> Option<(u32, TopicId)> {
        self.by_id.get(&id).copied()
    }
}

/// Returns the topics that are derived from the logged topics among `topics`.
pub(crate) fn derived_of(topics: &[Topic]) -> DerivedTopics {
    let logged_topics =
        topics.iter().filter(|topic| topic.origin == TopicOrigin::Logged);
    DerivedTopics::new(logged_topics.map(Derivation::from_topic))
}
