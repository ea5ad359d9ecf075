//! Decodes JSON messages to columns according to their schema, or to a text column
//! without a usable schema.

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

/// The message encoding and the schema encoding of JSON.
pub(crate) const JSON: (&str, &str) = ("json", "jsonschema");

/// The column of messages without a usable schema.
const TEXT: &str = "json";

/// Reads JSON messages.
#[derive(Debug)]
pub(crate) struct JsonReader {
    struct_type: StructType,
    /// The same type; `None` if messages are stored as text.
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
                let fields = vec![(TEXT.to_owned(), ValueType::Text)];
                Self { struct_type: StructType { type_name, fields }, named_type: None }
            }
        }
    }

    /// Uses `types` for integers.
    pub(crate) fn with_types(mut self, types: &IntegerTypes) -> Self {
        if self.named_type.is_some() {
            range::apply(types, &mut self.struct_type);
            self.named_type = Some(NamedType::from_struct(&self.struct_type));
        }
        self
    }

    /// Returns true if the type has integers, whose range is unknown.
    pub(crate) fn has_integers(&self) -> bool {
        self.named_type.is_some()
            && self.struct_type.fields.iter().any(|(_, of)| has_integers(of))
    }

    pub(crate) fn struct_type(&self) -> &StructType {
        &self.struct_type
    }

    /// Reads `payload`, and records the ranges of its integers in `ranges`.
    fn read_object(
        &self,
        payload: &[u8],
        row: &mut Branch,
        max_record_len: u64,
        mut ranges: Option<&mut Ranges>,
    ) -> Option<RowSummary> {
        let struct_type = self.named_type.as_ref()?;
        let before = row.len();
        let reading = ReadState::new(max_record_len, ranges.as_deref_mut());
        reading.read(payload, struct_type, row).or_else(|| {
            let quoted = numbers::quote_special_values(payload)?;
            row.truncate(before);
            ReadState::new(max_record_len, ranges).read(&quoted, struct_type, row)
        })
    }
}

impl TreeReader for JsonReader {
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        max_record_len: u64,
    ) -> Option<RowSummary> {
        if self.named_type.is_none() {
            row.field(0)?.push(Scalar::Bytes(payload))?;
            row.close();
            return Some(RowSummary::default());
        }
        self.read_object(payload, row, max_record_len, None)
    }
}

/// The maximum number of list elements that are examined for the ranges of integers.
const MAX_EXAMINED: u64 = 1 << 20;

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
        let _ = reader.read_object(payload, row, MAX_EXAMINED, Some(ranges));
        row.truncate(0);
    }

    /// Returns the types that hold the integers and differ from the types implied by
    /// the schema.
    pub(crate) fn types(&self) -> IntegerTypes {
        self.ranges.types(&self.reader.struct_type)
    }
}

fn has_integers(struct_type: &ValueType) -> bool {
    match struct_type {
        ValueType::I64 | ValueType::U64 => true,
        ValueType::Struct(inner) => inner.fields.iter().any(|(_, of)| has_integers(of)),
        ValueType::List(item) => has_integers(item),
        _ => false,
    }
}
