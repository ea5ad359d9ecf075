//! The schemas of topics: their definitions in the log, and the columns of their tables.

use logtool_core::Topic;
use logtool_rosmsg::TopicMetadata;
use serde::Serialize;

use crate::{error::Result, records::log::Log, source::selection};

/// The schema of a topic. It serialises as the JSON object that `logtool schema --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopicSchema {
    /// The name of the topic, with the number of its instance.
    pub topic: String,
    /// The name of the type of its records. Empty if it has no name.
    pub type_name: String,
    /// The encoding of its records, for example `ros1`.
    pub encoding: String,
    /// The MD5 sum of the definition, as ROS computes it, if the log states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5sum: Option<String>,
    /// The definition of the type in the log.
    pub definition: String,
    /// The columns of the table.
    pub columns: Vec<ColumnSchema>,
}

/// The schema of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnSchema {
    /// The name.
    pub name: String,
    /// The Arrow type.
    #[serde(rename = "type")]
    pub data_type: String,
    /// The unit, if the log or the format states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl TopicSchema {
    /// Returns the schema of `topic`.
    pub fn new(topic: &Topic) -> Self {
        let fields = topic.schema.fields().iter();
        let columns = fields.map(|field| ColumnSchema {
            name: field.name().clone(),
            data_type: field.data_type().to_string(),
            unit: field.metadata().get("unit").cloned(),
        });
        Self {
            topic: topic.label().into_owned(),
            type_name: topic.type_name.clone(),
            encoding: topic.encoding.clone(),
            md5sum: TopicMetadata::new(&topic.metadata).md5sum.map(str::to_owned),
            definition: topic.definition.clone(),
            columns: columns.collect(),
        }
    }
}

impl Log {
    /// Returns the schemas of the topics that match one of `patterns` (`*` and `?` match
    /// anything), or of all topics if there are no patterns.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no topic.
    pub fn schemas(&self, patterns: &[String]) -> Result<Vec<TopicSchema>> {
        let selected = selection::topics_with_derived(self.manifest(), patterns)?;
        let topics = self.manifest().topics();
        let topics = topics.filter(|(id, _)| selected.contains(*id));
        Ok(topics.map(|(_, topic)| TopicSchema::new(topic)).collect())
    }
}
