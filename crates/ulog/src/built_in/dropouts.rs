//! Stretches of time in which the logger lost data.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in::rows::{self, Cell, Rows},
    wire,
};

/// How long it was, in milliseconds. Its time is the latest of the records
/// before it.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[("duration_ms", DataType::UInt16)])
}

pub(super) fn rows() -> Rows {
    let read = |record: &logtool_core::Record<'_>, row: &mut rows::Row<'_>| {
        let millis = wire::dropout(record.payload.get(1..)?)?;
        row.put(Cell::UInt(millis.into()));
        Some(())
    };
    Rows { schema: schema(), read: Box::new(read) }
}
