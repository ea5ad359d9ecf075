//! Topics of which only the bytes can be read, and why.

use logtool_core::{Manifest, TopicSet};
use logtool_rosbag::RAW_REMARK;

use crate::{paint, terminal::say};

/// Says aloud which of `topics` of the log `name` have only raw bytes, and why.
pub(crate) fn warn(name: &str, manifest: &Manifest, topics: &TopicSet) {
    let paint = paint::for_stderr();
    let wanted = manifest
        .topics()
        .filter(|(id, topic)| topics.contains(*id) && topic.records != Some(0));
    for (_, topic) in wanted {
        let Some(why) = topic.metadata.get(RAW_REMARK) else { continue };
        let (warning, label) = (paint.yellow("warning:"), topic.label());
        say!("{warning} {name}: {label} has only raw bytes: {why}");
    }
}
