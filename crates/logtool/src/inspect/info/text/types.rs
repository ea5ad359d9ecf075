//! The types of a log of ROS messages with their MD5 sums, like `rosbag info` lists them.

use std::collections::BTreeSet;

use logtool_core::{Manifest, TopicOrigin};
use logtool_rosmsg::TopicMetadata;

use crate::{inspect::info::text::TextWriter, text::units::escape_unprintable};

/// Adds a line for each type, and for each MD5 sum of it.
pub(super) fn write(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let topics = manifest.topics.iter();
    let logged = topics.filter(|topic| topic.origin == TopicOrigin::Logged);
    let types: BTreeSet<(String, String)> = logged
        .filter_map(|topic| {
            let md5_sum = TopicMetadata::new(&topic.metadata).md5sum?;
            Some((escape_unprintable(&topic.type_name), escape_unprintable(md5_sum)))
        })
        .collect();
    let Some(width) = types.iter().map(|(name, _)| name.chars().count()).max() else {
        return;
    };
    let width = width.max("TYPE".len());
    text.add_heading(&format!("  {:width$}  MD5SUM", "TYPE"));
    for (name, md5_sum) in types {
        text.add_line(&format!("  {name:width$}  {md5_sum}"));
    }
}
