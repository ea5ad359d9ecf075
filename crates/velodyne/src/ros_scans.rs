//! Topics of ROS messages that contain packets.

use logtool_core::{Manifest, Topic, TopicContent, TopicOrigin};

/// The suffix of the topics that are derived from ROS messages with packets.
pub(crate) const PACKETS_SUFFIX: &str = "/packets";

/// Returns whether a topic of packets is derived from the messages of `topic`.
pub(crate) fn has_packets(manifest: &Manifest, topic: &Topic) -> bool {
    let is_of_topic = |other: &Topic| {
        other.content == TopicContent::LidarPackets
            && other.name.strip_suffix(PACKETS_SUFFIX) == Some(&topic.name)
    };
    topic.origin == TopicOrigin::Logged && manifest.topics.iter().any(is_of_topic)
}
