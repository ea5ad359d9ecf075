//! The metadata that every output file states about its origin, if its format can hold it.

use std::collections::BTreeMap;

use logtool_core::Topic;

/// The name and version of this program, for the creator fields of file formats.
pub(crate) const CREATED_BY: &str = concat!("logtool ", env!("CARGO_PKG_VERSION"));

/// Returns the metadata of a table: the metadata `log` of the whole log, and that of `topic`
/// under keys that start with `logtool.topic`.
pub(crate) fn table_metadata(
    topic: &Topic,
    log: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut metadata = log.clone();
    let mut add = |key: &str, value: &str| {
        if !value.is_empty() {
            metadata.insert(format!("logtool.{key}"), value.to_owned());
        }
    };
    add("created_by", CREATED_BY);
    add("topic", &topic.name);
    add("topic.instance", &topic.instance.to_string());
    add("topic.encoding", &topic.encoding);
    add("topic.type_name", &topic.type_name);
    add("topic.definition", &topic.definition);
    for (key, value) in &topic.metadata {
        add(&format!("topic.metadata.{key}"), value);
    }
    metadata
}
