//! The private state of the format in a manifest. It lets a file be opened again without
//! reading it.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Damage, IdSet, TopicId};
use logtool_rosmsg::PointColumns;
use serde::{Deserialize, Serialize};

use crate::messages::json::IntegerTypes;

/// The name of the format.
pub(crate) const FORMAT_NAME: &str = "mcap";

/// The keys in the metadata of a stream that come from other fields of the channel than
/// its metadata: the id, the topic, and the name of the schema.
pub(crate) const STREAM_KEYS: [&str; 3] = ["id", "topic", "type"];

/// The results of the index pass that are needed later. The names of the JSON keys must not
/// change, because manifests are stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    /// The profile in the header of the file.
    pub(crate) profile: String,
    /// The ids and the topics of the channels, in stream order.
    pub(crate) channels: Vec<(u16, TopicId)>,
    /// The ids of all channels of the file, if this is the state of an excerpt; otherwise
    /// empty.
    #[serde(
        rename = "known_channels",
        default,
        skip_serializing_if = "IdSet::is_empty"
    )]
    pub(crate) all_channel_ids: IdSet,
    /// The schema id of each of the `channels`; 0 for no schema. Empty if the channels
    /// cannot be declared identically in another file.
    #[serde(rename = "schemas", default)]
    pub(crate) schema_ids: Vec<u16>,
    /// Whether each part is a chunk.
    #[serde(rename = "chunks")]
    pub(crate) is_chunk: Vec<bool>,
    /// The damaged ranges between records outside chunks.
    pub(crate) damaged_ranges: Vec<Damage>,
    /// The metadata records.
    pub(crate) metadata: Vec<(String, BTreeMap<String, String>)>,
    /// The byte ranges of attachment records.
    #[serde(default)]
    pub(crate) attachments: Vec<Range<u64>>,
    /// The types of the integers in JSON messages that differ from the types that the
    /// schema implies, by topic.
    #[serde(rename = "integers", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) integer_types: BTreeMap<u32, IntegerTypes>,
    /// The reason why no message can be read, if that is the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// Whether there may be messages whose time cannot be represented, even if no part
    /// of this manifest shows it. Only excerpts set it, because they leave parts out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) may_have_null_times: bool,
    /// The columns of points that are known without inspecting messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) point_columns: Vec<PointColumns>,
}
