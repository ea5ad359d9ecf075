//! What a file of points says of itself.

use std::collections::BTreeMap;

use logtool_core::{Provenance, Topic};

use crate::provenance::table_metadata;

/// Longer values are left out: they are lists of what the log holds elsewhere.
const LONGEST: usize = 1_000;

/// What is known of the points of `topic`, and of the `log`: keys, and values of one
/// line.
pub(super) fn about(
    topic: &Topic,
    log: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut about = table_metadata(topic, log);
    about.remove("logtool.topic.definition");
    let provenance = format!("logtool.{}", Provenance::NAME);
    about.retain(|key, value| value.len() <= LONGEST || *key == provenance);
    for value in about.values_mut() {
        *value = value.replace(|c: char| c.is_control(), " ");
    }
    about
}
