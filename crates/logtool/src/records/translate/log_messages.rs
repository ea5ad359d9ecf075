//! Reads log messages from rows.

use arrow_array::{
    Array as _, ArrayRef, RecordBatch, cast::AsArray as _, types::UInt16Type,
};

/// A log message.
pub(super) struct LogLine<'b> {
    /// The level, as a name of syslog.
    pub(super) level: &'b str,
    /// The source: the component, or a tag.
    pub(super) name: String,
    pub(super) message: &'b str,
}

impl<'b> LogLine<'b> {
    /// Reads the message in the row at index `row` of `batch`.
    pub(super) fn read(batch: &'b RecordBatch, row: usize) -> Self {
        let column = |name: &str| batch.column_by_name(name);
        let text =
            |name: &str| column(name).and_then(|c| text(c, row)).unwrap_or_default();
        let tags = column("tag").and_then(|c| c.as_primitive_opt::<UInt16Type>());
        let tag = tags.filter(|c| c.is_valid(row)).map(|c| c.value(row));
        let name = match tag {
            Some(tag) => format!("tag {tag}"),
            None => text("source").to_owned(),
        };
        Self { level: text("level"), name, message: text("message") }
    }
}

fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    let column = column.as_string_opt::<i32>()?;
    column.is_valid(row).then(|| column.value(row))
}
