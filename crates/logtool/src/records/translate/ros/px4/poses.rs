//! Translates poses of the vehicle to transforms on `/tf`, a `tf2_msgs/TFMessage`, and to
//! `geometry_msgs/PoseStamped`.

use logtool_core::Translation;
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    records::translate::{
        px4::poses::{POSES, PoseTranslator, TRANSFORMS},
        ros::common_topic,
    },
};

/// Returns the translations to transforms and to poses.
pub(super) fn poses(poses: &PoseTranslator) -> Result<[Translation; 2]> {
    let mut topic_info = common_topic(poses.topic(), "", "tf2_msgs/TFMessage")?;
    TRANSFORMS.clone_into(&mut topic_info.name);
    let transforms = poses.translation(topic_info, |pose, out| {
        let mut message = MessageWriter::new(out);
        // The number of transforms comes first.
        message.u32(1).header(0, pose.nanos, pose.parent).text(pose.child);
        message.f64s(&pose.position).f64s(&pose.attitude);
    });
    let topic_info = common_topic(poses.topic(), POSES, "geometry_msgs/PoseStamped")?;
    let poses = poses.translation(topic_info, |pose, out| {
        let mut message = MessageWriter::new(out);
        message.header(0, pose.nanos, pose.parent);
        message.f64s(&pose.position).f64s(&pose.attitude);
    });
    Ok([transforms, poses])
}
