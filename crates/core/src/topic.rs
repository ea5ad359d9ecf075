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
    /// How many of them are from before the start of logging, which `time` leaves out.
    #[serde(default)]
    pub before_start: u64,
    /// The [streams](crate::Record::stream) whose last record is also for those who
    /// come later, in ascending order: ROS calls them latched.
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
            before_start: 0,
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
    /// Returns the mean rate of the records since the start of logging, without impossible
    /// timestamps.
    pub fn rate_hz(&self) -> Option<f64> {
        let left_out = self.odd_times.saturating_add(self.before_start);
        self.time?.rate_hz(self.records?.checked_sub(left_out)?)
    }

    /// The definition, as the file has it.
    pub fn definition_bytes(&self) -> &[u8] {
        match self.descriptor.is_empty() {
            true => self.definition.as_bytes(),
            false => &self.descriptor,
        }
    }

    /// Returns whether the last record of `stream` is also for those who come later.
    pub fn is_latched(&self, stream: u32) -> bool {
        self.latched.binary_search(&stream).is_ok()
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
    /// Pairs of a word number and a word of 64 bits, one bit per topic: the lowest bit of
    /// word 0 is topic 0. The pairs are in ascending order, and no word is 0.
    Only(Vec<(u32, u64)>),
}

impl TopicSet {
    /// The set of no topic.
    pub const EMPTY: Self = Self::Only(Vec::new());

    /// Returns the set of the topics with their bit set in `words`.
    pub fn from_words(words: &[u64]) -> Self {
        let words = (0..).zip(words.iter().copied());
        Self::Only(words.filter(|(_, bits)| *bits != 0).collect())
    }

    /// Whether `id` is in the set.
    #[inline]
    pub fn contains(&self, id: TopicId) -> bool {
        let (number, bit) = place(id);
        match self {
            Self::All => true,
            // In a dense set, the index of a word equals its number.
            Self::Only(words) => match words.get(number as usize) {
                Some((found, bits)) if *found == number => bits & bit != 0,
                _ => match words.binary_search_by_key(&number, |(number, _)| *number) {
                    Ok(index) => {
                        words.get(index).is_some_and(|(_, bits)| bits & bit != 0)
                    }
                    Err(_) => false,
                },
            },
        }
    }

    /// Returns the topics in the set, for a log with `topics` topics.
    pub fn ids(&self, topics: usize) -> impl Iterator<Item = TopicId> {
        let (all, some) = match self {
            Self::All => (topics as u32, [].as_slice()),
            Self::Only(words) => (0, words.as_slice()),
        };
        let some = some.iter().flat_map(|(number, bits)| {
            let set = (0..64).filter(move |bit| bits >> bit & 1 == 1);
            set.map(move |bit| number * 64 + bit)
        });
        let some = some.filter(move |id| (*id as usize) < topics);
        (0..all).chain(some).map(TopicId)
    }

    /// Returns whether the set contains every topic of a log with `topics` topics.
    pub fn has_all(&self, topics: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(words) => {
                let counts = words.iter().map(|(_, bits)| bits.count_ones() as usize);
                counts.sum::<usize>() >= topics
            }
        }
    }

    /// Puts `id` into the set.
    pub fn insert(&mut self, id: TopicId) {
        let (number, bit) = place(id);
        self.add(number, bit);
    }

    /// Puts all topics of `other` into the set.
    pub fn extend(&mut self, other: &Self) {
        match other {
            Self::All => *self = Self::All,
            Self::Only(words) => {
                words.iter().for_each(|(number, bits)| self.add(*number, *bits));
            }
        }
    }

    fn add(&mut self, number: u32, bits: u64) {
        let Self::Only(words) = self else { return };
        match words.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(index) => words[index].1 |= bits,
            Err(index) => words.insert(index, (number, bits)),
        }
    }

    /// Whether some topic may be in both sets.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (few, many) = match (self, other) {
            (Self::All, Self::All) => return true,
            (Self::All, Self::Only(some)) | (Self::Only(some), Self::All) => {
                return !some.is_empty();
            }
            (Self::Only(a), Self::Only(b)) if a.len() <= b.len() => (a, b),
            (Self::Only(a), Self::Only(b)) => (b, a),
        };
        few.iter().any(|(number, bits)| {
            let found = many.binary_search_by_key(number, |(number, _)| *number);
            found.is_ok_and(|index| many[index].1 & bits != 0)
        })
    }
}

/// The number of the word that has the bit of `id`, and the bit.
#[inline]
const fn place(id: TopicId) -> (u32, u64) {
    (id.0 / 64, 1 << (id.0 % 64))
}

impl FromIterator<TopicId> for TopicSet {
    fn from_iter<I: IntoIterator<Item = TopicId>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}
