//! Compiling a layout to a list of steps, so that it is not inspected for each message.

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
};

use crate::definition::ros2::marker::{AddedFields, added_after, is_marker};

/// The maximum number of parts of a type: nested types, fields and elements.
const MAX_PARTS: u32 = 1 << 20;

/// The type with an additional first field in ROS 1, and that field.
const HEADER: (&str, &str) = ("std_msgs/Header", "seq");

/// The steps that translate a message.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
}

/// The messages that a program converts between the encoding of ROS 1 and CDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Messages with a layout of ROS 1.
    Ros1,
    /// Messages with a layout of ROS 1, to which CDR adds fields.
    Ros1WithAddedFields,
    /// Messages with a layout of ROS 2.
    Ros2,
}

/// The conversion of one field, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A fixed number of numbers of `size` bytes, to which they are aligned; at least one.
    Numbers { size: u32, count: u32 },
    /// A `u32`, which is the count of the following numbers of `size` bytes.
    NumberList { size: u32 },
    /// A time of ROS 1, or a duration if it is signed.
    Time { is_signed: bool },
    /// A string.
    Text,
    /// Repeats the following steps, up to the step `end`.
    Repeat { times: Repetition, end: usize },
    /// The sequence number of a header, which CDR lacks.
    Seq,
    /// The byte of a type without fields, which exists in CDR only.
    Dummy,
    /// A string that CDR lacks. It is empty when converted from CDR.
    AbsentText,
    /// A list of strings that CDR lacks. It is empty when converted from CDR.
    AbsentTexts,
    /// A string that exists in CDR only. It is empty when converted from ROS 1.
    AddedText,
    /// This number of `u32` that exist in CDR only. They are 0 when converted from ROS 1.
    AddedNumbers(u32),
    /// A list that exists in CDR only. Each element consists of `numbers` numbers of `size` bytes.
    /// The list is empty when converted from ROS 1.
    AddedList { size: u32, numbers: u32 },
    /// The level of a log message: see [`LOG_LEVELS`].
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
    conversion: Conversion,
    steps: Vec<Step>,
    /// The number of compiled types, fields and elements.
    part_count: u32,
    /// Numbers are not merged with steps before this index.
    merge_start: usize,
}

impl Program {
    pub(super) fn compile(layout: &Layout, conversion: Conversion) -> Result<Self> {
        let (steps, part_count, merge_start) = (Vec::new(), 0, 0);
        let mut compiler = Compiler { conversion, steps, part_count, merge_start };
        compiler.layout(layout)?;
        Ok(Self { steps: compiler.steps })
    }

    /// Returns the steps from `rosgraph_msgs/Log` to `rcl_interfaces/Log`, in the order of the
    /// fields.
    pub(super) fn for_log_messages() -> Self {
        let header = [Step::Seq, Step::Time { is_signed: false }, Step::AbsentText];
        let strings = [Step::Text; 4]; // the name, the message, the file and the function
        let line = Step::Numbers { size: 4, count: 1 };
        let line_and_topics = [line, Step::AbsentTexts];
        Self {
            steps: [&header[..], &[Step::LogLevel], &strings, &line_and_topics]
                .concat(),
        }
    }
}

// Layouts are nested at most 64 levels deep, so that these functions may be recursive.
impl Compiler {
    fn layout(&mut self, layout: &Layout) -> Result<()> {
        self.count_part(&layout.name)?;
        if layout.fields.is_empty() {
            self.steps.push(Step::Dummy);
        }
        let names = layout.fields.iter().map(|field| field.name.as_str());
        let has_added_fields = self.conversion == Conversion::Ros1WithAddedFields
            && is_marker(&layout.name, names);
        for (index, field) in layout.fields.iter().enumerate() {
            if index == 0 && self.is_ros1() && is_seq(layout, field) {
                self.steps.push(Step::Seq);
            } else {
                self.field(field, &layout.name)?;
            }
            if has_added_fields && let Some(added) = added_after(&field.name) {
                self.steps.extend_from_slice(added_steps(added));
                self.merge_start = self.steps.len();
            }
        }
        Ok(())
    }

    /// Returns whether the layout is one of ROS 1.
    fn is_ros1(&self) -> bool {
        self.conversion != Conversion::Ros2
    }

    fn field(&mut self, field: &LayoutField, type_name: &str) -> Result<()> {
        self.count_part(type_name)?;
        match (&field.kind, field.count) {
            (_, Some(0)) => {}
            (LayoutKind::Primitive(number), count) => {
                self.numbers(number.size(), count.unwrap_or(1));
            }
            (kind, None) => self.kind(kind, type_name)?,
            (kind, Some(count)) => {
                self.repeat(Repetition::Fixed(count), kind, type_name)?
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: &LayoutKind, type_name: &str) -> Result<()> {
        self.count_part(type_name)?;
        match kind {
            LayoutKind::Primitive(number) => self.numbers(number.size(), 1),
            LayoutKind::Timestamp | LayoutKind::Duration if self.is_ros1() => {
                let is_signed = *kind == LayoutKind::Duration;
                self.steps.push(Step::Time { is_signed });
            }
            LayoutKind::Timestamp
            | LayoutKind::SignedTimestamp
            | LayoutKind::Duration => {
                // The seconds and the nanoseconds are the same in both encodings.
                self.numbers(4, 2);
            }
            LayoutKind::Nested(layout) => self.layout(layout)?,
            LayoutKind::Text => self.steps.push(Step::Text),
            LayoutKind::Bytes => self.steps.push(Step::NumberList { size: 1 }),
            LayoutKind::List(element) => match &**element {
                LayoutKind::Primitive(number) => {
                    self.steps.push(Step::NumberList { size: number.size() });
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
        let start = self.steps.len();
        // The end is set after the element is compiled.
        self.steps.push(Step::Repeat { times, end: start });
        self.merge_start = self.steps.len();
        self.kind(kind, type_name)?;
        let element_end = self.steps.len();
        self.merge_start = element_end;
        if element_end == start + 1 && times != Repetition::Listed {
            // The elements have no bytes.
            self.steps.truncate(start);
        } else if let Some(Step::Repeat { end, .. }) = self.steps.get_mut(start) {
            *end = element_end;
        }
        Ok(())
    }

    /// Adds `added_count` numbers of `size` bytes, if possible to the last step.
    fn numbers(&mut self, size: u32, added_count: u32) {
        let can_merge = self.steps.len() > self.merge_start;
        if let Some(Step::Numbers { size: last_size, count }) = self.steps.last_mut()
            && can_merge
            && *last_size == size
            && let Some(sum) = count.checked_add(added_count)
        {
            *count = sum;
        } else {
            self.steps.push(Step::Numbers { size, count: added_count });
        }
    }

    /// Counts a part of the type `type_name`.
    fn count_part(&mut self, type_name: &str) -> Result<()> {
        self.part_count += 1;
        if self.part_count > MAX_PARTS {
            let message = format!(
                "the message type has over {MAX_PARTS} parts, counted up to its nested \
                 type {type_name:?}"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }
}

/// Returns the steps for the fields that ROS 2 adds to a marker.
fn added_steps(added: AddedFields) -> &'static [Step] {
    const BYTES: Step = Step::AddedList { size: 1, numbers: 1 };
    match added {
        // The resource; the stamp, the frame, the format and the data of the image; the
        // coordinates.
        AddedFields::Texture => &[
            Step::AddedText,
            Step::AddedNumbers(2),
            Step::AddedText,
            Step::AddedText,
            BYTES,
            Step::AddedList { size: 4, numbers: 2 },
        ],
        // The name and the data of the file.
        AddedFields::MeshFile => &[Step::AddedText, BYTES],
    }
}

/// Returns whether `field`, the first of `layout`, is the sequence number of a header, which exists
/// in ROS 1 only.
fn is_seq(layout: &Layout, field: &LayoutField) -> bool {
    let is_u32 = field.kind == LayoutKind::Primitive(Primitive::U32);
    (layout.name.as_str(), field.name.as_str()) == HEADER
        && is_u32
        && field.count.is_none()
        && field.role == FieldRole::Plain
        && layout.fields.len() > 1
}
