//! From a JSON schema to a shape.

use logtool_core::{Shape, StructShape};
use serde_json::Value;

/// Schemas are looked at no deeper.
const MAX_DEPTH: u32 = 32;

/// So many schemas are looked at: references may be many times what is written.
const MAX_LOOKS: u32 = 1 << 14;

/// What the objects look like that `schema` describes; nothing if it describes none.
pub(super) fn shape(schema: &Value) -> Option<StructShape> {
    let mut looking = Looking { root: schema, looks: 0 };
    match looking.shape(schema, 0) {
        Shape::Struct(shape) => Some(shape),
        _ => None,
    }
}

struct Looking<'s> {
    root: &'s Value,
    looks: u32,
}

impl Looking<'_> {
    /// What `schema` describes; what is of no one type is text.
    fn shape(&mut self, schema: &Value, depth: u32) -> Shape {
        self.looks += 1;
        if depth > MAX_DEPTH || self.looks > MAX_LOOKS {
            return Shape::Text;
        }
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let place = reference.strip_prefix('#').unwrap_or_default();
            let found = self.root.pointer(place).filter(|_| !place.is_empty());
            let found = found.cloned();
            return found.map_or(Shape::Text, |schema| self.shape(&schema, depth + 1));
        }
        match kind(schema) {
            Some("boolean") => Shape::Bool,
            Some("integer") => Shape::I64,
            Some("number") => Shape::F64,
            Some("object") => self.object(schema, depth),
            Some("array") => match schema.get("items") {
                Some(items @ Value::Object(_)) => {
                    Shape::List(Box::new(self.shape(items, depth + 1)))
                }
                _ => Shape::Text,
            },
            _ => Shape::Text,
        }
    }

    fn object(&mut self, schema: &Value, depth: u32) -> Shape {
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Shape::Text;
        };
        let fields = properties.iter();
        let fields = fields.map(|(name, of)| (name.clone(), self.shape(of, depth + 1)));
        let fields: Vec<_> = fields.collect();
        match fields.is_empty() {
            true => Shape::Text,
            false => Shape::Struct(StructShape { type_name: String::new(), fields }),
        }
    }
}

/// The one type that `schema` says, `null` beside it not counting.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(one) => Some(one),
        Value::Array(several) => {
            let mut several = several.iter().filter_map(Value::as_str);
            let one = several.find(|one| *one != "null")?;
            several.all(|other| other == "null").then_some(one)
        }
        _ => None,
    }
}
