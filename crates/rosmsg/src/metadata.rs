//! The metadata of topics and connections with messages of ROS.
//!
//! Readers of formats write it, and writers of formats and reports read it. The keys are
//! those of bags. Only this module knows them.

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
/// let known = TopicMetadata { connections: Some(2), ..TopicMetadata::default() };
/// known.insert_into(&mut metadata);
/// assert_eq!(TopicMetadata::new(&metadata), known);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicMetadata<'m> {
    /// The MD5 sum of the message definition, in hexadecimal digits, or `*`.
    pub md5sum: Option<&'m str>,
    /// The names of the nodes that published, separated by `, `.
    pub callers: Option<&'m str>,
    /// The number of connections.
    pub connections: Option<u64>,
    /// Whether late subscribers get the last message of some connection.
    pub is_latching: Option<bool>,
    /// The reason why the topic has only raw bytes, if its definition is missing. A
    /// definition that cannot be used is reported as damage instead.
    pub raw_reason: Option<&'m str>,
}

impl<'m> TopicMetadata<'m> {
    /// Returns what the `metadata` of a topic states.
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

    /// Returns the MD5 sum of the message definition, or `*` if it is not known.
    pub fn md5sum_or_any(&self) -> &'m str {
        self.md5sum.unwrap_or("*")
    }

    /// Inserts the values that are known into `metadata`.
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

    /// Removes the MD5 sum from `metadata`, for messages with another definition.
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
    /// Whether late subscribers get its last message: the string in the file, which is `1`
    /// or `0` in most files.
    pub latching: Option<&'m str>,
    /// The topic on which it was published, if the record has another name.
    pub original_topic: Option<&'m str>,
}

impl<'m> ConnectionMetadata<'m> {
    /// The keys of this metadata.
    pub const KEYS: [&'static str; 4] =
        [key::MD5SUM, key::CALLER, key::LATCHING, key::ORIGINAL_TOPIC];

    /// Returns what the metadata of a [`Stream`](logtool_core::Stream) states.
    pub fn from_values(metadata: &'m BTreeMap<String, Value>) -> Self {
        Self::from_lookup(|key| match metadata.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// Returns what the metadata of a channel of an MCAP file states.
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

    /// Returns the keys and the values that are known.
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
        let connection = TopicMetadata {
            md5sum: Some("*"),
            callers: Some("/a, /b"),
            connections: Some(2),
            is_latching: Some(true),
            raw_reason: None,
        };
        let mut metadata = BTreeMap::new();
        connection.insert_into(&mut metadata);
        let text: Vec<_> = metadata.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            text,
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
