//! The fields of a message as a list of steps, so that the layout is not inspected for each
//! message.

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
};

use crate::definition::ros2::marker::{AddedFields, added_after, is_marker};

/// The maximum number of steps of a program.
const MAX_STEPS: u32 = 1 << 20;

/// The type with an additional field in ROS 1, and that field.
const HEADER: (&str, &str) = ("std_msgs/Header", "seq");

/// The steps that translate a message.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Numbers of `size` bytes, aligned to it; at least one.
    Numbers { size: u32, count: u32 },
    /// A `u32`, then this many numbers of `size` bytes.
    NumberList { size: u32 },
    /// A time of ROS 1, or a duration if it is signed.
    Time { is_signed: bool },
    /// A string.
    Text,
    /// Repeats the following steps, up to the step `end`.
    Repeat { times: Repetition, end: usize },
    /// A number of 4 bytes that CDR lacks.
    Seq,
    /// A byte that exists in CDR only.
    Dummy,
    /// A string that CDR lacks.
    AbsentText,
    /// A list of strings that CDR lacks.
    AbsentTexts,
    /// A string that exists in CDR only; it is empty when converted from ROS 1.
    AddedText,
    /// This number of `u32` that exist in CDR only. They are 0 when converted from ROS 1.
    AddedNumbers(u32),
    /// A list that exists in CDR only. An element is `numbers` numbers of `size` bytes. The list is
    /// empty when converted from ROS 1.
    AddedList { size: u32, numbers: u32 },
    /// The level of a log message; the two versions use different numbers.
    LogLevel,
}

/// The levels of log messages in ROS 1 and in ROS 2: debug, info, warning, error, fatal.
pub(super) const LOG_LEVELS: [(u8, u8); 5] =
    [(1, 10), (2, 20), (4, 30), (8, 40), (16, 50)];

/// The number of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// A fixed number.
    Fixed(u32),
    /// The value of the preceding `u32`.
    Listed,
}

/// The state of the compilation.
struct Compiler {
    ops: Vec<Op>,
    steps: u32,
    /// Numbers from this step on are not merged with those before.
    border: usize,
    is_of_ros1: bool,
    /// Whether types in CDR have the fields that ROS 2 adds.
    has_added: bool,
}

impl Program {
    pub(super) fn compile(
        layout: &Layout,
        is_of_ros1: bool,
        has_added: bool,
    ) -> Result<Self> {
        let (ops, steps, border) = (Vec::new(), 0, 0);
        let mut compiler = Compiler { ops, steps, border, is_of_ros1, has_added };
        compiler.layout(layout)?;
        Ok(Self { ops: compiler.ops })
    }

    /// Returns the steps from `rosgraph_msgs/Log` to `rcl_interfaces/Log`, in the order of the
    /// fields.
    pub(super) fn for_log_messages() -> Self {
        let header = [Op::Seq, Op::Time { is_signed: false }, Op::AbsentText];
        let strings = [Op::Text; 4]; // the name, the message, the file and the function
        let line = Op::Numbers { size: 4, count: 1 };
        let rest = [&strings[..], &[line, Op::AbsentTexts]].concat();
        Self { ops: [&header[..], &[Op::LogLevel], &rest].concat() }
    }
}

// Layouts are nested at most 64 levels deep, so that these functions may be recursive.
impl Compiler {
    fn layout(&mut self, layout: &Layout) -> Result<()> {
        self.step(&layout.name)?;
        if layout.fields.is_empty() {
            self.ops.push(Op::Dummy);
        }
        let names = layout.fields.iter().map(|field| field.name.as_str());
        let is_marker = self.has_added && is_marker(&layout.name, names);
        for (index, field) in layout.fields.iter().enumerate() {
            let is_seq = self.is_of_ros1 && index == 0 && is_seq(layout, field);
            match is_seq {
                true => self.ops.push(Op::Seq),
                false => self.field(field, &layout.name)?,
            }
            if let Some(added) = added_after(&field.name).filter(|_| is_marker) {
                self.ops.extend_from_slice(ops_of(added));
                self.border = self.ops.len();
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &LayoutField, type_name: &str) -> Result<()> {
        self.step(type_name)?;
        match (&field.kind, field.count) {
            (_, Some(0)) => {}
            (LayoutKind::Primitive(one), count) => {
                self.numbers(one.size(), count.unwrap_or(1));
            }
            (kind, None) => self.kind(kind, type_name)?,
            (kind, Some(count)) => {
                self.repeat(Repetition::Fixed(count), kind, type_name)?
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: &LayoutKind, type_name: &str) -> Result<()> {
        self.step(type_name)?;
        match kind {
            LayoutKind::Primitive(one) => self.numbers(one.size(), 1),
            LayoutKind::Timestamp | LayoutKind::Duration if self.is_of_ros1 => {
                let is_signed = *kind == LayoutKind::Duration;
                self.ops.push(Op::Time { is_signed });
            }
            LayoutKind::Timestamp
            | LayoutKind::SignedTimestamp
            | LayoutKind::Duration => {
                self.numbers(4, 2);
            }
            LayoutKind::Nested(layout) => self.layout(layout)?,
            LayoutKind::Text => self.ops.push(Op::Text),
            LayoutKind::Bytes => self.ops.push(Op::NumberList { size: 1 }),
            LayoutKind::List(element) => match &**element {
                LayoutKind::Primitive(one) => {
                    self.ops.push(Op::NumberList { size: one.size() });
                }
                element => self.repeat(Repetition::Listed, element, type_name)?,
            },
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        times: Repetition,
        kind: &LayoutKind,
        type_name: &str,
    ) -> Result<()> {
        let start = self.ops.len();
        self.ops.push(Op::Repeat { times, end: start });
        self.border = self.ops.len();
        self.kind(kind, type_name)?;
        let end = self.ops.len();
        self.border = end;
        if end == start + 1 && times != Repetition::Listed {
            // No bytes, several times.
            self.ops.truncate(start);
        } else if let Some(Op::Repeat { end: place, .. }) = self.ops.get_mut(start) {
            *place = end;
        }
        Ok(())
    }

    fn numbers(&mut self, size: u32, count_added: u32) {
        let is_open = self.ops.len() > self.border;
        if let Some(Op::Numbers { size: last_size, count }) = self.ops.last_mut()
            && is_open
            && *last_size == size
            && let Some(sum) = count.checked_add(count_added)
        {
            *count = sum;
        } else {
            self.ops.push(Op::Numbers { size, count: count_added });
        }
    }

    fn step(&mut self, type_name: &str) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let message = format!("the type {type_name:?} has too many parts");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }
}

/// Returns the steps for the fields of a marker that ROS 2 adds.
fn ops_of(added: AddedFields) -> &'static [Op] {
    const BYTES: Op = Op::AddedList { size: 1, numbers: 1 };
    match added {
        // The resource; the time, the frame, the format and the bytes of the image; coordinates.
        AddedFields::Texture => &[
            Op::AddedText,
            Op::AddedNumbers(2),
            Op::AddedText,
            Op::AddedText,
            BYTES,
            Op::AddedList { size: 4, numbers: 2 },
        ],
        // The name and the bytes.
        AddedFields::MeshFile => &[Op::AddedText, BYTES],
    }
}

/// Returns whether `field`, the first of `layout`, exists in ROS 1 only.
fn is_seq(layout: &Layout, field: &LayoutField) -> bool {
    let is_u32 = field.kind == LayoutKind::Primitive(Primitive::U32);
    (layout.name.as_str(), field.name.as_str()) == HEADER
        && is_u32
        && field.count.is_none()
        && field.role == FieldRole::Plain
        && layout.fields.len() > 1
}
