//! What the numbers of channels mean to who reads messages.

use std::collections::HashMap;

use logtool_core::{Topic, TopicId, TopicOrigin};
use logtool_rosmsg::{Derivation, Derived};

/// The streams and topics of channels, and the topics that are derived of these.
#[derive(Debug)]
pub(crate) struct Channels {
    by_id: HashMap<u16, (u32, TopicId)>,
    pub(crate) derived: Derived,
}

impl Channels {
    /// The `channels`, in the order of their streams: their numbers and topics; `topics` are
    /// those of the manifest.
    pub(crate) fn new(channels: &[(u16, TopicId)], topics: &[Topic]) -> Self {
        let with_streams = (0..).zip(channels);
        let by_id =
            with_streams.map(|(stream, (id, topic))| (*id, (stream, *topic))).collect();
        Self { by_id, derived: derived_of(topics) }
    }

    /// The stream and the topic of the channel with the number `id`.
    pub(crate) fn get(&self, id: u16) -> Option<(u32, TopicId)> {
        self.by_id.get(&id).copied()
    }
}

/// What is derived of those of `topics` that the file has itself.
pub(crate) fn derived_of(topics: &[Topic]) -> Derived {
    let own = topics.iter().filter(|topic| topic.origin == TopicOrigin::Logged);
    Derived::new(own.map(Derivation::of))
}
