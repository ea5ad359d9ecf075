//! All that the system said, as people read it: strings, tagged strings and events.
//!
//! PX4 logs many an event twice: as an event, and as a string that ends in a TAB for
//! programs that know no events. Where the log explains its events, those strings are
//! left out here (they stay in `logged_strings`).

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in::rows::{self, Cell, Rows, Words},
    events::{Event, RawEvent},
    level::Level,
    wire::{self, kind},
};

/// Level (its name), what the message is (`string`, `tagged` or `event`), tag, text.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("level", DataType::Utf8),
        ("source", DataType::Utf8),
        ("tag", DataType::UInt16),
        ("message", DataType::Utf8),
    ])
}

/// Whether a logged string, given from its type on, is a message of its own.
pub(crate) fn is_string_message(words: &Words, message: &[u8]) -> bool {
    words.catalog.is_none() || message.last() != Some(&b'\t')
}

/// Whether an event, a data message given from its type on, is a message: not those
/// that no person is meant to see, nor the reports of checks.
pub(crate) fn is_event_message(words: &Words, message: &[u8]) -> bool {
    let raw = words.event(message);
    raw.is_some_and(|raw| is_for_people(words, &raw))
}

fn is_for_people(words: &Words, raw: &RawEvent<'_>) -> bool {
    let group = words.catalog.as_ref().and_then(|catalog| catalog.group(raw.id));
    raw.internal_level() <= Level::DEBUG && group == Some("default")
}

fn described<'w>(words: &'w Words, raw: &RawEvent<'_>) -> Option<Event<'w>> {
    words.catalog.as_ref()?.describe(raw).filter(|_| is_for_people(words, raw))
}

pub(super) fn rows(words: Words) -> Rows {
    let read = move |record: &logtool_core::Record<'_>, row: &mut rows::Row<'_>| {
        let (kind, payload) = record.payload.split_first()?;
        if *kind == kind::DATA {
            let event = described(&words, &words.event(record.payload)?)?;
            row.text(Some(&event.internal_level.name()));
            row.text(Some("event"));
            row.put(Cell::Null);
            row.text(Some(&event.message));
            return Some(());
        }
        let string = wire::logged_string(*kind, payload)?;
        row.text(Some(&Level::from_log_byte(string.level).name()));
        row.text(Some(if string.tag.is_some() { "tagged" } else { "string" }));
        row.put(string.tag.map_or(Cell::Null, |tag| Cell::UInt(tag.into())));
        row.text(Some(logtool_core::decode_text(string.text).trim_end_matches('\t')));
        Some(())
    };
    Rows { schema: schema(), read: Box::new(read) }
}
