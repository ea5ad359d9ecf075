//! The private state in the manifest of a bag: with it, the bag is opened again without reading
//! the file.

use logtool_core::{IdSet, TopicSet};
use logtool_rosmsg::PointColumns;
use serde::{Deserialize, Serialize};

use crate::{
    connections::connection_table::StoredEntry, file::file_header::FileHeader,
};

/// The name of the format, also in manifests.
pub(crate) const FORMAT_NAME: &str = "rosbag";

/// The state that readers of parts need in addition to the manifest. (It does not contain the key,
/// which stays secret.)
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    #[serde(rename = "head")]
    pub(crate) file_header: FileHeader,
    pub(crate) connections: Vec<StoredEntry>,
    /// The ids of all connections, if the manifest is an excerpt that leaves some out.
    #[serde(rename = "known_ids", default, skip_serializing_if = "IdSet::is_empty")]
    pub(crate) all_ids: IdSet,
    /// Topics with too many columns, alone or together with the topics before: they can be read
    /// as raw bytes only.
    pub(crate) too_wide: TopicSet,
    /// The reason why nothing can be read, if no chunk can be decompressed.
    #[serde(rename = "unreadable", default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable_reason: Option<String>,
    /// In an excerpt, the starts of the parts of the whole bag that readers of its parts use, and
    /// the end of the last part of the bag. Empty if the manifest has all parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bounds: Vec<u64>,
    /// The columns of points that are known without inspecting messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) point_columns: Vec<PointColumns>,
}
