//! Definitions of version 1.2, put into the connections that messages declare.
//!
//! There a record of its own defines the type of a topic, before the first message, and
//! each message says all the rest. Where such a record is broken or missing, messages can
//! be read all the same: by a definition with their MD5 sum, or as raw bytes.

use std::collections::{BTreeSet, HashMap, HashSet};

use logtool_rosmsg::md5sum;

use crate::{connection::Connection, table::Table, wire::Fields};

/// No more bytes of definitions are put into connections: each message may declare one.
const MAX_TEXTS: usize = 16 << 20;

/// The connections of `table` that `have_messages`, by their numbers, with their
/// definitions; those of topics without messages; and the numbers of those that no record
/// defines.
pub(crate) fn defined(
    table: &Table,
    have_messages: &BTreeSet<u32>,
) -> (Table, BTreeSet<u32>) {
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
    let (mut undefined, mut room) = (BTreeSet::new(), MAX_TEXTS);
    let table = table.changed(|connection| {
        let raw = connection.raw().clone();
        if text(connection).is_some() {
            let is_one = have_messages.contains(&connection.id)
                || !published.contains(&key(connection));
            return is_one.then_some(raw);
        }
        let own = by_topic.get(&key(connection));
        if own.is_none() {
            undefined.insert(connection.id);
        }
        let Connection { type_name, md5sum, .. } = connection;
        let of_sum = (type_name.as_str(), md5sum.to_ascii_lowercase());
        let text = own.or_else(|| by_sum.get(&of_sum)).copied();
        let text = text.filter(|text| text.len() <= room).unwrap_or_default();
        room -= text.len();
        Some(raw.with(FIELD, text))
    });
    (table, undefined)
}

const FIELD: &[u8] = b"message_definition";

/// The definition that a record tells, which messages do not.
fn text(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == FIELD).map(|(_, text)| text)
}

/// What a definition is of.
fn key(connection: &Connection) -> (&[u8], &str, &str) {
    let Connection { type_name, md5sum, .. } = connection;
    (connection.topic_bytes(), type_name, md5sum)
}
