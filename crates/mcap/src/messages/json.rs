//! Decodes JSON messages to columns according to their schema. Without a usable schema,
//! the messages are decoded to a text column.

mod node;
mod numbers;
mod range;
mod read;
mod schema;
#[cfg(test)]
mod tests;

use logtool_core::{Branch, RowSummary, Scalar, StructType, TreeReader, ValueType};

use crate::messages::json::{
    node::Node,
    range::Ranges,
    read::{NamedType, ReadState},
};

pub(crate) use crate::messages::json::range::IntegerTypes;

/// The encoding of JSON messages.
pub(crate) const MESSAGE_ENCODING: &str = "json";

/// The encoding of their schemas.
pub(crate) const SCHEMA_ENCODING: &str = "jsonschema";

/// The name of the column of messages without a usable schema.
const TEXT_COLUMN: &str = "json";

/// Reads JSON messages.
#[derive(Debug)]
pub(crate) struct JsonReader {
    /// The type of the rows.
    struct_type: StructType,
    /// The same type with lookup of fields by name; `None` if messages are stored as text.
    named_type: Option<NamedType>,
}

impl JsonReader {
    /// Creates a reader of messages that `schema` describes.
    pub(crate) fn new(type_name: &str, schema: &str) -> Self {
        let schema: Option<Node> = serde_json::from_str(schema).ok();
        let struct_type = schema.and_then(|schema| schema::object_type(&schema));
        let struct_type = struct_type.filter(|struct_type| {
            !struct_type.fields.is_empty() && struct_type.check().is_ok()
        });
        let type_name = type_name.to_owned();
        match struct_type {
            Some(struct_type) => {
                let named_type = Some(NamedType::from_struct(&struct_type));
                Self {
                    struct_type: StructType { type_name, ..struct_type },
                    named_type,
                }
            }
            None => {
                let fields = vec![(TEXT_COLUMN.to_owned(), ValueType::Text)];
                Self { struct_type: StructType { type_name, fields }, named_type: None }
            }
        }
    }

    /// Changes the types of integers to `types`.
    pub(crate) fn with_types(mut self, types: &IntegerTypes) -> Self {
        if self.named_type.is_some() {
            range::apply(types, &mut self.struct_type);
            self.named_type = Some(NamedType::from_struct(&self.struct_type));
        }
        self
    }

    /// Returns true if the type has integers.
    pub(crate) fn has_integers(&self) -> bool {
        let mut fields = self.struct_type.fields.iter();
        fields.any(|(_, value_type)| has_integers(value_type))
    }

    pub(crate) fn struct_type(&self) -> &StructType {
        &self.struct_type
    }

    /// Reads `payload` into `row`, and records the ranges of its integers in `ranges`.
    fn read_object(
        &self,
        payload: &[u8],
        row: &mut Branch,
        max_items: u64,
        mut ranges: Option<&mut Ranges>,
    ) -> Option<RowSummary> {
        let named_type = self.named_type.as_ref()?;
        let row_count = row.len();
        let state = ReadState::new(max_items, ranges.as_deref_mut());
        state.read(payload, named_type, row).or_else(|| {
            let quoted = numbers::quote_special_values(payload)?;
            row.truncate(row_count);
            ReadState::new(max_items, ranges).read(&quoted, named_type, row)
        })
    }
}

impl TreeReader for JsonReader {
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        max_items: u64,
    ) -> Option<RowSummary> {
        if self.named_type.is_none() {
            row.field(0)?.push(Scalar::Bytes(payload))?;
            row.close();
            return Some(RowSummary::default());
        }
        self.read_object(payload, row, max_items, None)
    }
}

/// The maximum number of list elements in a message that is examined for the ranges of its
/// integers.
const MAX_EXAMINED_ITEMS: u64 = 1 << 20;

/// Records the ranges of the integers of messages.
#[derive(Debug)]
pub(crate) struct RangeReader {
    reader: JsonReader,
    row: Branch,
    ranges: Ranges,
}

impl RangeReader {
    /// Creates a reader of the messages that `reader` reads.
    pub(crate) fn new(reader: JsonReader) -> Self {
        let row = Branch::new(&ValueType::Struct(reader.struct_type.clone()));
        Self { reader, row, ranges: Ranges::default() }
    }

    /// Records the ranges of the integers of `payload`, as far as it can be read.
    pub(crate) fn read(&mut self, payload: &[u8]) {
        let Self { reader, row, ranges } = self;
        let _ = reader.read_object(payload, row, MAX_EXAMINED_ITEMS, Some(ranges));
        row.truncate(0);
    }

    /// Returns the types of the fields whose integers do not fit in the types that the
    /// schema implies.
    pub(crate) fn types(&self) -> IntegerTypes {
        self.ranges.types(&self.reader.struct_type)
    }
}

fn has_integers(value_type: &ValueType) -> bool {
    match value_type {
        ValueType::I64 | ValueType::U64 => true,
        ValueType::Struct(inner) => {
            inner.fields.iter().any(|(_, value_type)| has_integers(value_type))
        }
        ValueType::List(item) => has_integers(item),
        _ => false,
    }
}
