//! PX4's events in words.

use arrow_schema::{DataType, SchemaRef};

use crate::built_in::rows::{self, Cell, Rows, Words};

/// The event's number and name, what it says, and how urgent it is. An event that the
/// log does not explain has only its numbers.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("id", DataType::UInt32),
        ("sequence", DataType::UInt16),
        ("name", DataType::Utf8),
        ("group", DataType::Utf8),
        ("level", DataType::Utf8),
        ("internal_level", DataType::Utf8),
        ("message", DataType::Utf8),
        ("description", DataType::Utf8),
        ("arguments", DataType::Utf8),
    ])
}

pub(super) fn rows(words: Words) -> Rows {
    let read = move |record: &logtool_core::Record<'_>, row: &mut rows::Row<'_>| {
        let raw = words.event(record.payload)?;
        let event = words.catalog.as_ref().and_then(|catalog| catalog.describe(&raw));
        row.put(Cell::UInt(raw.id));
        row.put(Cell::UInt(raw.sequence.into()));
        match event {
            Some(event) => {
                row.text(Some(event.name));
                row.text(Some(event.group));
                row.text(Some(&event.level.name()));
                row.text(Some(&event.internal_level.name()));
                row.text(Some(&event.message));
                row.text(event.description.as_deref());
                let arguments: Vec<String> = (event.arguments.iter())
                    .map(|argument| format!("{}={}", argument.name, argument.text))
                    .collect();
                row.text(Some(&arguments.join(", ")));
            }
            None => {
                row.put(Cell::Null);
                row.put(Cell::Null);
                let level = |number| crate::level::Level::new(number).name();
                row.text(Some(&level(raw.log_levels & 15)));
                row.text(Some(&level(raw.log_levels >> 4)));
                (0..3).for_each(|_| row.put(Cell::Null));
            }
        }
        Some(())
    };
    Rows { schema: schema(), read: Box::new(read) }
}
