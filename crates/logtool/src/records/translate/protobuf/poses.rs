//! Translates poses of the vehicle to transforms on `/tf`, `foxglove.FrameTransform`, and to
//! `foxglove.PoseInFrame`.

use std::collections::BTreeSet;

use logtool_core::Translation;
use logtool_protobuf::{FrameTransform, PoseInFrame};

use crate::records::translate::{
    protobuf::common_topic,
    px4::poses::{POSES, PoseTranslator, TRANSFORMS},
};

/// Adds the translations of `poses` to transforms and to poses. Topics of the log with their
/// names get other ones.
pub(super) fn add_poses(poses: &PoseTranslator, translations: &mut Vec<Translation>) {
    let pose_translations = [transforms(poses), poses_in_frame(poses)];
    let names = translations
        .iter()
        .chain(&pose_translations)
        .map(|translation| translation.topic.name.clone());
    let mut taken_names: BTreeSet<String> = names.collect();
    for translation in &mut *translations {
        if pose_translations.iter().any(|pose_translation| {
            pose_translation.topic.name == translation.topic.name
        }) {
            translation.topic.name = free_name(&translation.topic.name, &taken_names);
            taken_names.insert(translation.topic.name.clone());
        }
    }
    translations.extend(pose_translations);
}

fn transforms(poses: &PoseTranslator) -> Translation {
    let (kind, files) = (FrameTransform::TYPE, FrameTransform::files());
    let mut topic_info = common_topic(poses.topic(), "", kind, &files);
    TRANSFORMS.clone_into(&mut topic_info.name);
    poses.translation(topic_info, |pose, out| {
        let message = FrameTransform {
            nanos: pose.nanos,
            parent: pose.parent,
            child: pose.child,
            translation: pose.position,
            rotation: pose.attitude,
        };
        message.encode(out);
    })
}

fn poses_in_frame(poses: &PoseTranslator) -> Translation {
    let (kind, files) = (PoseInFrame::TYPE, PoseInFrame::files());
    let topic_info = common_topic(poses.topic(), POSES, kind, &files);
    poses.translation(topic_info, |pose, out| {
        let message = PoseInFrame {
            nanos: pose.nanos,
            frame_id: pose.parent,
            position: pose.position,
            orientation: pose.attitude,
        };
        message.encode(out);
    })
}

/// Returns a name similar to `name` that is not in `taken_names`.
fn free_name(name: &str, taken_names: &BTreeSet<String>) -> String {
    let mut number = 2;
    loop {
        let free = format!("{name}_x{number}");
        if !taken_names.contains(&free) {
            return free;
        }
        number += 1;
    }
}
