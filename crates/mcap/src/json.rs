//! Messages in JSON, as columns: as far as their schema says what they are, or else as the
//! text that they are.

mod numbers;
mod schema;
#[cfg(test)]
mod tests;

use logtool_core::{Added, Branch, Scalar, Shape, StructShape, TreeReader};
use serde_json::{Map, Value};

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
    fn read(&mut self, payload: &[u8], row: &mut Branch, most: u64) -> Option<Added> {
        if self.is_text {
            row.field(0)?.push(Scalar::Bytes(payload))?;
            row.close();
            return Some(Added::default());
        }
        let value: Value = match serde_json::from_slice(payload) {
            Ok(value) => value,
            Err(_) => serde_json::from_slice(&numbers::as_texts(payload)?).ok()?,
        };
        let mut putting = Putting { added: Added::default(), most };
        putting.fields(&self.shape, value.as_object()?, row)?;
        Some(putting.added)
    }
}

/// Puts values into branches. Shapes are no deeper in each other than is checked.
struct Putting {
    added: Added,
    most: u64,
}

impl Putting {
    /// Adds the fields that `told` has of `shape` to `row`, and closes it.
    fn fields(
        &mut self,
        shape: &StructShape,
        told: &Map<String, Value>,
        row: &mut Branch,
    ) -> Option<()> {
        row.open();
        for (index, (name, shape)) in shape.fields.iter().enumerate() {
            let value = told.get(name).unwrap_or(&Value::Null);
            self.value(shape, value, row.field(index)?)?;
        }
        row.close();
        Some(())
    }

    /// Adds `value` to `branch`: null, and counted, where it is not of `shape`. Nothing if
    /// there is no room.
    fn value(
        &mut self,
        shape: &Shape,
        value: &Value,
        branch: &mut Branch,
    ) -> Option<()> {
        let scalar = match (shape, value) {
            (_, Value::Null) => {
                branch.push_null();
                return Some(());
            }
            (Shape::Struct(inner), Value::Object(told)) => {
                return self.fields(inner, told, branch);
            }
            (Shape::List(item), Value::Array(values)) => {
                branch.open();
                for value in values {
                    self.added.items += item.width() as u64;
                    (self.added.items <= self.most).then_some(())?;
                    self.value(item, value, branch.item()?)?;
                }
                branch.close();
                return Some(());
            }
            (Shape::Text, Value::String(text)) => {
                return branch.push(Scalar::Bytes(text.as_bytes()));
            }
            // What is of no one type is the text that it is.
            (Shape::Text, value) => {
                return branch.push(Scalar::Bytes(value.to_string().as_bytes()));
            }
            (Shape::Bool, Value::Bool(value)) => Some(Scalar::Bool(*value)),
            (Shape::I64, value) => integer(value).map(Scalar::Int),
            (Shape::F64, value) => numbers::number(value).map(Scalar::F64),
            _ => None,
        };
        match scalar {
            Some(scalar) => branch.push(scalar),
            None => {
                self.added.misfits += 1;
                branch.push_null();
                Some(())
            }
        }
    }
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
