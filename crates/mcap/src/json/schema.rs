//! From a JSON schema to a shape.

use logtool_core::{Shape, StructShape};

use crate::json::node::Node;

/// Schemas are looked at no deeper.
const MAX_DEPTH: u32 = 32;

/// So many schemas are looked at: references may be many times what is written.
const MAX_LOOKS: u32 = 1 << 14;

/// What the objects look like that `schema` describes; nothing if it describes none.
pub(super) fn shape(schema: &Node) -> Option<StructShape> {
    let mut looking = Looking { root: schema, looks: 0 };
    match looking.shape(schema, 0) {
        Shape::Struct(shape) => Some(shape),
        _ => None,
    }
}

struct Looking<'s> {
    root: &'s Node,
    looks: u32,
}

impl<'s> Looking<'s> {
    /// Returns the shape of the values that `schema` describes: text where it allows more
    /// than one type.
    fn shape(&mut self, schema: &'s Node, depth: u32) -> Shape {
        self.looks += 1;
        if depth > MAX_DEPTH || self.looks > MAX_LOOKS {
            return Shape::Text;
        }
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            let found = self.root.pointer(pointer);
            return found.map_or(Shape::Text, |schema| self.shape(schema, depth + 1));
        }
        match kind(schema) {
            Some("boolean") => Shape::Bool,
            Some("integer") if is_unsigned(schema) => Shape::U64,
            Some("integer") => Shape::I64,
            Some("number") => Shape::F64,
            Some("object") => self.object(schema, depth),
            Some("array") => match schema.get("items") {
                Some(items @ Node::Object(_)) => {
                    Shape::List(Box::new(self.shape(items, depth + 1)))
                }
                _ => Shape::Text,
            },
            None if schema.get("type").is_none() => match only_alternative(schema) {
                Some(schema) => self.shape(schema, depth + 1),
                None => Shape::Text,
            },
            _ => Shape::Text,
        }
    }

    fn object(&mut self, schema: &'s Node, depth: u32) -> Shape {
        let Some(Node::Object(properties)) = schema.get("properties") else {
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

/// Returns the one type that `schema` declares, where `null` does not count.
fn kind(schema: &Node) -> Option<&str> {
    match schema.get("type")? {
        Node::Text(one) => Some(one),
        Node::Array(several) => {
            let mut several = several.iter().filter_map(Node::as_str);
            let one = several.find(|one| *one != "null")?;
            several.all(|other| other == "null").then_some(one)
        }
        _ => None,
    }
}

/// Returns the one alternative of `schema` that is not `null`, if there is only one:
/// `anyOf [number, null]` is a number that may be missing.
fn only_alternative(schema: &Node) -> Option<&Node> {
    let keywords = ["anyOf", "oneOf", "allOf"].into_iter();
    let lists = keywords.filter_map(|keyword| schema.get(keyword)?.elements());
    let mut alternatives = lists.flatten().filter(|one| kind(one) != Some("null"));
    let one = alternatives.next()?;
    alternatives.next().is_none().then_some(one)
}

/// Whether `schema`, which describes integers, declares that they need 64 bits without a
/// sign.
fn is_unsigned(schema: &Node) -> bool {
    let is_named = schema.get("format").and_then(Node::as_str) == Some("uint64");
    let is_large = |bound: &Node| matches!(bound, Node::Integer(value) if *value > i64::MAX.into());
    let mut bounds = ["maximum", "exclusiveMaximum"].into_iter();
    is_named || bounds.any(|bound| schema.get(bound).is_some_and(is_large))
}
