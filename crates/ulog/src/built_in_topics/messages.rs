//! The derived topic `messages`: everything that the system reported in readable form,
//! i.e. strings, tagged strings and events.
//!
//! PX4 logs many events twice: as an event, and as a string that ends in a tab for
//! programs that do not support events. If the log defines its events, these strings
//! are omitted here. They are still in `logged_strings`.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in_topics::rows::{self, Cell, EventReader, RowSchema},
    events::{Event, RawEvent},
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
    event_reader.catalog.is_none() || message.last() != Some(&b'\t')
}

/// Returns true if an event is shown as a message. Events for internal use and the
/// reports of checks are not. `message` is a data message, given from its message type
/// on.
pub(crate) fn is_event_message(event_reader: &EventReader, message: &[u8]) -> bool {
    let raw = event_reader.event(message);
    raw.is_some_and(|raw| is_for_people(event_reader, &raw))
}

fn is_for_people(event_reader: &EventReader, raw: &RawEvent<'_>) -> bool {
    let group = event_reader.catalog.as_ref().and_then(|catalog| catalog.group(raw.id));
    raw.internal_level() <= Level::DEBUG && group == Some("default")
}

fn visible_event<'w>(
    event_reader: &'w EventReader,
    raw: &RawEvent<'_>,
) -> Option<Event<'w>> {
    event_reader
        .catalog
        .as_ref()?
        .describe(raw)
        .filter(|_| is_for_people(event_reader, raw))
}

pub(super) fn rows(event_reader: EventReader) -> RowSchema {
    let read = move |record: &logtool_core::Record<'_>,
                     row: &mut rows::RowBuilder<'_>| {
        let (kind, payload) = record.payload.split_first()?;
        if *kind == kind::DATA {
            let event =
                visible_event(&event_reader, &event_reader.event(record.payload)?)?;
            row.push_text(Some(&event.internal_level.name()));
            row.push_text(Some("event"));
            row.push(Cell::Null);
            row.push_text(Some(&event.message));
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
