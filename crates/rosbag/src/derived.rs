//! Topics that are made of the messages of others, as `logtool_rosmsg` does, by what
//! connections say of their messages.

use logtool_core::TopicId;
use logtool_rosmsg::{Derivation, Derived};

use crate::{connection::Connection, schema, table::Table};

/// What is derived of the topics of `table`, which is finished.
pub(crate) fn derived_of(table: &Table) -> Derived {
    let topics = (0..table.topics() as u32).map(TopicId);
    Derived::new(
        topics.map(|topic| {
            derivation(table.of_topic(topic).map(|entry| &entry.connection))
        }),
    )
}

/// What is derived of the records of `connections`, which share a type.
fn derivation<'c>(
    mut connections: impl Iterator<Item = &'c Connection> + Clone,
) -> Option<Derivation> {
    let all = connections.clone();
    let Connection { type_name, md5sum, .. } = connections.next()?;
    Derivation::of_ros1(type_name, md5sum, || {
        let (_, described) = schema::of_topic(all).ok()?;
        described.definition.md5sum().ok()
    })
}
