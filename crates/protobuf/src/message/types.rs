//! Resolving descriptors to the tables for decoding messages.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, MAX_STRUCT_FIELDS, Result, StructType, ValueType,
};

use crate::{
    descriptor::{Field, FileSet, Message, kind},
    well_known_types::{DURATION, TIMESTAMP},
};

/// The maximum nesting depth of types.
const MAX_DEPTH: usize = 48;

/// A message type.
#[derive(Debug)]
pub(super) struct MessageType {
    /// The fields, in the order of their numbers.
    pub(super) fields: Vec<TypeField>,
}

impl MessageType {
    /// Returns the index of the field with this number.
    pub(super) fn index(&self, number: u32) -> Option<usize> {
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }

    /// Returns whether it has a field with this number.
    pub(super) fn has_field(&self, number: u32) -> bool {
        self.index(number).is_some()
    }
}

/// A field of a type.
#[derive(Debug)]
pub(super) struct TypeField {
    pub(super) number: u32,
    /// The index of the field in the shape.
    pub(super) index: usize,
    pub(super) take: FieldKind,
    pub(super) is_repeated: bool,
    /// Whether an absent value is 0 or empty instead of null.
    pub(super) has_default: bool,
    /// The indices of the other fields of its oneof, which this field clears.
    pub(super) other_oneof_fields: Vec<usize>,
    /// The number of values that one element adds.
    pub(super) width: u64,
}

/// The type of a field.
#[derive(Debug)]
pub(super) enum FieldKind {
    /// One of the [kinds](kind) other than messages.
    Scalar(u32),
    /// Seconds and nanoseconds.
    Time,
    Message(Arc<MessageType>),
}

/// The messages of a set by their full names.
struct MessageIndex<'f> {
    messages: HashMap<String, &'f Message>,
    /// The number of fields that were resolved.
    fields: usize,
}

/// Resolves the type `name` of `files`, and its shape.
pub(super) fn resolve(
    files: &FileSet,
    name: &str,
) -> Result<(StructType, Arc<MessageType>)> {
    let mut names = MessageIndex { messages: HashMap::new(), fields: 0 };
    for file in &files.files {
        let start = with_leading_dot(&file.package);
        file.messages.iter().for_each(|message| names.collect_names(&start, message));
    }
    names.resolve(&with_leading_dot(name), &mut Vec::new())
}

/// Returns `.name`, or an empty string for an empty name.
fn with_leading_dot(name: &str) -> String {
    match name.is_empty() || name.starts_with('.') {
        true => name.to_owned(),
        false => format!(".{name}"),
    }
}

// Both functions recurse as deep as descriptors or types are nested.
impl<'f> MessageIndex<'f> {
    fn collect_names(&mut self, start: &str, message: &'f Message) {
        let name = format!("{start}.{}", message.name);
        message.messages.iter().for_each(|inner| self.collect_names(&name, inner));
        self.messages.insert(name, message);
    }

    fn resolve(
        &mut self,
        name: &str,
        enclosing: &mut Vec<String>,
    ) -> Result<(StructType, Arc<MessageType>)> {
        let display_name = name.trim_start_matches('.');
        if enclosing.iter().any(|outer| outer == name) {
            return Err(unsupported(format!(
                "the type {display_name:?} contains itself, which is not supported"
            )));
        }
        if enclosing.len() >= MAX_DEPTH {
            let message = format!(
                "the type {display_name:?} is nested over {MAX_DEPTH} levels deep"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let Some(message) = self.messages.get(name).copied() else {
            let message = format!("the type {display_name:?} is not in the schema");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        enclosing.push(name.to_owned());
        let (mut shapes, mut fields) = (Vec::new(), Vec::new());
        for (index, field) in message.fields.iter().enumerate() {
            self.fields += 1;
            if self.fields > MAX_STRUCT_FIELDS {
                let message = format!(
                    "the type {display_name:?} has over {MAX_STRUCT_FIELDS} fields"
                );
                return Err(Error::new(ErrorKind::Limit, message));
            }
            let (value_type, take) = self.field(field, enclosing)?;
            let width = value_type.min_values() as u64;
            let is_scalar = matches!(take, FieldKind::Scalar(_));
            let value_type = if field.is_repeated {
                ValueType::List(Box::new(value_type))
            } else {
                value_type
            };
            shapes.push((field.name.clone(), value_type));
            fields.push(TypeField {
                number: field.number,
                index,
                take,
                is_repeated: field.is_repeated,
                has_default: is_scalar && !field.is_optional && field.oneof.is_none(),
                other_oneof_fields: other_oneof_fields(message, index),
                width,
            });
        }
        enclosing.pop();
        fields.sort_by_key(|field| field.number);
        let value_type =
            StructType { type_name: display_name.to_owned(), fields: shapes };
        Ok((value_type, Arc::new(MessageType { fields })))
    }

    fn field(
        &mut self,
        field: &Field,
        enclosing: &mut Vec<String>,
    ) -> Result<(ValueType, FieldKind)> {
        let value_type = match field.kind {
            kind::MESSAGE => {
                let name = with_leading_dot(&field.type_name);
                return Ok(match name.as_str() {
                    TIMESTAMP => (ValueType::Timestamp, FieldKind::Time),
                    DURATION => (ValueType::Duration, FieldKind::Time),
                    name => {
                        let (value_type, inner) = self.resolve(name, enclosing)?;
                        (ValueType::Struct(value_type), FieldKind::Message(inner))
                    }
                });
            }
            kind::DOUBLE => ValueType::F64,
            kind::FLOAT => ValueType::F32,
            kind::INT64 | kind::SFIXED64 | kind::SINT64 => ValueType::I64,
            kind::UINT64 | kind::FIXED64 => ValueType::U64,
            kind::INT32 | kind::SFIXED32 | kind::SINT32 | kind::ENUM => ValueType::I32,
            kind::UINT32 | kind::FIXED32 => ValueType::U32,
            kind::BOOL => ValueType::Bool,
            kind::STRING => ValueType::Text,
            kind::BYTES => ValueType::Bytes,
            _ => {
                let message = format!(
                    "the field {:?} is a group, which is not supported",
                    field.name
                );
                return Err(unsupported(message));
            }
        };
        Ok((value_type, FieldKind::Scalar(field.kind)))
    }
}

/// Returns the other fields of the oneof of the field with the index `index`.
fn other_oneof_fields(message: &Message, index: usize) -> Vec<usize> {
    let oneof = message.fields.get(index).and_then(|field| field.oneof);
    let same = |field: &Field| field.oneof == oneof;
    let fields_of_oneof = message.fields.iter().enumerate();
    let fields_of_oneof =
        fields_of_oneof.filter(|(other, field)| *other != index && same(field));
    if oneof.is_none() {
        Vec::new()
    } else {
        fields_of_oneof.map(|(other, _)| other).collect()
    }
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
