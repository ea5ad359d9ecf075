//! The topic `logged_strings`: plain and tagged strings as they are in the file.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in_topics::rows::{self, Cell, RowSchema},
    level::Level,
    wire,
};

/// Columns: level name, tag (null for plain strings), text.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("level", DataType::Utf8),
        ("tag", DataType::UInt16),
        ("message", DataType::Utf8),
    ])
}

pub(super) fn rows() -> RowSchema {
    let read = |record: &logtool_core::Record<'_>, row: &mut rows::RowBuilder<'_>| {
        let (kind, payload) = record.payload.split_first()?;
        let string = wire::logged_string(*kind, payload)?;
        row.push_text(Some(&Level::from_log_byte(string.level).name()));
        row.push(string.tag.map_or(Cell::Null, |tag| Cell::UInt(tag.into())));
        row.push_logged_text(string.text, &[]);
        Some(())
    };
    RowSchema { schema: schema(), read: Box::new(read) }
}
