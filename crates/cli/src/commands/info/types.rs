//! The types of a log of ROS messages, each with its MD5 sum, as `rosbag info` tells them.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use logtool::units::plain;
use logtool_core::{Manifest, Topic, TopicOrigin};

use crate::color::Paint;

/// Writes a line for each type, and each MD5 sum of it, that topics of `manifest` have.
pub(super) fn write(
    out: &mut dyn Write,
    manifest: &Manifest,
    paint: Paint,
) -> io::Result<()> {
    let logged = |topic: &&Topic| topic.origin == TopicOrigin::Logged;
    let topics = manifest.topics.iter().filter(logged);
    let types: BTreeSet<(String, String)> = topics
        .filter_map(|topic| {
            let sum = topic.metadata.get("md5sum")?;
            Some((plain(&topic.type_name), plain(sum)))
        })
        .collect();
    let Some(width) = types.iter().map(|(name, _)| name.chars().count()).max() else {
        return Ok(());
    };
    let width = width.max("TYPE".len());
    writeln!(out, "\n{}", paint.bold(&format!("  {:width$}  MD5SUM", "TYPE")))?;
    for (name, sum) in types {
        writeln!(out, "  {name:width$}  {sum}")?;
    }
    Ok(())
}
