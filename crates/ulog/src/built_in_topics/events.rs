//! The derived topic `events`: PX4 events with their texts.

use arrow_schema::{DataType, SchemaRef};

use crate::built_in_topics::rows::{self, Cell, EventReader, RowSchema};

/// Columns: the id, name, text and levels of an event. An event without a definition has
/// only numbers and levels.
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

pub(super) fn rows(event_reader: EventReader) -> RowSchema {
    let read = move |record: &logtool_core::Record<'_>,
                     row: &mut rows::RowBuilder<'_>| {
        let raw = event_reader.event(record.payload)?;
        let event = event_reader.describe(&raw);
        row.push(Cell::UInt(raw.id));
        row.push(Cell::UInt(raw.sequence.into()));
        match event {
            Some(event) => {
                row.push_text(Some(event.name));
                row.push_text(Some(event.group));
                row.push_text(Some(&event.level.name()));
                row.push_text(Some(&event.internal_level.name()));
                row.push_text(Some(&event.message));
                row.push_text(event.description.as_deref());
                let arguments: Vec<String> = (event.arguments.iter())
                    .map(|argument| format!("{}={}", argument.name, argument.text))
                    .collect();
                row.push_text(Some(&arguments.join(", ")));
            }
            None => {
                row.push(Cell::Null);
                row.push(Cell::Null);
                let level = |number| crate::level::Level::new(number).name();
                row.push_text(Some(&level(raw.log_levels & 15)));
                row.push_text(Some(&level(raw.log_levels >> 4)));
                (0..3).for_each(|_| row.push(Cell::Null));
            }
        }
        Some(())
    };
    RowSchema { schema: schema(), read: Box::new(read) }
}
