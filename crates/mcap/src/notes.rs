//! What the manifest of an MCAP file notes, so that it is resumed without reading
//! anything.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

/// What the format is called, in a manifest too.
pub(crate) const FORMAT_NAME: &str = "mcap";

/// See above.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// What the file says that it is.
    pub(crate) profile: String,
    /// The numbers of the channels, in the order of the streams, and their topics.
    pub(crate) channels: Vec<(u16, TopicId)>,
    /// Whether each part is a chunk.
    pub(crate) chunks: Vec<bool>,
    /// Where there are no records, between those that there are.
    pub(crate) gaps: Vec<Damage>,
    /// The words about the file.
    pub(crate) metadata: Vec<(String, BTreeMap<String, String>)>,
    /// Where the records are of files that are attached.
    #[serde(default)]
    pub(crate) attached: Vec<Range<u64>>,
}
