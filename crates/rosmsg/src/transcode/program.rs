//! What a message is made of, as a list of steps: nothing of the layout is looked at once
//! messages come.

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
};

/// So many steps may be taken to make a program.
const MAX_STEPS: u32 = 1 << 20;

/// The type that has a field more in ROS 1 than in ROS 2, and that field.
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
    /// A `u32`, then as many numbers of `size` bytes.
    NumberList { size: u32 },
    /// A time, or a duration if it has a sign, of ROS 1.
    Time { is_signed: bool },
    /// A text.
    Text,
    /// What follows, up to the step `end`, as often as `times` says.
    Repeat { times: Times, end: usize },
    /// A number of 4 bytes that is not there in CDR.
    Seq,
    /// A byte that is only there in CDR.
    Dummy,
    /// A text that is not there in CDR.
    AbsentText,
    /// A list of texts that is not there in CDR.
    AbsentTexts,
    /// The level of a log message, which the two versions number differently.
    LogLevel,
}

/// The levels of log messages in ROS 1 and in ROS 2: debug, info, warning, error, fatal.
pub(super) const LOG_LEVELS: [(u8, u8); 5] =
    [(1, 10), (2, 20), (4, 30), (8, 40), (16, 50)];

/// How often something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// In every message as often.
    Fixed(u32),
    /// As often as the `u32` before it says.
    Listed,
}

/// A program that is being made.
struct Making {
    ops: Vec<Op>,
    steps: u32,
    /// Numbers are not joined to those before this step.
    border: usize,
    is_of_ros1: bool,
}

impl Program {
    pub(super) fn compile(layout: &Layout, is_of_ros1: bool) -> Result<Self> {
        let mut making = Making { ops: Vec::new(), steps: 0, border: 0, is_of_ros1 };
        making.layout(layout)?;
        Ok(Self { ops: making.ops })
    }

    /// The steps from `rosgraph_msgs/Log` to `rcl_interfaces/Log`, in the order of the fields.
    pub(super) fn of_logs() -> Self {
        let header = [Op::Seq, Op::Time { is_signed: false }, Op::AbsentText];
        let texts = [Op::Text; 4]; // the name, the message, the file and the function
        let line = Op::Numbers { size: 4, count: 1 };
        let rest = [&texts[..], &[line, Op::AbsentTexts]].concat();
        Self { ops: [&header[..], &[Op::LogLevel], &rest].concat() }
    }
}

// Layouts are at most 64 deep in each other, so that these may call each other.
impl Making {
    fn layout(&mut self, layout: &Layout) -> Result<()> {
        self.step(&layout.name)?;
        if layout.fields.is_empty() {
            self.ops.push(Op::Dummy);
        }
        for (index, field) in layout.fields.iter().enumerate() {
            let is_seq = self.is_of_ros1 && index == 0 && is_seq(layout, field);
            match is_seq {
                true => self.ops.push(Op::Seq),
                false => self.field(field, &layout.name)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &LayoutField, of: &str) -> Result<()> {
        self.step(of)?;
        match (&field.kind, field.count) {
            (_, Some(0)) => {}
            (LayoutKind::Primitive(one), count) => {
                self.numbers(one.size(), count.unwrap_or(1));
            }
            (kind, None) => self.kind(kind, of)?,
            (kind, Some(count)) => self.repeat(Times::Fixed(count), kind, of)?,
        }
        Ok(())
    }

    fn kind(&mut self, kind: &LayoutKind, of: &str) -> Result<()> {
        self.step(of)?;
        match kind {
            LayoutKind::Primitive(one) => self.numbers(one.size(), 1),
            LayoutKind::Stamp | LayoutKind::Span if self.is_of_ros1 => {
                let is_signed = *kind == LayoutKind::Span;
                self.ops.push(Op::Time { is_signed });
            }
            LayoutKind::Stamp | LayoutKind::SignedStamp | LayoutKind::Span => {
                self.numbers(4, 2);
            }
            LayoutKind::Nested(layout) => self.layout(layout)?,
            LayoutKind::Text => self.ops.push(Op::Text),
            LayoutKind::Bytes => self.ops.push(Op::NumberList { size: 1 }),
            LayoutKind::List(element) => match &**element {
                LayoutKind::Primitive(one) => {
                    self.ops.push(Op::NumberList { size: one.size() });
                }
                element => self.repeat(Times::Listed, element, of)?,
            },
        }
        Ok(())
    }

    fn repeat(&mut self, times: Times, kind: &LayoutKind, of: &str) -> Result<()> {
        let start = self.ops.len();
        self.ops.push(Op::Repeat { times, end: start });
        self.border = self.ops.len();
        self.kind(kind, of)?;
        let end = self.ops.len();
        self.border = end;
        if end == start + 1 && times != Times::Listed {
            // Nothing, several times.
            self.ops.truncate(start);
        } else if let Some(Op::Repeat { end: place, .. }) = self.ops.get_mut(start) {
            *place = end;
        }
        Ok(())
    }

    fn numbers(&mut self, size: u32, more: u32) {
        let is_open = self.ops.len() > self.border;
        if let Some(Op::Numbers { size: same, count }) = self.ops.last_mut()
            && is_open
            && *same == size
            && let Some(sum) = count.checked_add(more)
        {
            *count = sum;
        } else {
            self.ops.push(Op::Numbers { size, count: more });
        }
    }

    fn step(&mut self, of: &str) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = format!("the type {of:?} is made of too many parts");
            return Err(Error::new(ErrorKind::Limit, what));
        }
        Ok(())
    }
}

/// Whether `field`, the first of `layout`, is there in ROS 1 only.
fn is_seq(layout: &Layout, field: &LayoutField) -> bool {
    let is_u32 = field.kind == LayoutKind::Primitive(Primitive::U32);
    (layout.name.as_str(), field.name.as_str()) == HEADER
        && is_u32
        && field.count.is_none()
        && field.role == FieldRole::Plain
        && layout.fields.len() > 1
}
