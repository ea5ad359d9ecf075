//! Topics, their streams, and sets of topics.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::model::{time::TimeRange, value::Value};

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
    /// The id in the damage of a topic that an [excerpt](crate::Excerpt) omits.
    pub const OMITTED: Self = Self(u32::MAX);

    /// Returns the id as an index into a slice with one item per topic.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The metadata key of [`Topic::valid_row_value`].
const VALID_ROWS_KEY: &str = "valid";

/// The metadata key of [`Topic::position_unit`].
const POSITION_UNIT_KEY: &str = "position";

/// A named sequence of records with the same columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Topic {
    /// The name in the file, e.g. `/imu/data` or `sensor_gps`.
    pub name: String,
    /// The index among the topics with this name: PX4's multi id.
    pub instance: u32,
    /// Whether the file contains the records, or they are derived from other topics.
    pub origin: TopicOrigin,
    /// What the rows of its table are.
    #[serde(default, skip_serializing_if = "TopicContent::is_records")]
    pub content: TopicContent,
    /// The encoding of the payloads, e.g. `ulog` or `ros1`. Only a writer of the same
    /// encoding can write the payloads unchanged.
    pub encoding: String,
    /// The name of the record type, or an empty string if types have no names.
    pub type_name: String,
    /// The definition of the record type as it is in the file. If that is binary, a
    /// readable form of the [descriptor](Self::descriptor).
    pub definition: String,
    /// The columns of a decoder in the nested view. The schema of the decoder can have
    /// more metadata.
    pub schema: SchemaRef,
    /// The number of records, if it is known.
    pub records: Option<u64>,
    /// The total size of the payloads in bytes, if it is known.
    pub bytes: Option<u64>,
    /// The times of the records, if they are known.
    pub time: Option<TimeRange>,
    /// The number of records with an implausible time. `time` excludes them.
    #[serde(default)]
    pub implausible_times: u64,
    /// The number of records from before the start of logging. `time` excludes them.
    #[serde(default)]
    pub before_start: u64,
    /// The latched [streams](crate::Record::stream), in ascending order: a subscriber
    /// that connects later also gets their last record.
    #[serde(default)]
    pub latched: Vec<u32>,
    /// The number of bytes at the start of each payload that belong to the file format
    /// and not to the encoding. Writers of other formats drop them.
    #[serde(default)]
    pub header_len: u32,
    /// The definition as it is in the file, if it is binary, e.g. in protobuf.
    #[serde(
        default,
        with = "crate::model::hex",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub descriptor: Vec<u8>,
    /// Other metadata of the topic in the file.
    pub metadata: BTreeMap<String, String>,
}

impl Topic {
    /// Creates a logged topic with a name and columns. Everything else is unknown.
    pub fn new(name: impl Into<String>, schema: SchemaRef) -> Self {
        Self {
            name: name.into(),
            instance: 0,
            origin: TopicOrigin::Logged,
            content: TopicContent::Records,
            encoding: String::new(),
            type_name: String::new(),
            definition: String::new(),
            schema,
            records: None,
            bytes: None,
            time: None,
            implausible_times: 0,
            before_start: 0,
            latched: Vec::new(),
            header_len: 0,
            descriptor: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }
}

/// One of several sources of the records of a topic: a connection of a bag, or a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// The topic.
    pub topic: TopicId,
    /// The metadata of the stream in the file.
    pub metadata: BTreeMap<String, Value>,
    /// Where the keys of the metadata come from.
    #[serde(default)]
    pub metadata_keys: MetadataKeys,
}

impl Stream {
    /// The metadata key of the number of properties that only the format of the log can
    /// store: fields of the header of a connection that are not text, occur twice, or have
    /// the name of another field.
    pub const FORMAT_SPECIFIC_FIELDS_KEY: &str = "format_specific_fields";

    /// Returns the number of properties that only the format of the log can store.
    pub fn format_specific_fields(&self) -> u64 {
        match self.metadata.get(Self::FORMAT_SPECIFIC_FIELDS_KEY) {
            Some(Value::UInt(count)) => *count,
            _ => 0,
        }
    }
}

/// Where the keys of metadata come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataKeys {
    /// The format defines them.
    #[default]
    Format,
    /// The program that wrote the file chose them. Writers of other formats keep all
    /// entries, or report them as dropped.
    File,
}

/// The unit of the columns with latitudes and longitudes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionUnit {
    /// Degrees.
    Degrees,
    /// Degrees and minutes in one number, `ddmm.mmmm`, like in NMEA sentences.
    DegreesAndMinutes,
}

impl PositionUnit {
    /// Returns the description in the metadata of a topic.
    pub fn description(self) -> &'static str {
        match self {
            Self::Degrees => "degrees",
            Self::DegreesAndMinutes => "degrees and minutes, ddmm.mmmm",
        }
    }
}

/// The origin of the records of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicOrigin {
    /// The file contains the records under this name.
    Logged,
    /// The file contains the records, but not as a topic: strings, dropouts, parameter
    /// changes.
    BuiltIn,
    /// The records are derived from those of other topics. Reading all topics except the
    /// derived ones gives every record once.
    Derived,
}

/// What the rows of the table of a topic are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TopicContent {
    /// Records, or values that are derived from them.
    #[default]
    Records,
    /// The points of messages, for example of `sensor_msgs/PointCloud2`. Their columns may be
    /// known only after a message was decoded.
    CloudPoints,
    /// The packets of a lidar that messages contain, for example `VelodyneScan`.
    LidarPackets,
    /// The points that are computed from the packets of a lidar.
    LidarPoints,
}

impl TopicContent {
    /// Returns whether the rows are points.
    pub fn is_points(self) -> bool {
        matches!(self, Self::CloudPoints | Self::LidarPoints)
    }

    #[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
    fn is_records(&self) -> bool {
        *self == Self::Records
    }
}

impl Topic {
    /// Returns a topic of the same origin and content, without a name, columns or
    /// definition.
    pub(crate) fn stub(&self) -> Self {
        Self {
            origin: self.origin,
            content: self.content,
            ..Self::new(String::new(), Arc::new(Schema::empty()))
        }
    }

    /// Returns the mean rate of the records since the start of logging in hertz, without
    /// implausible timestamps.
    pub fn rate_hz(&self) -> Option<f64> {
        let excluded = self.implausible_times.saturating_add(self.before_start);
        self.time?.rate_hz(self.records?.checked_sub(excluded)?)
    }

    /// Returns the definition as it is in the file.
    pub fn definition_bytes(&self) -> &[u8] {
        if self.descriptor.is_empty() {
            self.definition.as_bytes()
        } else {
            &self.descriptor
        }
    }

    /// Returns the value that the column `validity` has in valid rows, or `None` if all
    /// rows are valid. Rows with another value are in the topic, but nothing is derived
    /// from them.
    pub fn valid_row_value(&self) -> Option<u8> {
        self.metadata.get(VALID_ROWS_KEY)?.parse().ok()
    }

    /// Sets the value that the column `validity` has in valid rows.
    pub fn set_valid_row_value(&mut self, value: u8) {
        self.metadata.insert(VALID_ROWS_KEY.to_owned(), value.to_string());
    }

    /// Returns the unit of latitudes and longitudes, if the reader of the format detected
    /// it from the values.
    pub fn position_unit(&self) -> Option<PositionUnit> {
        let text = self.metadata.get(POSITION_UNIT_KEY)?;
        [PositionUnit::Degrees, PositionUnit::DegreesAndMinutes]
            .into_iter()
            .find(|unit| unit.description() == text)
    }

    /// Sets the unit of latitudes and longitudes.
    pub fn set_position_unit(&mut self, unit: PositionUnit) {
        let text = unit.description().to_owned();
        self.metadata.insert(POSITION_UNIT_KEY.to_owned(), text);
    }

    /// Returns whether a subscriber that connects later also gets the last record of
    /// `stream`.
    pub fn is_latched(&self, stream: u32) -> bool {
        self.latched.binary_search(&stream).is_ok()
    }

    /// Returns the display name: `sensor_gps`, or `sensor_gps.1` for the second instance.
    /// It is unique in a log.
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
    /// Pairs of a word index and a word of 64 bits, with one bit per topic: the lowest
    /// bit of word 0 is topic 0. The pairs are in ascending order, and no word is 0.
    Only(Vec<(u32, u64)>),
}

impl TopicSet {
    /// The empty set.
    pub const EMPTY: Self = Self::Only(Vec::new());

    /// Returns the set of the topics whose bit is set in `words`.
    pub fn from_words(words: &[u64]) -> Self {
        let indexed_words = (0..).zip(words.iter().copied());
        Self::Only(indexed_words.filter(|(_, word)| *word != 0).collect())
    }

    /// Returns whether `id` is in the set.
    #[inline]
    pub fn contains(&self, id: TopicId) -> bool {
        let (word_index, bit) = word_and_bit(id);
        match self {
            Self::All => true,
            // In a dense set, each word is at the position of its index.
            Self::Only(words) => match words.get(word_index as usize) {
                Some((index, word)) if *index == word_index => word & bit != 0,
                _ => match words.binary_search_by_key(&word_index, |(index, _)| *index)
                {
                    Ok(position) => {
                        words.get(position).is_some_and(|(_, word)| word & bit != 0)
                    }
                    Err(_) => false,
                },
            },
        }
    }

    /// Returns the topics in the set, for a log with `topic_count` topics.
    pub fn ids(&self, topic_count: usize) -> impl Iterator<Item = TopicId> {
        // Both variants use the same iterator type: one of its two halves is empty.
        let (all_count, words) = match self {
            Self::All => (topic_count as u32, [].as_slice()),
            Self::Only(words) => (0, words.as_slice()),
        };
        let ids_in_words = words
            .iter()
            .flat_map(|(index, word)| {
                let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
                bits.map(move |bit| index * 64 + bit)
            })
            .filter(move |id| (*id as usize) < topic_count);
        (0..all_count).chain(ids_in_words).map(TopicId)
    }

    /// Returns whether the set contains every topic of a log with `topic_count` topics.
    pub fn has_all(&self, topic_count: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(words) => {
                let counts = words.iter().map(|(_, word)| word.count_ones() as usize);
                counts.sum::<usize>() >= topic_count
            }
        }
    }

    /// Returns the number of topics before `id` in the set, as an id, or `None` if the set
    /// does not contain it.
    pub fn position(&self, id: TopicId) -> Option<TopicId> {
        if !self.contains(id) {
            return None;
        }
        let Self::Only(words) = self else { return Some(id) };
        let (word_index, bit) = word_and_bit(id);
        let mut position = 0;
        for (index, word) in words.iter().take_while(|(index, _)| *index <= word_index)
        {
            let earlier_bits =
                if *index == word_index { word & (bit - 1) } else { *word };
            position += earlier_bits.count_ones();
        }
        Some(TopicId(position))
    }

    /// Returns the [positions](Self::position) in `other` of the topics that both sets have.
    pub fn positions_within(&self, other: &Self) -> Self {
        match other {
            Self::All => self.clone(),
            Self::Only(_) => {
                let positions = (0..).map(TopicId).zip(other.ids(usize::MAX));
                let common = positions.filter(|(_, id)| self.contains(*id));
                common.map(|(position, _)| position).collect()
            }
        }
    }

    /// Adds `id` to the set.
    pub fn insert(&mut self, id: TopicId) {
        let (word_index, bit) = word_and_bit(id);
        self.insert_bits(word_index, bit);
    }

    /// Adds all topics of `other` to the set.
    pub fn extend(&mut self, other: &Self) {
        match other {
            Self::All => *self = Self::All,
            Self::Only(words) => {
                words.iter().for_each(|(index, bits)| self.insert_bits(*index, *bits));
            }
        }
    }

    /// Sets `bits` in the word with the index `word_index`.
    fn insert_bits(&mut self, word_index: u32, bits: u64) {
        let Self::Only(words) = self else { return };
        match words.binary_search_by_key(&word_index, |(index, _)| *index) {
            Ok(position) => words[position].1 |= bits,
            Err(position) => words.insert(position, (word_index, bits)),
        }
    }

    /// Returns whether the sets can have a topic in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (fewer_words, more_words) = match (self, other) {
            (Self::All, Self::All) => return true,
            (Self::All, Self::Only(words)) | (Self::Only(words), Self::All) => {
                return !words.is_empty();
            }
            (Self::Only(a), Self::Only(b)) if a.len() <= b.len() => (a, b),
            (Self::Only(a), Self::Only(b)) => (b, a),
        };
        fewer_words.iter().any(|(index, word)| {
            more_words
                .binary_search_by_key(index, |(index, _)| *index)
                .is_ok_and(|position| more_words[position].1 & word != 0)
        })
    }
}

/// Returns the index of the word that contains the bit of `id`, and the bit.
#[inline]
const fn word_and_bit(id: TopicId) -> (u32, u64) {
    (id.0 / 64, 1 << (id.0 % 64))
}

impl FromIterator<TopicId> for TopicSet {
    fn from_iter<I: IntoIterator<Item = TopicId>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_ids_among_the_topics_of_a_set() {
        let set =
            |ids: &[u32]| -> TopicSet { ids.iter().copied().map(TopicId).collect() };
        let topics = set(&[3, 63, 64, 200, 1000]);
        for (position, id) in [3, 63, 64, 200, 1000].into_iter().enumerate() {
            assert_eq!(topics.position(TopicId(id)), Some(TopicId(position as u32)));
        }
        assert_eq!(topics.position(TopicId(4)), None);
        assert_eq!(TopicSet::All.position(TopicId(7)), Some(TopicId(7)));
        assert_eq!(set(&[2, 64, 1000]).positions_within(&topics), set(&[2, 4]));
        assert_eq!(TopicSet::All.positions_within(&topics), set(&[0, 1, 2, 3, 4]));
        assert_eq!(set(&[5]).positions_within(&TopicSet::All), set(&[5]));
    }
}
