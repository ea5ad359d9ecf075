//! The conversion of a payload as a list of steps, compiled together with its message type.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
    TrailingBytes, UniqueNames,
};

use crate::names::type_name;

/// The maximum number of fields in all types together.
const MAX_FIELDS: usize = 1 << 18;

/// The separator between two types.
const SEPARATOR: [char; 80] = ['='; 80];

/// The steps that convert a payload to a message.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Whether a payload may end before padding after the last field, or continue after it.
    pub(super) is_open: bool,
}

/// The handling of the next bytes of a payload. Each step consumes at least a byte.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// This number of bytes is copied.
    Copy(usize),
    /// This number of bytes is skipped.
    Skip(usize),
    /// This number of bytes are bools.
    Booleans(usize),
    /// This number of bytes is a string.
    Chars(usize),
    /// This number of repetitions of other steps.
    Each(u32, Vec<Step>),
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
    names: UniqueNames,
    /// The texts of nested types, after their names.
    strings: Vec<(String, String)>,
    /// Compiled types by their addresses: they are shared.
    programs: HashMap<*const Layout, (String, Vec<Step>)>,
    fields: usize,
}

/// Compiles the program for `layout`, with types in `package`.
pub(super) fn compile(layout: &Layout, package: &str) -> Result<CompiledMessage> {
    if !layout.is_fixed() {
        let message = format!("the type {:?} has no fixed size", layout.name);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let (names, strings, programs) =
        (UniqueNames::default(), Vec::new(), HashMap::new());
    let mut compiler = Compiler { package, names, strings, programs, fields: 0 };
    let (type_name, steps) = compiler.message(layout)?;
    let root = compiler.strings.pop().unwrap_or_default();
    let mut text = root.1;
    for (name, fields) in compiler.strings {
        let line: String = SEPARATOR.iter().collect();
        text.push_str(&format!("{line}\nMSG: {name}\n{fields}"));
    }
    let is_open = layout.record_properties.trailing_bytes == TrailingBytes::Any;
    Ok(CompiledMessage {
        type_name,
        text,
        program: Arc::new(Program { steps, is_open }),
    })
}

// Layouts are nested at most 64 levels deep, so that these functions may be recursive.
impl Compiler<'_> {
    fn message(&mut self, layout: &Layout) -> Result<(String, Vec<Step>)> {
        if let Some(program) = self.programs.get(&std::ptr::from_ref(layout)) {
            return Ok(program.clone());
        }
        let name = self.names.make_unique(&type_name(&layout.name));
        let type_name = format!("{}/{name}", self.package);
        let (mut steps, mut text) = (Vec::new(), String::new());
        let mut names = UniqueNames::default();
        for field in &layout.fields {
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                let message = format!("the type {:?} has too many parts", layout.name);
                return Err(Error::new(ErrorKind::Limit, message));
            }
            if field.role == FieldRole::Hidden || !field.has_columns() {
                let size = field.size().ok_or_else(|| unsupported(layout, field))?;
                add(&mut steps, Step::Skip(size as usize));
                continue;
            }
            let kind = self.field(layout, field, &mut steps)?;
            text.push_str(&format!("{kind} {}\n", names.make_unique(&field.name)));
        }
        self.strings.push((type_name.clone(), text));
        let program = (type_name, steps);
        self.programs.insert(std::ptr::from_ref(layout), program.clone());
        Ok(program)
    }

    /// Adds the steps for a field, and returns its type.
    fn field(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        steps: &mut Vec<Step>,
    ) -> Result<String> {
        let count = field.count.unwrap_or(1);
        let element = match &field.kind {
            LayoutKind::Primitive(Primitive::Char) => {
                add(steps, Step::Chars(count as usize));
                return Ok("string".to_owned());
            }
            LayoutKind::Primitive(primitive) => {
                let size = (primitive.size() as usize).saturating_mul(count as usize);
                add(
                    steps,
                    match primitive {
                        Primitive::Bool => Step::Booleans(size),
                        _ => Step::Copy(size),
                    },
                );
                primitive_name(*primitive).to_owned()
            }
            LayoutKind::Nested(inner) => {
                let (type_name, inner) = self.message(inner)?;
                match (&inner[..], count) {
                    ([Step::Copy(size)], count) => {
                        add(steps, Step::Copy(size.saturating_mul(count as usize)));
                    }
                    (_, 1) => inner.into_iter().for_each(|step| add(steps, step)),
                    _ => steps.push(Step::Each(count, inner)),
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

/// Adds a step, or merges it with the last one if that does the same.
fn add(steps: &mut Vec<Step>, step: Step) {
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
        "the field {:?} of {:?} has a type that ROS lacks",
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
