//! What the numbers of channels mean to who reads messages.

use std::collections::HashMap;

use logtool_core::TopicId;

/// The streams and topics of channels.
#[derive(Debug)]
pub(crate) struct Channels {
    by_id: HashMap<u16, (u32, TopicId)>,
}

impl Channels {
    /// The `channels`, in the order of their streams: their numbers and topics.
    pub(crate) fn new(channels: &[(u16, TopicId)]) -> Self {
        let with_streams = (0..).zip(channels);
        let by_id =
            with_streams.map(|(stream, (id, topic))| (*id, (stream, *topic))).collect();
        Self { by_id }
    }

    /// The stream and the topic of the channel with the number `id`.
    pub(crate) fn get(&self, id: u16) -> Option<(u32, TopicId)> {
        self.by_id.get(&id).copied()
    }
}
