//! Topics that `logtool_rosmsg` derives from the messages of other topics.

use logtool_core::TopicId;
use logtool_rosmsg::{Derivation, DerivedTopics};

use crate::connections::{
    connection::Connection, connection_table::ConnectionTable, schema,
};

/// Returns the derived topics of `table`, which must be finished.
pub(crate) fn derived_topics(table: &ConnectionTable) -> DerivedTopics {
    let topics = (0..table.topic_count() as u32).map(TopicId);
    DerivedTopics::new(topics.map(|topic| {
        derivation(table.topic_entries(topic).map(|entry| &entry.connection))
    }))
}

/// Returns the derivation of topics from the records of `connections`, which share a topic and a
/// type.
fn derivation<'c>(
    mut connections: impl Iterator<Item = &'c Connection> + Clone,
) -> Option<Derivation> {
    let all_connections = connections.clone();
    let Connection { type_name, md5sum, definition, .. } = connections.next()?;
    Derivation::from_ros1_type(type_name, md5sum, definition, || {
        let (_, record_definition) = schema::topic_schema(all_connections).ok()?;
        Some(record_definition.definition)
    })
}
