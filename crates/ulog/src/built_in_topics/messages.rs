//! The derived topic `messages`: everything that the system reported in readable form,
//! i.e. strings, tagged strings and events.
//!
//! PX4 logs many events twice: as an event, and as a string that ends in a tab for
//! programs that do not support events. If events are defined, these strings are omitted
//! here. They are still in `logged_strings`. An event without a definition is a message
//! with its number.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in_topics::rows::{self, Cell, EventReader, RowSchema},
    events::RawEvent,
    level::Level,
    wire::{self, kind},
};

/// Columns: level name, kind (`string`, `tagged` or `event`), tag, text.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("level", DataType::Utf8),
        ("source", DataType::Utf8),
        ("tag", DataType::UInt16),
        ("message", DataType::Utf8),
    ])
}

/// Returns true if a logged string, given from its message type on, is not the copy of
/// an event.
pub(crate) fn is_string_message(event_reader: &EventReader, message: &[u8]) -> bool {
    event_reader.catalogs.is_empty() || message.last() != Some(&b'\t')
}

/// Returns true if an event is shown as a message. Events for internal use and the
/// reports of checks are not. `message` is a data message, given from its message type
/// on.
pub(crate) fn is_event_message(event_reader: &EventReader, message: &[u8]) -> bool {
    let raw = event_reader.event(message);
    raw.is_some_and(|raw| is_for_people(event_reader, &raw))
}

fn is_for_people(event_reader: &EventReader, raw: &RawEvent<'_>) -> bool {
    let group = event_reader.catalogs.iter().find_map(|catalog| catalog.group(raw.id));
    // The group of an event without a definition is unknown.
    raw.internal_level() <= Level::DEBUG && group.is_none_or(|group| group == "default")
}

pub(super) fn rows(event_reader: EventReader) -> RowSchema {
    let read = move |record: &logtool_core::Record<'_>,
                     row: &mut rows::RowBuilder<'_>| {
        let (kind, payload) = record.payload.split_first()?;
        if *kind == kind::DATA {
            let raw = event_reader.event(record.payload)?;
            row.push_text(Some(&raw.internal_level().name()));
            row.push_text(Some("event"));
            row.push(Cell::Null);
            match event_reader.describe(&raw) {
                Some(event) => row.push_text(Some(&event.message)),
                None => {
                    let text = format!("event {}, no definition in the log", raw.id);
                    row.push_text(Some(&text));
                }
            }
            return Some(());
        }
        let string = wire::logged_string(*kind, payload)?;
        row.push_text(Some(&Level::from_log_byte(string.level).name()));
        row.push_text(Some(if string.tag.is_some() { "tagged" } else { "string" }));
        row.push(string.tag.map_or(Cell::Null, |tag| Cell::UInt(tag.into())));
        row.push_logged_text(string.text, &['\t']);
        Some(())
    };
    RowSchema { schema: schema(), read: Box::new(read) }
}
