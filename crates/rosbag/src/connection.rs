//! Connections: who recorded what, on which topic.

use std::collections::BTreeMap;

use logtool_core::{Value, decode_text};
use serde::{Deserialize, Serialize};

use crate::wire::Fields;

/// A stream of messages as the recorder saw it: one publisher on one topic.
///
/// Several connections may share a topic, and even a topic and a type: a bag has one
/// for every node that published. Texts that are not UTF-8 are read as Latin-1; the
/// bytes as they are in the file are in [`header`](Self::header).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// The number by which messages name it; not always unique in a damaged bag.
    pub id: u32,
    /// The topic that its messages are recorded under.
    pub topic: String,
    /// The type of its messages, as `sensor_msgs/Imu`.
    pub type_name: String,
    /// The MD5 sum of the definition, in hexadecimal digits; `*` where none was known.
    pub md5sum: String,
    /// The definition of the type and of those that it is made of.
    pub definition: String,
    /// The node that published, if it is told.
    pub caller: Option<String>,
    /// Whether its last message is for those too who come later; the text as it is,
    /// which is `1` or `0` in most bags.
    pub latching: Option<String>,
    /// The topic that it was published on, where the record has another: it was
    /// renamed, or has no leading slash.
    pub original_topic: Option<String>,
    /// What else it says of itself, that ROS does not: its fields that are texts, each once.
    pub others: BTreeMap<String, String>,
    /// How many fields there are beside, which no other format can keep.
    pub(crate) unkept: u64,
    raw: Raw,
}

/// What people are told under names of ours, which no other field can have.
pub(crate) const FACTS: [&str; 8] = [
    "id",
    "topic",
    "type",
    "md5sum",
    "callerid",
    "latching",
    "original_topic",
    "fields_unkept",
];

/// A connection as it is in the file, which says it all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Raw {
    id: u32,
    #[serde(with = "logtool_core::hex")]
    topic: Vec<u8>,
    #[serde(with = "logtool_core::hex")]
    header: Vec<u8>,
}

impl Raw {
    /// The connection `id` on `topic`, of which the record's data are `header`.
    pub(crate) fn new(id: u32, topic: &[u8], header: &[u8]) -> Self {
        Self { id, topic: topic.to_vec(), header: header.to_vec() }
    }

    /// The same, saying one thing more of itself.
    #[must_use]
    pub(crate) fn with(mut self, name: &[u8], value: &[u8]) -> Self {
        self.header.extend(((name.len() + 1 + value.len()) as u32).to_le_bytes());
        self.header.extend_from_slice(name);
        self.header.push(b'=');
        self.header.extend_from_slice(value);
        self
    }
}

impl Connection {
    pub(crate) fn new(raw: Raw) -> Self {
        let mut connection = Self {
            id: raw.id,
            topic: decode_text(&raw.topic).into_owned(),
            type_name: String::new(),
            md5sum: String::new(),
            definition: String::new(),
            caller: None,
            latching: None,
            original_topic: None,
            others: BTreeMap::new(),
            unkept: 0,
            raw: Raw { id: raw.id, topic: vec![], header: vec![] },
        };
        for (name, value) in Fields::new(&raw.header) {
            let told = || decode_text(value).into_owned();
            match name {
                b"type" => connection.type_name = told(),
                b"md5sum" => connection.md5sum = told(),
                b"message_definition" => connection.definition = told(),
                b"callerid" => connection.caller = Some(told()),
                b"latching" => connection.latching = Some(told()),
                b"topic" => {
                    connection.original_topic =
                        Some(told()).filter(|topic| *topic != connection.topic);
                }
                _ => connection.add(name, value),
            }
        }
        connection.raw = raw;
        connection
    }

    /// Takes note of a field that ROS does not have.
    fn add(&mut self, name: &[u8], value: &[u8]) {
        let pair = str::from_utf8(name).ok().zip(str::from_utf8(value).ok());
        match pair.filter(|(name, _)| !FACTS.contains(name)) {
            Some((name, value)) if !self.others.contains_key(name) => {
                self.others.insert(name.to_owned(), value.to_owned());
            }
            _ => self.unkept += 1,
        }
    }

    /// Its fields as they are in the file, each `length u32 | name=value`.
    pub fn header(&self) -> &[u8] {
        &self.raw.header
    }

    /// The bytes of the name of its topic.
    pub fn topic_bytes(&self) -> &[u8] {
        &self.raw.topic
    }

    /// Whether its last message is for those too who subscribe later.
    pub fn is_latching(&self) -> bool {
        self.latching.as_deref().is_some_and(is_true)
    }

    /// What it says of that, if it says so by a word, which not every reader reads.
    pub(crate) fn latching_word(&self) -> Option<&str> {
        let latching = self.latching.as_deref()?;
        (!latching.is_empty() && latching.parse::<i64>().is_err()).then_some(latching)
    }

    pub(crate) fn raw(&self) -> &Raw {
        &self.raw
    }

    /// Whether this is said to be another connection of the same records: those of one
    /// topic and type can be decoded alike.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.raw.topic, &self.type_name, &self.md5sum)
            == (&other.raw.topic, &other.type_name, &other.md5sum)
    }

    /// What people want to know of it.
    pub(crate) fn facts(&self) -> BTreeMap<String, Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut facts = vec![
            ("id", Value::UInt(self.id.into())),
            ("topic", text(&self.topic)),
            ("type", text(&self.type_name)),
            ("md5sum", text(&self.md5sum)),
        ];
        let some = [
            ("callerid", &self.caller),
            ("latching", &self.latching),
            ("original_topic", &self.original_topic),
        ];
        for (name, value) in some {
            facts.extend(value.as_deref().map(|value| (name, text(value))));
        }
        let others =
            self.others.iter().map(|(name, value)| (name.as_str(), text(value)));
        facts.extend(others);
        if self.unkept > 0 {
            facts.push(("fields_unkept", Value::UInt(self.unkept)));
        }
        facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
    }
}

/// `1` is what ROS writes; others write words.
fn is_true(text: &str) -> bool {
    let is_word = |word: &str| text.eq_ignore_ascii_case(word);
    text.parse::<i64>().is_ok_and(|number| number != 0)
        || is_word("true")
        || is_word("yes")
}
