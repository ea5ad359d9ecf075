//! Dropouts: periods in which the logger lost data.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in_topics::rows::{self, Cell, RowSchema},
    wire,
};

/// Columns: the duration in milliseconds. The time of a dropout is the latest time of
/// the records before it.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[("duration_ms", DataType::UInt16)])
}

pub(super) fn rows() -> RowSchema {
    let read = |record: &logtool_core::Record<'_>, row: &mut rows::RowBuilder<'_>| {
        let millis = wire::dropout(record.payload.get(1..)?)?;
        row.push(Cell::UInt(millis.into()));
        Some(())
    };
    RowSchema { schema: schema(), read: Box::new(read) }
}
