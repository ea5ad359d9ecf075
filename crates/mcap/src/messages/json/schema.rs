//! Converts a JSON schema to a type.

use logtool_core::{StructType, ValueType};

use crate::messages::json::node::Node;

/// The maximum depth of a schema.
const MAX_DEPTH: u32 = 32;

/// The maximum number of nodes that are visited. It is needed because references can
/// multiply the size of a schema.
const MAX_NODES: u32 = 1 << 14;

/// Returns the type of the objects that `schema` describes, or `None` if it does not
/// describe objects.
pub(super) fn object_type(schema: &Node) -> Option<StructType> {
    let mut reader = SchemaReader { root: schema, visited_nodes: 0 };
    match reader.value_type(schema, 0) {
        ValueType::Struct(object) => Some(object),
        _ => None,
    }
}

struct SchemaReader<'s> {
    root: &'s Node,
    visited_nodes: u32,
}

impl<'s> SchemaReader<'s> {
    /// Returns the type of the values that `schema` describes. It is text if the schema
    /// allows several types, or describes a type that columns do not have.
    fn value_type(&mut self, schema: &'s Node, depth: u32) -> ValueType {
        self.visited_nodes += 1;
        if depth > MAX_DEPTH || self.visited_nodes > MAX_NODES {
            return ValueType::Text;
        }
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            let definition = self.root.pointer(pointer);
            return definition
                .map_or(ValueType::Text, |schema| self.value_type(schema, depth + 1));
        }
        match only_type(schema) {
            Some("boolean") => ValueType::Bool,
            Some("integer") if is_unsigned(schema) => ValueType::U64,
            Some("integer") => ValueType::I64,
            Some("number") => ValueType::F64,
            Some("object") => self.object_type(schema, depth),
            Some("array") => match schema.get("items") {
                Some(items @ Node::Object(_)) => {
                    ValueType::List(Box::new(self.value_type(items, depth + 1)))
                }
                _ => ValueType::Text,
            },
            None if schema.get("type").is_none() => match only_alternative(schema) {
                Some(schema) => self.value_type(schema, depth + 1),
                None => ValueType::Text,
            },
            _ => ValueType::Text,
        }
    }

    /// Returns the type of the objects that `schema` describes.
    fn object_type(&mut self, schema: &'s Node, depth: u32) -> ValueType {
        let Some(Node::Object(properties)) = schema.get("properties") else {
            return ValueType::Text;
        };
        let fields = properties.iter();
        let fields = fields.map(|(name, field_schema)| {
            (name.clone(), self.value_type(field_schema, depth + 1))
        });
        let fields: Vec<_> = fields.collect();
        if fields.is_empty() {
            ValueType::Text
        } else {
            ValueType::Struct(StructType { type_name: String::new(), fields })
        }
    }
}

/// Returns the type that `schema` declares, apart from `null`, if there is only one.
fn only_type(schema: &Node) -> Option<&str> {
    match schema.get("type")? {
        Node::Text(type_name) => Some(type_name),
        Node::Array(types) => {
            let mut types = types.iter().filter_map(Node::as_str);
            let type_name = types.find(|type_name| *type_name != "null")?;
            types.all(|other| other == "null").then_some(type_name)
        }
        _ => None,
    }
}

/// Returns the alternative of `schema` that is not `null`, if there is only one. For
/// example, `anyOf [number, null]` is an optional number.
fn only_alternative(schema: &Node) -> Option<&Node> {
    let keywords = ["anyOf", "oneOf", "allOf"].into_iter();
    let lists = keywords.filter_map(|keyword| schema.get(keyword)?.elements());
    let mut alternatives =
        lists.flatten().filter(|alternative| only_type(alternative) != Some("null"));
    let alternative = alternatives.next()?;
    alternatives.next().is_none().then_some(alternative)
}

/// Returns true if `schema`, which describes integers, declares that they need 64 bits
/// without a sign.
fn is_unsigned(schema: &Node) -> bool {
    let has_unsigned_format =
        schema.get("format").and_then(Node::as_str) == Some("uint64");
    let exceeds_i64 = |bound: &Node| matches!(bound, Node::Integer(value) if *value > i64::MAX.into());
    let mut keywords = ["maximum", "exclusiveMaximum"].into_iter();
    has_unsigned_format
        || keywords.any(|keyword| schema.get(keyword).is_some_and(exceeds_i64))
}
