//! The metadata of topics and connections with messages of ROS.
//!
//! Readers of log formats write it; writers of log formats and reports read it. The keys are those
//! of bags, and are defined only in this module.

use std::collections::BTreeMap;

use logtool_core::Value;

/// The keys of metadata.
mod key {
    pub(super) const MD5SUM: &str = "md5sum";
    pub(super) const CALLER: &str = "callerid";
    pub(super) const LATCHING: &str = "latching";
    pub(super) const ORIGINAL_TOPIC: &str = "original_topic";
    pub(super) const CONNECTIONS: &str = "connections";
    pub(super) const RAW_REASON: &str = "raw_because";
}

/// The metadata of a topic with messages of ROS.
///
/// ```
/// use std::collections::BTreeMap;
/// use logtool_rosmsg::TopicMetadata;
///
/// let mut metadata = BTreeMap::new();
/// let written = TopicMetadata { connections: Some(2), ..TopicMetadata::default() };
/// written.insert_into(&mut metadata);
/// assert_eq!(TopicMetadata::new(&metadata), written);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicMetadata<'m> {
    /// The MD5 sum of the message definition, in hexadecimal digits, or `*`.
    pub md5sum: Option<&'m str>,
    /// The names of the nodes that published, separated by `, `.
    pub callers: Option<&'m str>,
    /// The number of connections.
    pub connections: Option<u64>,
    /// Whether late subscribers get the last message of at least one connection.
    pub is_latching: Option<bool>,
    /// The reason why the topic has only raw bytes, if its definition is missing. A
    /// definition that cannot be used is reported as damage instead.
    pub raw_reason: Option<&'m str>,
}

impl<'m> TopicMetadata<'m> {
    /// Reads the `metadata` of a topic.
    pub fn new(metadata: &'m BTreeMap<String, String>) -> Self {
        let get = |key: &str| metadata.get(key).map(String::as_str);
        Self {
            md5sum: get(key::MD5SUM),
            callers: get(key::CALLER),
            connections: get(key::CONNECTIONS).and_then(|count| count.parse().ok()),
            is_latching: get(key::LATCHING).and_then(|latching| latching.parse().ok()),
            raw_reason: get(key::RAW_REASON),
        }
    }

    /// Returns the MD5 sum of the message definition, or `*` if it is unknown.
    pub fn md5sum_or_any(&self) -> &'m str {
        self.md5sum.unwrap_or("*")
    }

    /// Inserts the values that are not `None` into `metadata`.
    pub fn insert_into(&self, metadata: &mut BTreeMap<String, String>) {
        let entries = [
            (key::MD5SUM, self.md5sum.map(str::to_owned)),
            (key::CALLER, self.callers.map(str::to_owned)),
            (key::CONNECTIONS, self.connections.map(|count| count.to_string())),
            (key::LATCHING, self.is_latching.map(|latching| latching.to_string())),
            (key::RAW_REASON, self.raw_reason.map(str::to_owned)),
        ];
        for (key, value) in entries {
            metadata.extend(value.map(|value| (key.to_owned(), value)));
        }
    }

    /// Removes the MD5 sum from `metadata`, for a copy of the messages with another definition.
    pub fn remove_md5sum(metadata: &mut BTreeMap<String, String>) {
        metadata.remove(key::MD5SUM);
    }
}

/// The metadata of a connection, or of a channel of an MCAP file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionMetadata<'m> {
    /// The MD5 sum of the message definition, in hexadecimal digits, or `*`.
    pub md5sum: Option<&'m str>,
    /// The name of the node that published.
    pub caller: Option<&'m str>,
    /// Whether late subscribers get the last message of the connection: the string in the file,
    /// which is usually `1` or `0`.
    pub latching: Option<&'m str>,
    /// The topic on which the messages were published, if the topic of the record differs.
    pub original_topic: Option<&'m str>,
}

impl<'m> ConnectionMetadata<'m> {
    /// The keys of this metadata.
    pub const KEYS: [&'static str; 4] =
        [key::MD5SUM, key::CALLER, key::LATCHING, key::ORIGINAL_TOPIC];

    /// Reads the metadata of a [`Stream`](logtool_core::Stream). Only strings are used.
    pub fn from_values(metadata: &'m BTreeMap<String, Value>) -> Self {
        Self::from_lookup(|key| match metadata.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// Reads the metadata of a channel of an MCAP file.
    pub fn from_strings(metadata: &'m BTreeMap<String, String>) -> Self {
        Self::from_lookup(|key| metadata.get(key).map(String::as_str))
    }

    fn from_lookup(get: impl Fn(&str) -> Option<&'m str>) -> Self {
        Self {
            md5sum: get(key::MD5SUM),
            caller: get(key::CALLER),
            latching: get(key::LATCHING),
            original_topic: get(key::ORIGINAL_TOPIC),
        }
    }

    /// Returns the values that are not `None`, with their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &'m str)> {
        let values = [self.md5sum, self.caller, self.latching, self.original_topic];
        Self::KEYS
            .into_iter()
            .zip(values)
            .filter_map(|(key, value)| Some((key, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_metadata_has_the_keys_of_bags() {
        let topic_metadata = TopicMetadata {
            md5sum: Some("*"),
            callers: Some("/a, /b"),
            connections: Some(2),
            is_latching: Some(true),
            raw_reason: None,
        };
        let mut metadata = BTreeMap::new();
        topic_metadata.insert_into(&mut metadata);
        let entries: Vec<_> =
            metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            entries,
            ["callerid=/a, /b", "connections=2", "latching=true", "md5sum=*"]
        );
    }

    #[test]
    fn values_of_other_types_are_not_connection_metadata() {
        let text = |text: &str| Value::Text(text.to_owned());
        let metadata = [("callerid", text("/a")), ("latching", Value::UInt(1))];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value)).into();
        let read = ConnectionMetadata::from_values(&metadata);
        assert_eq!((read.caller, read.latching), (Some("/a"), None));
        assert_eq!(read.entries().collect::<Vec<_>>(), [("callerid", "/a")]);
    }
}
