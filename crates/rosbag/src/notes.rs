//! What a bag's manifest notes, so that it is resumed without reading anything.

use logtool_core::TopicSet;
use serde::{Deserialize, Serialize};

use crate::{head::Head, table::StoredEntry};

/// What the format is called, in a manifest too.
pub(crate) const FORMAT_NAME: &str = "rosbag";

/// All that readers of parts need beside the manifest. (No key: those stay secret.)
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    pub(crate) head: Head,
    pub(crate) connections: Vec<StoredEntry>,
    /// Topics of which the records have too many columns, by themselves or with those of
    /// the topics before: only their bytes can be read.
    pub(crate) too_wide: TopicSet,
    /// Why nothing of it can be read, if no chunk can be unpacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
}
