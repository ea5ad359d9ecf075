//! Parameters that changed during logging.

use arrow_schema::{DataType, SchemaRef};

use crate::{
    built_in_topics::rows::{self, Cell, RowSchema},
    declarations::metadata::ParameterValue,
    wire,
};

/// Columns: the name of the parameter, and its new value in the column of its type.
pub(crate) fn schema() -> SchemaRef {
    rows::schema(&[
        ("name", DataType::Utf8),
        ("int_value", DataType::Int32),
        ("float_value", DataType::Float32),
    ])
}

pub(super) fn rows() -> RowSchema {
    let read = |record: &logtool_core::Record<'_>, row: &mut rows::RowBuilder<'_>| {
        let keyed = wire::keyed_value(record.payload.get(1..)?)?;
        let value = ParameterValue::new(&keyed)?;
        row.push_text(Some(keyed.name));
        match value {
            ParameterValue::Int(value) => {
                row.push(Cell::Int(value));
                row.push(Cell::Null);
            }
            ParameterValue::Float(value) => {
                row.push(Cell::Null);
                row.push(Cell::Float(value));
            }
        }
        Some(())
    };
    RowSchema { schema: schema(), read: Box::new(read) }
}
