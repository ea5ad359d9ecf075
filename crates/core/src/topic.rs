//! What the records are about.

use std::{borrow::Cow, collections::BTreeMap};

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use crate::{time::TimeRange, value::Value};

/// The index of a [`Topic`] in its log's [`Manifest`](crate::Manifest).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
)]
pub struct TopicId(pub u32);

impl TopicId {
    /// The same, as an index into a slice that has one item per topic.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The key of a topic's metadata that says which value the column `validity` has in rows
/// that are valid. Others stay in the topic, and are in nothing that is made of it.
pub const VALID_ROWS: &str = "valid";

/// A stream of records of one shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Topic {
    /// The name that the file gives it, as `/imu/data` or `sensor_gps`.
    pub name: String,
    /// Which of the topics of this name it is: PX4's multi id.
    pub instance: u32,
    /// Whether its records are the file's own, or made from those of other topics.
    pub origin: TopicOrigin,
    /// How a payload is written, as `ulog` or `ros1`. Only a writer of the same
    /// encoding can take the payloads as they are.
    pub encoding: String,
    /// The name of its records' type, where types have names.
    pub type_name: String,
    /// The definition of that type, as the file has it; where that is no text, what
    /// people may read of the [descriptor](Self::descriptor).
    pub definition: String,
    /// The columns of a decoder in the nested view, of which the decoder's metadata may
    /// say more.
    pub schema: SchemaRef,
    /// How many records there are, if that is known.
    pub records: Option<u64>,
    /// How many bytes their payloads are, if that is known.
    pub bytes: Option<u64>,
    /// When they happened, if that is known.
    pub time: Option<TimeRange>,
    /// How many of them have a time that cannot be right, which `time` leaves out.
    #[serde(default)]
    pub odd_times: u64,
    /// The [streams](crate::Record::stream) whose last record is also for those who
    /// come later: ROS calls them latched.
    #[serde(default)]
    pub latched: Vec<u32>,
    /// How many bytes at the start of each payload are the format's own, and no part of
    /// what the encoding says: a log of another format does not take them.
    #[serde(default)]
    pub envelope: u32,
    /// The definition, as the file has it, if that is no text, as in protobuf.
    #[serde(default, with = "crate::hex", skip_serializing_if = "Vec::is_empty")]
    pub descriptor: Vec<u8>,
    /// What else the file says of it.
    pub metadata: BTreeMap<String, String>,
}

impl Topic {
    /// A topic of the file's own, of which no more is known than its columns.
    pub fn new(name: impl Into<String>, schema: SchemaRef) -> Self {
        Self {
            name: name.into(),
            instance: 0,
            origin: TopicOrigin::Logged,
            encoding: String::new(),
            type_name: String::new(),
            definition: String::new(),
            schema,
            records: None,
            bytes: None,
            time: None,
            odd_times: 0,
            latched: Vec::new(),
            envelope: 0,
            descriptor: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }
}

/// One of several sources of the records of a topic: a bag's connection, a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// The topic.
    pub topic: TopicId,
    /// What the file says of it.
    pub metadata: BTreeMap<String, Value>,
}

/// Where the records of a topic come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicOrigin {
    /// The file has them under this name.
    Logged,
    /// The file has them, but not as a topic: strings, dropouts, parameter changes.
    BuiltIn,
    /// They are made of the records of other topics. Reading all topics of a log but
    /// these gives every record once.
    Derived,
}

impl Topic {
    /// How often there was a record, of those with a time that can be right.
    pub fn rate_hz(&self) -> Option<f64> {
        self.time?.rate_hz(self.records?.checked_sub(self.odd_times)?)
    }

    /// The definition, as the file has it.
    pub fn definition_bytes(&self) -> &[u8] {
        match self.descriptor.is_empty() {
            true => self.definition.as_bytes(),
            false => &self.descriptor,
        }
    }

    /// The name by which people know it: `sensor_gps`, and `sensor_gps.1` for the next
    /// instance. Unique in a log.
    pub fn label(&self) -> Cow<'_, str> {
        match self.instance {
            0 => Cow::Borrowed(&self.name),
            instance => Cow::Owned(format!("{}.{instance}", self.name)),
        }
    }
}

/// A set of topics of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicSet {
    /// Every topic.
    #[default]
    All,
    /// Those with their bit set, the lowest bit of the first word being topic 0.
    Only(Vec<u64>),
}

impl TopicSet {
    /// The set of no topic.
    pub const EMPTY: Self = Self::Only(Vec::new());

    /// Whether `id` is in the set.
    #[inline]
    pub fn contains(&self, id: TopicId) -> bool {
        match self {
            Self::All => true,
            Self::Only(words) => words
                .get(id.index() / 64)
                .is_some_and(|word| word >> (id.index() % 64) & 1 == 1),
        }
    }

    /// Puts `id` into the set.
    pub fn insert(&mut self, id: TopicId) {
        let Self::Only(words) = self else { return };
        let word = id.index() / 64;
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        words[word] |= 1 << (id.index() % 64);
    }

    /// Whether some topic may be in both sets.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => a.iter().zip(b).any(|(a, b)| a & b != 0),
            (Self::All, Self::Only(some)) | (Self::Only(some), Self::All) => {
                some.iter().any(|word| *word != 0)
            }
            (Self::All, Self::All) => true,
        }
    }

    /// Every topic that is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (Self::Only(a), Self::Only(b)) = (self, other) else { return Self::All };
        let word = |words: &[u64], i| words.get(i).copied().unwrap_or(0);
        Self::Only((0..a.len().max(b.len())).map(|i| word(a, i) | word(b, i)).collect())
    }
}

impl FromIterator<TopicId> for TopicSet {
    fn from_iter<I: IntoIterator<Item = TopicId>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}
