//! Definitions of version 1.2, added to the connections that messages declare.
//!
//! In version 1.2, a record of its own defines the type of a topic before the first message,
//! and each message declares everything else. If such a record is broken or missing, messages
//! can still be read: with another definition of the same MD5 sum, or as raw bytes.

use std::collections::{BTreeSet, HashMap, HashSet};

use logtool_rosmsg::md5sum;

use crate::{
    connections::{connection::Connection, connection_table::ConnectionTable},
    wire::Fields,
};

/// The maximum size of the definitions in connections: each message may declare one.
const MAX_TEXTS: usize = 16 << 20;

/// Returns the connections of `table` that are in `have_messages`, with their definitions;
/// the connections of topics without messages; and the ids of the connections without a
/// definition.
pub(crate) fn with_definitions(
    table: &ConnectionTable,
    have_messages: &BTreeSet<u32>,
) -> (ConnectionTable, BTreeSet<u32>) {
    let (mut by_topic, mut by_sum) = (HashMap::new(), HashMap::new());
    let mut published = HashSet::new();
    for connection in table.entries.iter().map(|entry| &entry.connection) {
        let Some(text) = text(connection) else {
            published.insert(key(connection));
            continue;
        };
        by_topic.entry(key(connection)).or_insert(text);
        let Connection { type_name, definition, .. } = connection;
        if let Ok(sum) = md5sum(type_name, definition) {
            by_sum.entry((type_name.as_str(), sum)).or_insert(text);
        }
    }
    let (mut undefined, mut remaining_bytes) = (BTreeSet::new(), MAX_TEXTS);
    let table = table.with_changes(|connection| {
        let raw = connection.raw().clone();
        if text(connection).is_some() {
            let is_publisher = have_messages.contains(&connection.id)
                || !published.contains(&key(connection));
            return is_publisher.then_some(raw);
        }
        let definitions = by_topic.get(&key(connection));
        if definitions.is_none() {
            undefined.insert(connection.id);
        }
        let Connection { type_name, md5sum, .. } = connection;
        let of_sum = (type_name.as_str(), md5sum.to_ascii_lowercase());
        let text = definitions.or_else(|| by_sum.get(&of_sum)).copied();
        let text =
            text.filter(|text| text.len() <= remaining_bytes).unwrap_or_default();
        remaining_bytes -= text.len();
        Some(raw.with_field(FIELD, text))
    });
    (table, undefined)
}

const FIELD: &[u8] = b"message_definition";

/// Returns the definition in the header of a connection; messages have none.
fn text(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == FIELD).map(|(_, text)| text)
}

/// Returns the topic, type and MD5 sum for which a definition is valid.
fn key(connection: &Connection) -> (&[u8], &str, &str) {
    let Connection { type_name, md5sum, .. } = connection;
    (connection.topic_bytes(), type_name, md5sum)
}
