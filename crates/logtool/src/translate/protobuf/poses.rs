//! Translates poses of the vehicle to transforms on `/tf`, `foxglove.FrameTransform`, and to
//! `foxglove.PoseInFrame`.

use std::collections::BTreeSet;

use logtool_core::Translation;
use logtool_protobuf::{FrameTransform, PoseInFrame};

use crate::translate::{
    protobuf::common_topic,
    px4::poses::{POSES, Pose, PoseTranslator, TRANSFORMS},
};

/// Returns the translations to transforms and to poses. Their topics have other names than those
/// of `others`.
pub(super) fn poses(
    poses: &PoseTranslator,
    others: &[Translation],
) -> [Translation; 2] {
    let taken: BTreeSet<&str> =
        others.iter().map(|one| one.topic.name.as_str()).collect();
    let (kind, files) = (FrameTransform::TYPE, FrameTransform::files());
    let mut topic_info = common_topic(poses.topic(), "", kind, &files);
    topic_info.name = free_name(TRANSFORMS.to_owned(), &taken);
    let transforms = poses.translation(topic_info, |pose, out| {
        let message = FrameTransform {
            nanos: pose.nanos,
            parent: pose.parent,
            child: pose.child,
            translation: pose.position,
            rotation: pose.attitude,
        };
        message.put(out);
    });
    let (kind, files) = (PoseInFrame::TYPE, PoseInFrame::files());
    let mut topic_info = common_topic(poses.topic(), POSES, kind, &files);
    topic_info.name = free_name(topic_info.name, &taken);
    let poses = poses.translation(topic_info, |pose: &Pose<'_>, out| {
        let message = PoseInFrame {
            nanos: pose.nanos,
            frame_id: pose.parent,
            position: pose.position,
            orientation: pose.attitude,
        };
        message.put(out);
    });
    [transforms, poses]
}

/// Returns `name`, or a similar name that is not `taken`.
fn free_name(name: String, taken: &BTreeSet<&str>) -> String {
    let (mut free, mut number) = (name.clone(), 1);
    while taken.contains(free.as_str()) {
        number += 1;
        free = format!("{name}_x{number}");
    }
    free
}
