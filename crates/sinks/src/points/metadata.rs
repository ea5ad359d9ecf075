//! The metadata in files of points.

use std::collections::BTreeMap;

use logtool_core::{Provenance, Topic};

use crate::provenance::table_metadata;

/// Longer values are dropped, e.g. lists of parameters or definitions of types: headers of files of
/// points should be short.
const MAX_VALUE_BYTES: usize = 1_000;

/// Returns the metadata of the points of `topic` and of the `log`, with values of one line.
pub(super) fn point_metadata(
    topic: &Topic,
    log: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut metadata = table_metadata(topic, log);
    metadata.remove("logtool.topic.definition");
    let provenance = format!("logtool.{}", Provenance::NAME);
    metadata.retain(|key, value| value.len() <= MAX_VALUE_BYTES || *key == provenance);
    for value in metadata.values_mut() {
        *value = value.replace(|c: char| c.is_control(), " ");
    }
    metadata
}
