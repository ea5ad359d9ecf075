//! The private state that an MCAP file stores in its manifest, so that the file can be
//! opened again without reading it.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Damage, IdSet, TopicId};
use logtool_rosmsg::PointColumns;
use serde::{Deserialize, Serialize};

use crate::messages::json::IntegerTypes;

/// The name of the format, also in manifests.
pub(crate) const FORMAT_NAME: &str = "mcap";

/// Keys in the metadata of a stream that are not from the metadata of the channel: the
/// id, the topic and the type.
pub(crate) const STREAM_KEYS: [&str; 3] = ["id", "topic", "type"];

/// The results of the index pass that readers of parts need.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    /// The profile in the header of the file.
    pub(crate) profile: String,
    /// The ids and the topics of the channels, in stream order.
    pub(crate) channels: Vec<(u16, TopicId)>,
    /// The ids of all channels, if an excerpt leaves some out.
    #[serde(default, skip_serializing_if = "IdSet::is_empty")]
    pub(crate) known_channels: IdSet,
    /// The schema ids of these channels, 0 for no schema. Empty if the channels cannot
    /// be declared identically in another file.
    #[serde(default)]
    pub(crate) schemas: Vec<u16>,
    /// Whether each part is a chunk.
    pub(crate) chunks: Vec<bool>,
    /// The damaged ranges between records outside chunks.
    pub(crate) damaged_ranges: Vec<Damage>,
    /// The metadata records.
    pub(crate) metadata: Vec<(String, BTreeMap<String, String>)>,
    /// The byte ranges of attachment records.
    #[serde(default)]
    pub(crate) attachments: Vec<Range<u64>>,
    /// The types of the integers in JSON messages, by topic, if they differ from those
    /// implied by the schema.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) integers: BTreeMap<u32, IntegerTypes>,
    /// The reason why no message can be read, if that is the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// Whether a part that an excerpt leaves out may have messages whose time cannot be
    /// represented.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) may_have_null_times: bool,
    /// The columns of points that are known without inspecting messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) point_columns: Vec<PointColumns>,
}
