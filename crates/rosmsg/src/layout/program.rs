//! The conversion of a payload as a list of steps, compiled together with its message type.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
    TrailingBytes, UniqueNames,
};

use crate::names::type_name;

/// The maximum number of fields in all types together.
const MAX_FIELDS: usize = 1 << 18;

/// The steps that convert a payload to a message.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// What may follow the last field of a payload.
    pub(super) trailing_bytes: TrailingBytes,
}

/// The handling of the next bytes of a payload. Each step consumes at least one byte.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Copies this number of bytes.
    Copy(usize),
    /// Skips this number of bytes.
    Skip(usize),
    /// Converts this number of bools, of one byte each.
    Booleans(usize),
    /// Converts this number of characters to a string.
    Chars(usize),
    /// Repeats other steps this number of times.
    Repeat(u32, Vec<Step>),
}

/// A program, and the type of its messages.
pub(super) struct CompiledMessage {
    pub(super) type_name: String,
    /// The definition of the type.
    pub(super) text: String,
    pub(super) program: Arc<Program>,
}

/// The state of the compilation.
struct Compiler<'p> {
    package: &'p str,
    type_names: UniqueNames,
    /// The name and the definition of each compiled type.
    definitions: Vec<(String, String)>,
    /// The name and the steps of compiled types, by the address of their layout: types that are
    /// used several times share one layout.
    compiled: HashMap<*const Layout, (String, Vec<Step>)>,
    field_count: usize,
}

/// Compiles the program for `layout`, with types in `package`.
pub(super) fn compile(layout: &Layout, package: &str) -> Result<CompiledMessage> {
    if !layout.is_fixed() {
        let message = format!("the type {:?} has no fixed size", layout.name);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut compiler = Compiler {
        package,
        type_names: UniqueNames::default(),
        definitions: Vec::new(),
        compiled: HashMap::new(),
        field_count: 0,
    };
    let (type_name, steps) = compiler.message(layout)?;
    // The type itself is compiled after the types of its fields, but comes first in the text.
    let (_, mut text) = compiler.definitions.pop().unwrap_or_default();
    for (name, fields) in compiler.definitions {
        let separator = "=".repeat(80);
        text.push_str(&format!("{separator}\nMSG: {name}\n{fields}"));
    }
    let trailing_bytes = layout.record_properties.trailing_bytes;
    Ok(CompiledMessage {
        type_name,
        text,
        program: Arc::new(Program { steps, trailing_bytes }),
    })
}

// Layouts are nested at most 64 levels deep, so that these functions may be recursive.
impl Compiler<'_> {
    /// Compiles a type, and returns its name and its steps.
    fn message(&mut self, layout: &Layout) -> Result<(String, Vec<Step>)> {
        if let Some(compiled) = self.compiled.get(&std::ptr::from_ref(layout)) {
            return Ok(compiled.clone());
        }
        let name = self.type_names.make_unique(&type_name(&layout.name));
        let type_name = format!("{}/{name}", self.package);
        let (mut steps, mut text) = (Vec::new(), String::new());
        let mut field_names = UniqueNames::default();
        for field in &layout.fields {
            self.field_count += 1;
            if self.field_count > MAX_FIELDS {
                let message = format!(
                    "the message type has over {MAX_FIELDS} fields, counted up to its \
                     nested type {:?}",
                    layout.name
                );
                return Err(Error::new(ErrorKind::Limit, message));
            }
            let size = field.size().ok_or_else(|| unsupported(layout, field))?;
            // Values without bytes could be repeated billions of times.
            if field.role == FieldRole::Hidden || !field.has_columns() || size == 0 {
                push_step(&mut steps, Step::Skip(size as usize));
                continue;
            }
            let kind = self.field(layout, field, &mut steps)?;
            text.push_str(&format!(
                "{kind} {}\n",
                field_names.make_unique(&field.name)
            ));
        }
        self.definitions.push((type_name.clone(), text));
        let compiled = (type_name, steps);
        self.compiled.insert(std::ptr::from_ref(layout), compiled.clone());
        Ok(compiled)
    }

    /// Adds the steps for a field, and returns the type of the field in the definition.
    fn field(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        steps: &mut Vec<Step>,
    ) -> Result<String> {
        let count = field.count.unwrap_or(1);
        let element = match &field.kind {
            LayoutKind::Primitive(Primitive::Char) => {
                push_step(steps, Step::Chars(count as usize));
                return Ok("string".to_owned());
            }
            LayoutKind::Primitive(primitive) => {
                let size = (primitive.size() as usize).saturating_mul(count as usize);
                let step = match primitive {
                    Primitive::Bool => Step::Booleans(size),
                    _ => Step::Copy(size),
                };
                push_step(steps, step);
                primitive_name(*primitive).to_owned()
            }
            LayoutKind::Nested(inner) => {
                let (type_name, inner_steps) = self.message(inner)?;
                match (&inner_steps[..], count) {
                    ([Step::Copy(size)], count) => {
                        let size = size.saturating_mul(count as usize);
                        push_step(steps, Step::Copy(size));
                    }
                    (_, 1) => {
                        inner_steps.into_iter().for_each(|step| push_step(steps, step));
                    }
                    _ => steps.push(Step::Repeat(count, inner_steps)),
                }
                type_name
            }
            _ => return Err(unsupported(layout, field)),
        };
        Ok(match field.count {
            None => element,
            Some(count) => format!("{element}[{count}]"),
        })
    }
}

/// Adds a step, or extends the last step if it has the same kind.
fn push_step(steps: &mut Vec<Step>, step: Step) {
    match (steps.last_mut(), step) {
        (_, Step::Copy(0) | Step::Skip(0)) => {}
        (Some(Step::Copy(last)), Step::Copy(more))
        | (Some(Step::Skip(last)), Step::Skip(more))
        | (Some(Step::Booleans(last)), Step::Booleans(more)) => {
            *last = last.saturating_add(more);
        }
        (_, step) => steps.push(step),
    }
}

fn unsupported(layout: &Layout, field: &LayoutField) -> Error {
    let message = format!(
        "the field {:?} of {:?} has a type that ROS 1 lacks",
        field.name, layout.name
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns the name of a primitive type in ROS.
fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::I8 => "int8",
        Primitive::I16 => "int16",
        Primitive::I32 => "int32",
        Primitive::I64 => "int64",
        Primitive::U8 => "uint8",
        Primitive::U16 => "uint16",
        Primitive::U32 => "uint32",
        Primitive::U64 => "uint64",
        Primitive::F32 => "float32",
        Primitive::F64 => "float64",
        Primitive::Bool => "bool",
        Primitive::Char => "string",
    }
}
