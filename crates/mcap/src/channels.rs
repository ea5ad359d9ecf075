//! Maps channel ids to streams and topics.

use std::collections::HashMap;

use logtool_core::{IdSet, Topic, TopicId, TopicOrigin};
use logtool_rosmsg::{Derivation, DerivedTopics, PointColumns};

/// The streams and topics of channels, and the topics that are derived from them.
#[derive(Debug)]
pub(crate) struct Channels {
    /// The stream and the topic of each channel, by channel id.
    by_id: HashMap<u16, (u32, TopicId)>,
    /// The topic, the stream and the id of each channel, in ascending order.
    by_topic: Vec<(TopicId, u32, u16)>,
    /// The ids of all channels of the file, including channels that an excerpt leaves
    /// out.
    all_ids: IdSet,
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
        let all_ids = channels.iter().map(|(id, _)| u32::from(*id)).collect();
        Self { by_id, by_topic, all_ids, derived: derived_topics(topics) }
    }

    /// Sets the ids of all channels of the file, if these channels are an excerpt. Messages
    /// of channels that are only in `all_ids` are skipped, and are not reported as damage.
    pub(crate) fn with_all_ids(mut self, all_ids: IdSet) -> Self {
        self.all_ids = all_ids;
        self
    }

    /// Sets the columns of points that are known without inspecting messages.
    pub(crate) fn with_point_columns(mut self, columns: Vec<PointColumns>) -> Self {
        self.derived = self.derived.with_point_columns(columns);
        self
    }

    /// Returns the ids of the channels of `topic`.
    pub(crate) fn of_topic(&self, topic: TopicId) -> impl Iterator<Item = u16> {
        let first = self.by_topic.partition_point(|(other, ..)| *other < topic);
        let following = self.by_topic.get(first..).unwrap_or_default().iter();
        following.take_while(move |(other, ..)| *other == topic).map(|(.., id)| *id)
    }

    /// Returns the ids of all channels of the file, including channels that an excerpt
    /// leaves out.
    pub(crate) fn all_ids(&self) -> &IdSet {
        &self.all_ids
    }

    /// Returns the stream and the topic of the channel `id`.
    pub(crate) fn get(&self, id: u16) -> Option<(u32, TopicId)> {
        self.by_id.get(&id).copied()
    }
}

/// Returns the topics that are derived from the logged topics among `topics`.
pub(crate) fn derived_topics(topics: &[Topic]) -> DerivedTopics {
    let logged_topics =
        topics.iter().filter(|topic| topic.origin == TopicOrigin::Logged);
    DerivedTopics::new(logged_topics.map(Derivation::from_topic))
}
