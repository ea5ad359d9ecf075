//! Of which kind the messages are that logs of lidars become.

use std::sync::Arc;

use logtool_core::{Log, Topic, TopicId, Translation};

use crate::{
    error::Result,
    translate::{
        lidar::{
            foxglove,
            message::{Cloud, Image, Turn, What},
            ros,
        },
        protobuf, ros as of_ros,
    },
};

/// The package of the types that are made.
const PACKAGE: &str = "velodyne_log";

/// Of which kind messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages of ROS 1.
    Ros,
    /// Protocol buffers of Foxglove's types.
    Foxglove,
}

impl Kind {
    /// What `topic` is as one of `what`, called as it is and `more`.
    pub(super) fn topic(self, topic: &Topic, more: &str, what: What) -> Result<Topic> {
        match self {
            Self::Ros => of_ros::common(topic, more, ros::type_name(what)),
            Self::Foxglove => Ok(foxglove::topic(topic, more, what)),
        }
    }

    /// How records of the topic `id` of `log` become messages of a type that is made of its
    /// columns, or why they do not.
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

    /// How records of the topic `id` of `log` become places, `offset_nanos` later, if they
    /// say where something was.
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

    /// Adds `cloud` to `out`.
    pub(super) fn put_cloud(self, cloud: &Cloud<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::put_cloud(cloud, out),
            Self::Foxglove => foxglove::put_cloud(cloud, out),
        }
    }

    /// Adds `image` to `out`: rows of pixels, or else as the file that it is.
    pub(super) fn put_image(self, image: &Image<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::put_image(image, out),
            Self::Foxglove => foxglove::put_image(image, out),
        }
    }

    /// Adds the transform that `turn` is to `out`.
    pub(super) fn put_turn(self, turn: &Turn<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Ros => ros::put_turn(turn, out),
            Self::Foxglove => foxglove::put_turn(turn, out),
        }
    }
}
