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
    /// Whether it has oneofs of several fields, or its messages outside lists have some.
    pub(super) has_oneofs: bool,
}

impl MessageType {
    /// Returns the index of the field with this number.
    pub(super) fn index(&self, number: u32) -> Option<usize> {
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }

    /// Returns true if the type has a field with this number.
    pub(super) fn has_field(&self, number: u32) -> bool {
        self.index(number).is_some()
    }
}

/// A field of a type.
#[derive(Debug)]
pub(super) struct TypeField {
    pub(super) number: u32,
    /// The index of the field in the struct type.
    pub(super) index: usize,
    pub(super) kind: FieldKind,
    pub(super) is_repeated: bool,
    /// Whether an absent value is 0 or empty instead of null.
    pub(super) has_default: bool,
    /// The index of its oneof, if that has other fields, which a value of this one clears.
    pub(super) oneof: Option<u32>,
    /// The minimum number of values in one element.
    pub(super) element_values: u64,
}

impl TypeField {
    /// Returns whether the state of oneofs is needed for its values.
    fn has_oneofs(&self) -> bool {
        let is_in_message = match &self.kind {
            FieldKind::Message(inner) => !self.is_repeated && inner.has_oneofs,
            FieldKind::Scalar(_) | FieldKind::Time => false,
        };
        self.oneof.is_some() || is_in_message
    }
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

/// The message types of a set by their full names, which start with a dot.
struct MessageIndex<'f> {
    messages: HashMap<String, &'f Message>,
    /// The number of fields that were resolved.
    fields: usize,
}

/// Resolves the type `name` of `files`. Returns its columns, and the table for decoding it.
pub(super) fn resolve(
    files: &FileSet,
    name: &str,
) -> Result<(StructType, Arc<MessageType>)> {
    let mut index = MessageIndex { messages: HashMap::new(), fields: 0 };
    for file in &files.files {
        let scope = with_leading_dot(&file.package);
        file.messages.iter().for_each(|message| index.add(&scope, message));
    }
    index.resolve(&with_leading_dot(name), &mut Vec::new())
}

/// Returns `.name`, or an empty string for an empty name.
fn with_leading_dot(name: &str) -> String {
    if name.is_empty() || name.starts_with('.') {
        name.to_owned()
    } else {
        format!(".{name}")
    }
}

// The recursion is limited: the depth of descriptors is limited when they are parsed, and the depth
// of types by `MAX_DEPTH`.
impl<'f> MessageIndex<'f> {
    /// Adds `message`, which is declared in `scope`, and the types in it.
    fn add(&mut self, scope: &str, message: &'f Message) {
        let name = format!("{scope}.{}", message.name);
        message.messages.iter().for_each(|inner| self.add(&name, inner));
        self.messages.insert(name, message);
    }

    /// Resolves the type `name`, which is used in the types `enclosing`.
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
        let mut oneof_lens: HashMap<u32, usize> = HashMap::new();
        for oneof in message.fields.iter().filter_map(|field| field.oneof) {
            *oneof_lens.entry(oneof).or_default() += 1;
        }
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for (index, field) in message.fields.iter().enumerate() {
            self.fields += 1;
            if self.fields > MAX_STRUCT_FIELDS {
                let message = format!(
                    "the type {display_name:?} has over {MAX_STRUCT_FIELDS} fields"
                );
                return Err(Error::new(ErrorKind::Limit, message));
            }
            let (value_type, kind) = self.field(field, enclosing)?;
            let element_values = value_type.min_values() as u64;
            let is_scalar = matches!(kind, FieldKind::Scalar(_));
            let value_type = if field.is_repeated {
                ValueType::List(Box::new(value_type))
            } else {
                value_type
            };
            columns.push((field.name.clone(), value_type));
            let has_other_fields = |oneof: &u32| oneof_lens.get(oneof) > Some(&1);
            fields.push(TypeField {
                number: field.number,
                index,
                kind,
                is_repeated: field.is_repeated,
                has_default: is_scalar && !field.is_optional && field.oneof.is_none(),
                oneof: field.oneof.filter(has_other_fields),
                element_values,
            });
        }
        enclosing.pop();
        fields.sort_by_key(|field| field.number);
        let has_oneofs = fields.iter().any(TypeField::has_oneofs);
        let struct_type =
            StructType { type_name: display_name.to_owned(), fields: columns };
        Ok((struct_type, Arc::new(MessageType { fields, has_oneofs })))
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

fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
