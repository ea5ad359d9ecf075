//! The private state in the manifest of a bag, with which it is opened without reading.

use logtool_core::{IdSet, TopicSet};
use logtool_rosmsg::PointColumns;
use serde::{Deserialize, Serialize};

use crate::{
    connections::connection_table::StoredEntry, file::file_header::FileHeader,
};

/// The name of the format, also in manifests.
pub(crate) const FORMAT_NAME: &str = "rosbag";

/// What readers of parts need in addition to the manifest. (Not the key: it stays secret.)
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormatState {
    #[serde(rename = "head")]
    pub(crate) file_header: FileHeader,
    pub(crate) connections: Vec<StoredEntry>,
    /// The ids of all connections, if an excerpt leaves some out.
    #[serde(default, skip_serializing_if = "IdSet::is_empty")]
    pub(crate) known_ids: IdSet,
    /// Topics with too many columns, alone or together with the topics before: they are
    /// readable as raw bytes only.
    pub(crate) too_wide: TopicSet,
    /// The reason why nothing can be read, if no chunk can be decompressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// The start of each part, and the end of the last, if the manifest does not have all of
    /// the parts that surround those to be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bounds: Vec<u64>,
    /// The columns of points that are known without inspecting messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) point_columns: Vec<PointColumns>,
}
