//! Messages in JSON, as columns: as far as their schema says what they are, or else as the
//! text that they are.

mod schema;
#[cfg(test)]
mod tests;

use logtool_core::{Branch, Scalar, Shape, StructShape, TreeReader};
use serde_json::Value;

/// The encoding of such messages, and that of their schemas.
pub(crate) const JSON: (&str, &str) = ("json", "jsonschema");

/// The column of messages of which nothing more is known.
const TEXT: &str = "json";

/// Reads messages.
#[derive(Debug)]
pub(crate) struct JsonReader {
    shape: StructShape,
    /// Whether messages are kept as texts.
    is_text: bool,
}

impl JsonReader {
    /// A reader of messages that `schema` describes.
    pub(crate) fn new(type_name: &str, schema: &str) -> Self {
        let told = serde_json::from_str(schema).ok();
        let told = told.and_then(|told| schema::shape(&told));
        let shape =
            told.filter(|shape| !shape.fields.is_empty() && shape.check().is_ok());
        match shape {
            Some(shape) => {
                let type_name = type_name.to_owned();
                Self { shape: StructShape { type_name, ..shape }, is_text: false }
            }
            None => {
                let fields = vec![(TEXT.to_owned(), Shape::Text)];
                let shape = StructShape { type_name: type_name.to_owned(), fields };
                Self { shape, is_text: true }
            }
        }
    }

    pub(crate) fn shape(&self) -> &StructShape {
        &self.shape
    }
}

impl TreeReader for JsonReader {
    fn read(&mut self, payload: &[u8], row: &mut Branch, most: u64) -> Option<u64> {
        let mut added = 0;
        if self.is_text {
            row.field(0)?.push(Scalar::Bytes(payload))?;
            row.close();
            return Some(added);
        }
        let value: Value = serde_json::from_slice(payload).ok()?;
        put_fields(&self.shape, &value, row, &mut added, most)?;
        Some(added)
    }
}

/// Adds the fields that `value` has of `shape` to `row`, and closes it. Shapes are no deeper
/// in each other than is checked.
fn put_fields(
    shape: &StructShape,
    value: &Value,
    row: &mut Branch,
    added: &mut u64,
    most: u64,
) -> Option<()> {
    let told = value.as_object()?;
    row.open();
    for (index, (name, shape)) in shape.fields.iter().enumerate() {
        let value = told.get(name).unwrap_or(&Value::Null);
        put(shape, value, row.field(index)?, added, most)?;
    }
    row.close();
    Some(())
}

fn put(
    shape: &Shape,
    value: &Value,
    branch: &mut Branch,
    added: &mut u64,
    most: u64,
) -> Option<()> {
    match (shape, value) {
        (_, Value::Null) => branch.push_null(),
        (Shape::Bool, Value::Bool(value)) => branch.push(Scalar::Bool(*value))?,
        (Shape::I64, value) => branch.push(Scalar::Int(integer(value)?))?,
        (Shape::F64, value) => branch.push(Scalar::F64(value.as_f64()?))?,
        (Shape::Text, Value::String(text)) => {
            branch.push(Scalar::Bytes(text.as_bytes()))?;
        }
        // What is of no one type is the text that it is.
        (Shape::Text, value) => {
            branch.push(Scalar::Bytes(value.to_string().as_bytes()))?;
        }
        (Shape::Struct(inner), value) => put_fields(inner, value, branch, added, most)?,
        (Shape::List(item), Value::Array(values)) => {
            branch.open();
            for value in values {
                *added += item.width() as u64;
                (*added <= most).then_some(())?;
                put(item, value, branch.item()?, added, most)?;
            }
            branch.close();
        }
        _ => return None,
    }
    Some(())
}

/// A whole number, also one that is written as `2.0`.
fn integer(value: &Value) -> Option<i64> {
    let float = || {
        let value = value.as_f64()?;
        let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
        is_whole.then_some(value as i64)
    };
    value.as_i64().or_else(float)
}
