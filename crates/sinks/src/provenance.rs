//! What every file that can say it says of itself.

use std::collections::BTreeMap;

use logtool_core::Topic;

/// This program and its version, as files name their maker.
pub(crate) const CREATED_BY: &str = concat!("logtool ", env!("CARGO_PKG_VERSION"));

/// What is known of a table: `log`, which is of the whole log, and what there is to say
/// of `topic`, under keys that begin with `logtool.topic`.
pub(crate) fn table_metadata(
    topic: &Topic,
    log: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut metadata = log.clone();
    let mut tell = |key: &str, value: &str| {
        if !value.is_empty() {
            metadata.insert(format!("logtool.{key}"), value.to_owned());
        }
    };
    tell("created_by", CREATED_BY);
    tell("topic", &topic.name);
    tell("topic.instance", &topic.instance.to_string());
    tell("topic.encoding", &topic.encoding);
    tell("topic.type_name", &topic.type_name);
    tell("topic.definition", &topic.definition);
    for (key, value) in &topic.metadata {
        tell(&format!("topic.metadata.{key}"), value);
    }
    metadata
}
