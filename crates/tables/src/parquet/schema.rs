//! The types with which columns are read.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// Returns `schema` with types that all outputs support: dictionaries are replaced by their values,
/// and strings, binary data and lists have 32-bit offsets.
pub(super) fn readable_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(readable_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn readable_field(field: &FieldRef) -> FieldRef {
    let kind = readable_type(field.data_type());
    Arc::new(Field::new(field.name(), kind, field.is_nullable()))
}

fn readable_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, value) => readable_type(value),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::List(item) | DataType::LargeList(item) => {
            DataType::List(readable_field(item))
        }
        DataType::FixedSizeList(item, len) => {
            DataType::FixedSizeList(readable_field(item), *len)
        }
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(readable_field).collect::<Fields>())
        }
        DataType::Map(entries, is_sorted) => {
            DataType::Map(readable_field(entries), *is_sorted)
        }
        other => other.clone(),
    }
}
