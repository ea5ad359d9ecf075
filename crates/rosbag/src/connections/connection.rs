//! Connections: the publishers of the recorded messages.

use std::collections::BTreeMap;

use logtool_core::{Stream, Value, decode_text};
use logtool_rosmsg::ConnectionMetadata;
use serde::{Deserialize, Serialize};

use crate::wire::Fields;

/// A stream of messages from one publisher on one topic, as it was recorded.
///
/// Several connections may share a topic and a type: a bag has a connection for every node that
/// published on the topic. Strings that are not UTF-8 are read as Latin-1; the original bytes
/// are in [`header`](Self::header).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// The id by which messages refer to the connection. It may not be unique in a damaged bag.
    pub id: u32,
    /// The topic under which its messages are recorded.
    pub topic: String,
    /// The type of its messages, e.g. `sensor_msgs/Imu`.
    pub type_name: String,
    /// The MD5 sum of the definition, in hexadecimal digits, or `*` if the recorder did not have
    /// it.
    pub md5sum: String,
    /// The definition of the type and of the types of its fields.
    pub definition: String,
    /// The name of the node that published, if it is recorded.
    pub caller: Option<String>,
    /// Whether late subscribers get the last message, as the string in the bag. It is `1` or `0`
    /// in most bags.
    pub latching: Option<String>,
    /// The topic on which the messages were published, if they are recorded under another name:
    /// the topic was renamed in the bag, or recorded without its leading slash.
    pub original_topic: Option<String>,
    /// The fields that ROS does not define and whose names and values are UTF-8. If a name occurs
    /// several times, it has the first value.
    pub other_fields: BTreeMap<String, String>,
    /// The number of the remaining fields, which cannot be stored in other formats.
    pub(crate) format_specific_fields: u64,
    raw: RawConnection,
}

/// The metadata keys with a meaning of their own, besides [`ConnectionMetadata::KEYS`].
const RESERVED_KEYS: [&str; 4] =
    ["id", "topic", "type", Stream::FORMAT_SPECIFIC_FIELDS_KEY];

/// Returns whether the metadata key `key` has a meaning of its own, so that it cannot stand for a
/// field that ROS does not define.
pub(crate) fn is_reserved_key(key: &str) -> bool {
    RESERVED_KEYS.contains(&key) || ConnectionMetadata::KEYS.contains(&key)
}

/// A connection exactly as it is in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RawConnection {
    id: u32,
    #[serde(with = "logtool_core::hex")]
    topic: Vec<u8>,
    #[serde(with = "logtool_core::hex")]
    header: Vec<u8>,
}

impl RawConnection {
    /// Creates the connection `id` on `topic` from the data of its record.
    pub(crate) fn new(id: u32, topic: &[u8], header: &[u8]) -> Self {
        Self { id, topic: topic.to_vec(), header: header.to_vec() }
    }

    /// Adds a field to the header.
    #[must_use]
    pub(crate) fn with_field(mut self, name: &[u8], value: &[u8]) -> Self {
        self.header.extend(((name.len() + 1 + value.len()) as u32).to_le_bytes());
        self.header.extend_from_slice(name);
        self.header.push(b'=');
        self.header.extend_from_slice(value);
        self
    }
}

impl Connection {
    pub(crate) fn new(raw: RawConnection) -> Self {
        let mut connection = Self {
            id: raw.id,
            topic: decode_text(&raw.topic).into_owned(),
            type_name: String::new(),
            md5sum: String::new(),
            definition: String::new(),
            caller: None,
            latching: None,
            original_topic: None,
            other_fields: BTreeMap::new(),
            format_specific_fields: 0,
            raw: RawConnection { id: raw.id, topic: vec![], header: vec![] },
        };
        for (name, value) in Fields::new(&raw.header) {
            let string = || decode_text(value).into_owned();
            match name {
                b"type" => connection.type_name = string(),
                b"md5sum" => connection.md5sum = string(),
                b"message_definition" => connection.definition = string(),
                b"callerid" => connection.caller = Some(string()),
                b"latching" => connection.latching = Some(string()),
                b"topic" => {
                    connection.original_topic =
                        Some(string()).filter(|topic| *topic != connection.topic);
                }
                _ => connection.add_other_field(name, value),
            }
        }
        connection.raw = raw;
        connection
    }

    /// Adds a field that ROS does not define.
    fn add_other_field(&mut self, name: &[u8], value: &[u8]) {
        let pair = str::from_utf8(name).ok().zip(str::from_utf8(value).ok());
        match pair.filter(|(name, _)| !is_reserved_key(name)) {
            Some((name, value)) if !self.other_fields.contains_key(name) => {
                self.other_fields.insert(name.to_owned(), value.to_owned());
            }
            _ => self.format_specific_fields += 1,
        }
    }

    /// Returns the fields as they are in the file, each as `length u32 | name=value`.
    pub fn header(&self) -> &[u8] {
        &self.raw.header
    }

    /// Returns the bytes of the topic name.
    pub fn topic_bytes(&self) -> &[u8] {
        &self.raw.topic
    }

    /// Returns whether late subscribers get the last message.
    pub fn is_latching(&self) -> bool {
        self.latching.as_deref().is_some_and(is_true)
    }

    /// Returns the value of `latching` if it is a word, which some readers do not accept.
    pub(crate) fn latching_word(&self) -> Option<&str> {
        let latching = self.latching.as_deref()?;
        (!latching.is_empty() && latching.parse::<i64>().is_err()).then_some(latching)
    }

    pub(crate) fn raw(&self) -> &RawConnection {
        &self.raw
    }

    /// Returns whether `other` has the same topic, type and MD5 sum, so that the messages of
    /// both are decoded in the same way.
    pub(crate) fn has_same_topic_and_type(&self, other: &Self) -> bool {
        (&self.raw.topic, &self.type_name, &self.md5sum)
            == (&other.raw.topic, &other.type_name, &other.md5sum)
    }

    /// Returns the metadata of the connection.
    pub(crate) fn metadata_entries(&self) -> BTreeMap<String, Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut entries = vec![
            ("id", Value::UInt(self.id.into())),
            ("topic", text(&self.topic)),
            ("type", text(&self.type_name)),
        ];
        let metadata = ConnectionMetadata {
            md5sum: Some(&self.md5sum),
            caller: self.caller.as_deref(),
            latching: self.latching.as_deref(),
            original_topic: self.original_topic.as_deref(),
        };
        entries.extend(metadata.entries().map(|(name, value)| (name, text(value))));
        let other_entries =
            self.other_fields.iter().map(|(name, value)| (name.as_str(), text(value)));
        entries.extend(other_entries);
        if self.format_specific_fields > 0 {
            entries.push((
                Stream::FORMAT_SPECIFIC_FIELDS_KEY,
                Value::UInt(self.format_specific_fields),
            ));
        }
        entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Returns whether a value of `latching` means true. (ROS writes `1`, and some writers a word.)
fn is_true(text: &str) -> bool {
    let is_word = |word: &str| text.eq_ignore_ascii_case(word);
    text.parse::<i64>().is_ok_and(|number| number != 0)
        || is_word("true")
        || is_word("yes")
}
