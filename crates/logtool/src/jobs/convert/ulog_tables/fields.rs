//! A field of a ULog format, and the values of its column.

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray as _};
use arrow_schema::{DataType, TimeUnit};

use crate::records::message_text;

/// A field, and the column that it is made of.
pub(super) struct TableField {
    pub(super) name: String,
    /// The name of the field with the number of elements, if lengths vary.
    pub(super) count_name: Option<String>,
    /// The name of the column, for messages.
    pub(super) column: String,
    /// The path from the table to the values.
    pub(super) path: Vec<Step>,
    pub(super) kind: FieldKind,
}

/// A step from a column to the values in it.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// To the child of a struct, or to the column of a table.
    Child(usize),
    /// To an element of an array of fixed length.
    Element(usize),
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum FieldKind {
    Number(Number),
    Array(Number, usize),
    /// A list, whose longest value has been measured.
    List(Number, usize),
    /// A string, whose longest value has been measured.
    Text(usize),
}

/// A basic type of ULog.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) bytes: usize,
}

impl Number {
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        let (name, bytes) = match data_type {
            DataType::Boolean => ("bool", 1),
            DataType::Int8 => ("int8_t", 1),
            DataType::Int16 => ("int16_t", 2),
            DataType::Int32 => ("int32_t", 4),
            DataType::Int64 => ("int64_t", 8),
            DataType::UInt8 => ("uint8_t", 1),
            DataType::UInt16 => ("uint16_t", 2),
            DataType::UInt32 => ("uint32_t", 4),
            DataType::UInt64 => ("uint64_t", 8),
            DataType::Float32 => ("float", 4),
            DataType::Float64 => ("double", 8),
            // Nanoseconds.
            DataType::Timestamp(TimeUnit::Nanosecond, _)
            | DataType::Duration(TimeUnit::Nanosecond) => ("int64_t", 8),
            _ => return None,
        };
        Some(Self { name, bytes })
    }
}

impl TableField {
    /// Returns the number of bytes in a record.
    pub(super) fn bytes(&self) -> usize {
        match self.kind {
            FieldKind::Number(number) => number.bytes,
            FieldKind::Array(number, len) => number.bytes.saturating_mul(len),
            FieldKind::List(number, len) => 4 + number.bytes * len,
            FieldKind::Text(len) => len,
        }
    }

    pub(super) fn format(&self) -> String {
        let name = &self.name;
        match self.kind {
            FieldKind::Number(number) => format!("{} {name};", number.name),
            FieldKind::Array(number, len) => format!("{}[{len}] {name};", number.name),
            FieldKind::List(number, len) => {
                let count = self.count_name.as_deref().unwrap_or_default();
                format!("uint32_t {count};{}[{len}] {name};", number.name)
            }
            FieldKind::Text(len) => format!("char[{len}] {name};"),
        }
    }
}

/// The values of a field in a batch.
pub(super) struct Values {
    /// The arrays on the path, each with its step.
    pub(super) path: Vec<(ArrayRef, Step)>,
    pub(super) values: ArrayRef,
}

impl Values {
    pub(super) fn new(field: &TableField, batch: &RecordBatch) -> Option<Self> {
        let (Step::Child(first), rest) = field.path.split_first()? else { return None };
        let mut values = batch.columns().get(*first)?.clone();
        let mut path = Vec::new();
        for step in rest {
            let next = match step {
                Step::Child(index) => {
                    values.as_struct_opt()?.columns().get(*index)?.clone()
                }
                Step::Element(_) => values.as_fixed_size_list_opt()?.values().clone(),
            };
            path.push((values, *step));
            values = next;
        }
        if matches!(field.kind, FieldKind::Text(_)) {
            values = std::sync::Arc::new(message_text::strings(&values)?);
        }
        Some(Self { path, values })
    }

    /// Returns the index of the value of `row`, unless it is missing.
    pub(super) fn index(&self, row: usize) -> Option<usize> {
        let mut index = row;
        for (array, step) in &self.path {
            if array.is_null(index) {
                return None;
            }
            if let Step::Element(element) = step {
                let start = array.as_fixed_size_list_opt()?.value_offset(index);
                index = usize::try_from(start).ok()? + element;
            }
        }
        self.values.is_valid(index).then_some(index)
    }

    /// Returns the length of the string or the list of `row`.
    pub(super) fn len(&self, row: usize) -> Option<usize> {
        let index = self.index(row)?;
        match self.values.data_type() {
            DataType::List(_) => {
                let len = self.values.as_list_opt::<i32>()?.value_length(index);
                usize::try_from(len).ok()
            }
            _ => Some(self.values.as_string_opt::<i32>()?.value(index).len()),
        }
    }
}
