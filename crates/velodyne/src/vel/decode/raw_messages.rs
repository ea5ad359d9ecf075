//! Messages of unknown types: the header and the undecoded data.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{BinaryBuilder, Int32Builder, UInt8Builder, UInt32Builder},
};
use arrow_schema::{DataType, Field};
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    rows::{self, RowBuilders, RowsDecoder},
    vel::wire::{self, PREFIX_LEN},
};

/// Returns the columns.
pub(crate) fn fields() -> Vec<Field> {
    vec![
        Field::new("validity", DataType::UInt8, false),
        Field::new("type", DataType::UInt32, false),
        Field::new("version", DataType::Int32, false),
        Field::new("data", DataType::Binary, false),
    ]
}

/// Returns a decoder of these `columns`.
pub(crate) fn decoder(columns: &Columns) -> Result<Box<dyn Decoder>> {
    let schema = rows::schema(fields());
    let is_selected = rows::selected_columns(&schema, columns)?;
    let rows = RawRows { is_selected: is_selected.clone(), ..RawRows::default() };
    Ok(RowsDecoder::decoder(&schema, &is_selected, rows))
}

#[derive(Default)]
struct RawRows {
    /// Whether each column after the time is selected.
    is_selected: Vec<bool>,
    validity: UInt8Builder,
    kind: UInt32Builder,
    version: Int32Builder,
    data: BinaryBuilder,
}

impl RowBuilders for RawRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        let header = wire::header(record.payload).ok_or(DamageKind::Undecodable)?;
        self.validity.append_value(header.validity);
        self.kind.append_value(header.kind);
        self.version.append_value(header.version);
        if self.is_selected.get(3) == Some(&true) {
            self.data
                .append_value(record.payload.get(PREFIX_LEN..).unwrap_or_default());
        }
        Ok(1)
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        let columns: [ArrayRef; 4] = [
            Arc::new(self.validity.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.version.finish()),
            Arc::new(self.data.finish()),
        ];
        let columns = columns.into_iter().zip(&self.is_selected);
        columns.map(|(column, is_selected)| is_selected.then_some(column)).collect()
    }
}
