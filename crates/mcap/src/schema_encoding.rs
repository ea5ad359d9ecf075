//! The encoding of schemas in the metadata of topics.

use std::collections::BTreeMap;

use logtool_core::Topic;

/// The metadata key.
const KEY: &str = "schema_encoding";

/// Returns the schema encoding of `topic`, e.g. `ros2msg`, if it is known.
pub fn schema_encoding(topic: &Topic) -> Option<&str> {
    topic.metadata.get(KEY).map(String::as_str)
}

/// Sets the schema encoding in the `metadata` of a topic.
pub fn set_schema_encoding(metadata: &mut BTreeMap<String, String>, encoding: &str) {
    metadata.insert(KEY.to_owned(), encoding.to_owned());
}

/// Removes the schema encoding of `topic`. This is needed if the definition of the topic is
/// replaced by one in another encoding.
pub fn remove_schema_encoding(topic: &mut Topic) {
    topic.metadata.remove(KEY);
}
