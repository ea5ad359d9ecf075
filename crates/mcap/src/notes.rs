//! What the manifest of an MCAP file notes, so that it is resumed without reading
//! anything.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::json::IntegerTypes;

/// What the format is called, in a manifest too.
pub(crate) const FORMAT_NAME: &str = "mcap";

/// What a stream's metadata say of a channel beside the channel's own: its number, its topic
/// and its type.
pub(crate) const STREAM_KEYS: [&str; 3] = ["id", "topic", "type"];

/// See above.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// What the file says that it is.
    pub(crate) profile: String,
    /// The numbers of the channels, in the order of the streams, and their topics.
    pub(crate) channels: Vec<(u16, TopicId)>,
    /// The numbers of the schemas of these channels, 0 where there is none; nothing at all
    /// unless the channels can be declared again just as they are.
    #[serde(default)]
    pub(crate) schemas: Vec<u16>,
    /// Whether each part is a chunk.
    pub(crate) chunks: Vec<bool>,
    /// Where there are no records, between those that there are.
    pub(crate) gaps: Vec<Damage>,
    /// The words about the file.
    pub(crate) metadata: Vec<(String, BTreeMap<String, String>)>,
    /// Where the records are of files that are attached.
    #[serde(default)]
    pub(crate) attached: Vec<Range<u64>>,
    /// The types of the integers of JSON messages, by topic, where they do not fit in those
    /// that the schema implies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) integers: BTreeMap<u32, IntegerTypes>,
    /// Why no message can be read, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
}
