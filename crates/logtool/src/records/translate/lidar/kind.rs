//! The kind of messages that logs of lidars are translated to.

use std::sync::Arc;

use logtool_core::{Log, Topic, TopicId, Translation};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    records::translate::{
        lidar::{
            foxglove,
            message::{Cloud, Image, LidarMessageType, Rotation},
            ros,
        },
        protobuf, ros as of_ros,
    },
};

/// The package of types that are derived from columns.
const PACKAGE: &str = "velodyne_log";

/// The kind of messages that logs of lidars are translated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LidarMessageKind {
    /// Messages of ROS 1.
    Ros,
    /// Protocol buffers of Foxglove's types.
    Foxglove,
}

impl LidarMessageKind {
    /// Returns the topic of messages of the type `message_type` for `topic`, with `more`
    /// appended to its name.
    pub(super) fn topic(
        self,
        topic: &Topic,
        more: &str,
        message_type: LidarMessageType,
    ) -> Result<Topic> {
        match self {
            Self::Ros => {
                of_ros::common_topic(topic, more, ros::type_name(message_type))
            }
            Self::Foxglove => Ok(foxglove::topic(topic, more, message_type)),
        }
    }

    /// Translates the records of the topic `id` of `log` to messages of a type that is derived
    /// from its columns, or returns why this is impossible.
    pub(super) fn rows(
        self,
        log: &Arc<dyn Log>,
        id: TopicId,
        topic: &Topic,
    ) -> Result<Result<Translation, String>> {
        match self {
            Self::Ros => of_ros::rows(log, id, topic, PACKAGE),
            Self::Foxglove => protobuf::rows(log, id, topic, PACKAGE, &topic.name),
        }
    }

    /// Translates the records of the topic `id` of `log` to positions, with `offset_nanos` added to
    /// their times. Returns `None` if they contain no positions.
    pub(super) fn fixes(
        self,
        log: &Arc<dyn Log>,
        id: TopicId,
        topic: &Topic,
        offset_nanos: i64,
    ) -> Result<Option<Translation>> {
        match self {
            Self::Ros => of_ros::fixes(log, id, topic, offset_nanos),
            Self::Foxglove => protobuf::fixes(log, id, topic, offset_nanos),
        }
    }

    /// Appends `cloud` to `out`.
    pub(super) fn encode_cloud(self, cloud: &Cloud<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::encode_cloud(cloud, out),
            Self::Foxglove => foxglove::encode_cloud(cloud, out),
        }
    }

    /// Appends `image` to `out`: uncompressed pixels or a compressed file.
    pub(super) fn encode_image(self, image: &Image<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::encode_image(image, out),
            Self::Foxglove => foxglove::encode_image(image, out),
        }
    }

    /// Appends `rotation` as a transform to `out`.
    pub(super) fn encode_rotation(self, rotation: &Rotation<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::encode_rotation(rotation, out),
            Self::Foxglove => foxglove::encode_rotation(rotation, out),
        }
    }
}
