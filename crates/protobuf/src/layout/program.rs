//! The conversion of a payload as a list of steps, compiled together with its message type.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
    TrailingBytes, UniqueNames,
};

use crate::{
    descriptor::{Field, Message, kind},
    layout::types::TypeTable,
    wire::{FIXED32, FIXED64, SIZED, VARINT, field_key},
};

/// The maximum number of fields in all types together.
const MAX_FIELDS: usize = 1 << 18;

/// The steps that convert a payload to a message.
#[derive(Debug)]
pub(super) struct Program {
    type_name: String,
    pub(super) steps: Vec<Step>,
    /// What may follow the last field of a payload.
    pub(super) trailing_bytes: TrailingBytes,
}

/// A field of a payload, and its field in the message.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The key of the field in the message.
    pub(super) key: u64,
    pub(super) field_type: FieldType,
    pub(super) repetition: Repetition,
}

/// The type of a field of a payload.
#[derive(Clone, Debug)]
pub(super) enum FieldType {
    /// This number of bytes is skipped.
    Padding(usize),
    Number(Primitive),
    /// A fixed number of characters.
    Chars(usize),
    Text,
    Bytes,
    /// Seconds and nanoseconds, as 32-bit integers.
    Time {
        /// Whether both are signed.
        is_signed: bool,
    },
    Message(Arc<Program>),
}

/// The number of repetitions of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    Once,
    Fixed(u32),
    /// The number is the `u32` before the field.
    CountPrefixed,
}

/// The state of the compilation.
struct Compiler<'t> {
    types: &'t mut TypeTable,
    /// The programs by the addresses of their layouts, because fields share nested layouts.
    programs: HashMap<*const Layout, Arc<Program>>,
    fields: usize,
}

impl Program {
    /// Compiles the program for `layout`, and adds its types to `types`.
    pub(super) fn compile(layout: &Layout, types: &mut TypeTable) -> Result<Arc<Self>> {
        Compiler { types, programs: HashMap::new(), fields: 0 }.message(layout, true)
    }

    /// Returns the name of the message type.
    pub(super) fn type_name(&self) -> &str {
        &self.type_name
    }
}

// Layouts are nested at most 64 levels deep, so that these functions may be recursive.
impl Compiler<'_> {
    fn message(&mut self, layout: &Layout, is_root: bool) -> Result<Arc<Program>> {
        if let Some(program) = self.programs.get(&std::ptr::from_ref(layout)) {
            return Ok(program.clone());
        }
        let type_name = self.types.name(&layout.name);
        let (mut steps, mut fields) = (Vec::new(), Vec::new());
        let mut names = UniqueNames::default();
        for field in &layout.fields {
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                let message = format!("the type {:?} has too many parts", layout.name);
                return Err(Error::new(ErrorKind::Limit, message));
            }
            // Values without bytes could be repeated billions of times.
            let is_shown = field.role != FieldRole::Hidden
                && field.has_columns()
                && field.size() != Some(0);
            if !is_shown {
                steps.extend(skip_hidden(layout, field)?);
                continue;
            }
            let number = number(fields.len());
            let (step, proto_field) = self.field(layout, field, number)?;
            steps.push(step);
            fields.push(Field { name: names.make_unique(&field.name), ..proto_field });
        }
        let name = type_name.clone();
        self.types.add(Message { name, fields, ..Message::default() });
        let trailing_bytes = if is_root {
            layout.record_properties.trailing_bytes
        } else {
            TrailingBytes::Nothing
        };
        let program = Arc::new(Program { type_name, steps, trailing_bytes });
        self.programs.insert(std::ptr::from_ref(layout), program.clone());
        Ok(program)
    }

    fn field(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        number: u32,
    ) -> Result<(Step, Field)> {
        let (element, repetition) = match (&field.kind, field.count) {
            (LayoutKind::Primitive(Primitive::Char), count) => {
                let field_type = FieldType::Chars(count.unwrap_or(1) as usize);
                let step = Step {
                    key: field_key(number, SIZED),
                    field_type,
                    repetition: Repetition::Once,
                };
                return Ok((step, Field::new("", number, kind::STRING)));
            }
            (LayoutKind::List(element), None) => {
                (&**element, Repetition::CountPrefixed)
            }
            (kind, None) => (kind, Repetition::Once),
            (kind, Some(count)) => (kind, Repetition::Fixed(count)),
        };
        let (field_type, proto_field, wire) = match element {
            LayoutKind::Primitive(primitive) => {
                let (kind, wire) = primitive_type(*primitive);
                let wire = if repetition == Repetition::Once { wire } else { SIZED };
                (FieldType::Number(*primitive), Field::new("", number, kind), wire)
            }
            LayoutKind::Text => {
                (FieldType::Text, Field::new("", number, kind::STRING), SIZED)
            }
            LayoutKind::Bytes => {
                (FieldType::Bytes, Field::new("", number, kind::BYTES), SIZED)
            }
            LayoutKind::Timestamp | LayoutKind::SignedTimestamp => {
                let proto_field = Field::new("", number, kind::MESSAGE);
                let proto_field = proto_field.with_type_name(self.types.timestamp());
                let is_signed = *element == LayoutKind::SignedTimestamp;
                (FieldType::Time { is_signed }, proto_field, SIZED)
            }
            LayoutKind::Duration => {
                let proto_field = Field::new("", number, kind::MESSAGE);
                let proto_field = proto_field.with_type_name(self.types.duration());
                (FieldType::Time { is_signed: true }, proto_field, SIZED)
            }
            LayoutKind::Nested(inner) => {
                let program = self.message(inner, false)?;
                let name = format!(".{}", self.types.full_name(&program.type_name));
                let proto_field =
                    Field::new("", number, kind::MESSAGE).with_type_name(&name);
                (FieldType::Message(program), proto_field, SIZED)
            }
            LayoutKind::List(_) => return Err(unsupported(layout, field)),
        };
        let proto_field = if repetition == Repetition::Once {
            proto_field
        } else {
            proto_field.as_repeated()
        };
        Ok((Step { key: field_key(number, wire), field_type, repetition }, proto_field))
    }
}

/// Returns the number of the field with the index `index`. The reserved numbers from 19,000 to
/// 19,999 are skipped.
fn number(index: usize) -> u32 {
    const RESERVED: u32 = 19_000;
    let number = index as u32 + 1;
    if number < RESERVED { number } else { number + 1_000 }
}

/// Returns the step that skips a hidden field.
fn skip_hidden(layout: &Layout, field: &LayoutField) -> Result<Option<Step>> {
    if field.count == Some(0) {
        return Ok(None);
    }
    let size = field.size().filter(|_| field.is_fixed());
    let size = size.ok_or_else(|| unsupported(layout, field))? as usize;
    let field_type = FieldType::Padding(size);
    Ok((size > 0).then_some(Step { key: 0, field_type, repetition: Repetition::Once }))
}

fn unsupported(layout: &Layout, field: &LayoutField) -> Error {
    let message = format!(
        "the field {:?} of {:?} has a type that protocol buffers lack",
        field.name, layout.name
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns the protobuf type of a number, and its wire type.
fn primitive_type(primitive: Primitive) -> (u32, u32) {
    match primitive {
        Primitive::I8 | Primitive::I16 | Primitive::I32 => (kind::INT32, VARINT),
        Primitive::U8 | Primitive::U16 | Primitive::U32 => (kind::UINT32, VARINT),
        Primitive::I64 => (kind::INT64, VARINT),
        Primitive::U64 => (kind::UINT64, VARINT),
        Primitive::F32 => (kind::FLOAT, FIXED32),
        Primitive::F64 => (kind::DOUBLE, FIXED64),
        Primitive::Bool => (kind::BOOL, VARINT),
        Primitive::Char => (kind::STRING, SIZED),
    }
}
