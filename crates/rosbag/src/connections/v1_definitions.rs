//! Definitions of version 1.2, added to the connections that messages declare.
//!
//! In version 1.2, a separate record defines the type of a topic before the first message, and
//! each message declares everything else. If the record is broken or missing, the messages can
//! still be read: with another definition that has the same MD5 sum, or as raw bytes.

use std::collections::{BTreeSet, HashMap, HashSet};

use logtool_rosmsg::md5sum;

use crate::{
    connections::{connection::Connection, connection_table::ConnectionTable},
    wire::Fields,
};

/// The maximum total size of the definitions that are added: each message may declare a connection
/// that needs one.
const MAX_DEFINITION_BYTES: usize = 16 << 20;

/// Returns `table` with definitions: a connection that a message declares gets the definition of
/// its topic or, if no record defines the topic, another definition with the same MD5 sum.
/// Connections that only a definition declares are left out, unless their ids are in
/// `ids_with_messages` or the topic has no other connection. Also returns the ids of the
/// connections whose topic no record defines.
pub(crate) fn with_definitions(
    table: &ConnectionTable,
    ids_with_messages: &BTreeSet<u32>,
) -> (ConnectionTable, BTreeSet<u32>) {
    let (mut by_topic, mut by_sum) = (HashMap::new(), HashMap::new());
    let mut published_topics = HashSet::new();
    for connection in table.entries.iter().map(|entry| &entry.connection) {
        let Some(text) = definition_field(connection) else {
            published_topics.insert(topic_key(connection));
            continue;
        };
        by_topic.entry(topic_key(connection)).or_insert(text);
        let Connection { type_name, definition, .. } = connection;
        if let Ok(sum) = md5sum(type_name, definition) {
            by_sum.entry((type_name.as_str(), sum)).or_insert(text);
        }
    }
    let (mut undefined_ids, mut remaining_bytes) =
        (BTreeSet::new(), MAX_DEFINITION_BYTES);
    let table = table.with_changes(|connection| {
        let raw = connection.raw().clone();
        if definition_field(connection).is_some() {
            let is_needed = ids_with_messages.contains(&connection.id)
                || !published_topics.contains(&topic_key(connection));
            return is_needed.then_some(raw);
        }
        let of_topic = by_topic.get(&topic_key(connection));
        if of_topic.is_none() {
            undefined_ids.insert(connection.id);
        }
        let Connection { type_name, md5sum, .. } = connection;
        let sum_key = (type_name.as_str(), md5sum.to_ascii_lowercase());
        let text = of_topic.or_else(|| by_sum.get(&sum_key)).copied();
        let text =
            text.filter(|text| text.len() <= remaining_bytes).unwrap_or_default();
        remaining_bytes -= text.len();
        Some(raw.with_field(DEFINITION_FIELD, text))
    });
    (table, undefined_ids)
}

/// The name of the header field with the definition.
const DEFINITION_FIELD: &[u8] = b"message_definition";

/// Returns the definition in the header of `connection`, or `None` if a message declares it.
fn definition_field(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == DEFINITION_FIELD).map(|(_, text)| text)
}

/// Returns the topic, the type and the MD5 sum for which a definition is valid.
fn topic_key(connection: &Connection) -> (&[u8], &str, &str) {
    let Connection { type_name, md5sum, .. } = connection;
    (connection.topic_bytes(), type_name, md5sum)
}
