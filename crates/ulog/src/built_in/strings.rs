//! Logged strings, plain and tagged, as they are in the file.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in::rows::{self, Cell, Rows},
    level::Level,
    wire,
};

/// Level (its name), tag (of tagged strings), text.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("level", DataType::Utf8),
        ("tag", DataType::UInt16),
        ("message", DataType::Utf8),
    ])
}

pub(super) fn rows() -> Rows {
    let read = |record: &logtool_core::Record<'_>, row: &mut rows::Row<'_>| {
        let (kind, payload) = record.payload.split_first()?;
        let string = wire::logged_string(*kind, payload)?;
        row.text(Some(&Level::from_log_byte(string.level).name()));
        row.put(string.tag.map_or(Cell::Null, |tag| Cell::UInt(tag.into())));
        row.text(Some(&logtool_core::decode_text(string.text)));
        Some(())
    };
    Rows { schema: schema(), read: Box::new(read) }
}
