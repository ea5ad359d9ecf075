//! Message definitions as they are stored in bags.
//!
//! ```text
//! # a comment
//! Header header                        a type of std_msgs
//! geometry_msgs/Vector3[] points       a list of a type that is defined below
//! float64[9] covariance                an array
//! uint8 RED=1                          a constant
//! string NOTE=anything # this is part of the value
//! ================================================================================
//! MSG: geometry_msgs/Vector3
//! float64 x
//! ```
//! (ROS wiki, "msg".) ROS requires 80 `=`, `\n` and blanks; fewer `=`, `\r\n` and tabs occur in
//! some bags, and are accepted. So are hexadecimal constants and the bounds of ROS 2 (`int32[<=3]`,
//! `string<=10`); a bound does not change the encoding of a message.
//!
//! | type | in a message | column |
//! |---|---|---|
//! | `bool` `int8` … `uint64` `float32` `float64` | the value, little-endian | the same type |
//! | `byte`, `char` | `int8`, `uint8` | `int8`, `uint8` |
//! | `string` | `u32` length, bytes | text |
//! | `time`, `duration` | seconds, nanoseconds, each of 4 bytes | ns |
//! | `T[n]` | n elements | list of fixed length |
//! | `T[]` | `u32` count, elements | list |
//! | `uint8[]`, `char[]` | `u32` length, bytes | bytes |

mod builtin_definitions;
mod labels;
mod layout;
mod line;
mod md5;
mod ros1;
pub(crate) mod ros2;
mod scope;
mod text;

use std::sync::Arc;

use logtool_core::{Columns, Error, ErrorKind, Labels, Layout, LayoutDecoder, Result};

use crate::definition::{
    line::{Constant, Field},
    scope::Scope,
};

/// The definition of a message type, and of the types of its fields.
///
/// ```
/// use logtool_rosmsg::Definition;
///
/// let text = "Header header\nint8 status\nint8 STATUS_NO_FIX=-1\n\
///             ===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id";
/// let definition = Definition::parse("my_msgs/Fix", text)?;
/// assert_eq!(definition.layout()?.fields[1].name, "status");
/// let labels = definition.labels();
/// assert_eq!(labels.get("my_msgs/Fix", "status").unwrap()[&-1], "STATUS_NO_FIX");
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The defined type, then the types of its fields, in the order of the text.
    types: Vec<MessageType>,
}

/// A message type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MessageType {
    name: String,
    fields: Vec<Field>,
    constants: Vec<Constant>,
}

impl MessageType {
    /// Returns whether the type has neither fields nor constants.
    fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.constants.is_empty()
    }
}

/// The definition of the messages of a connection, and their layout.
#[derive(Clone, Debug)]
pub struct RecordDefinition {
    /// The best available definition.
    pub definition: Definition,
    /// The layout of the records.
    pub layout: Arc<Layout>,
    /// An anomaly of the definition in the log, e.g. a wrong MD5 sum.
    pub anomaly: Option<String>,
}

impl Definition {
    /// Parses `text`, the definition of `type_name` in the form that bags store.
    ///
    /// # Errors
    ///
    /// `Malformed` if a line cannot be parsed (the message quotes it) or a type has two different
    /// definitions; `Limit` if the text is longer than 4 MiB. Missing types are not an error here;
    /// methods that need them report them.
    pub fn parse(type_name: &str, text: &str) -> Result<Self> {
        Ok(Self { types: text::parse(type_name, text, line::parse)? })
    }

    /// Parses a definition of ROS 2 in the form of rosbag2 (`ros2msg`): that of a message, or of the
    /// service or the action to which the type belongs. Its times become times of ROS 1 with signed
    /// seconds, `byte` is unsigned, and defaults of fields are ignored.
    ///
    /// # Errors
    ///
    /// The errors of [`parse`](Self::parse); `Unsupported` if the text is that of a service or an
    /// action without such a type.
    pub fn parse_ros2(type_name: &str, text: &str) -> Result<Self> {
        let mut types = parse_ros2_types(type_name, text)?;
        ros2::to_ros1_types(&mut types);
        ros2::restore_signs(&mut types);
        Ok(Self { types })
    }

    /// Converts the ROS 2 definition `text` (`ros2msg`) to ROS 1. If ROS 1 has a common type with
    /// the same name and fields, its definition is returned.
    ///
    /// A [`Transcoder::for_ros1_layout`](crate::Transcoder::for_ros1_layout) converts the messages,
    /// unless the type [has fields](Self::has_fields_added_in_ros2) that ROS 1 lacks.
    ///
    /// # Errors
    ///
    /// The errors of [`parse`](Self::parse) and [`layout`](Self::layout); `Unsupported` if there
    /// is a `wstring`.
    pub fn ros1_from_ros2(type_name: &str, text: &str) -> Result<Self> {
        let mut types = parse_ros2_types(type_name, text)?;
        ros2::to_ros1_types(&mut types);
        ros2::rename_unique_ids(&mut types);
        ros2::remove_added_fields(&mut types);
        if let Some(time) = types.first().and_then(ros2::ros1_time_message) {
            return builtin_definition(time);
        }
        let converted = Self { types: ros1::from_ros2_types(&types)? };
        let layout = converted.layout()?;
        if converted.name() == ros2::LOG.1 && layout == Self::ros2_log()?.layout()? {
            return builtin_definition(ros2::LOG.0);
        }
        let has_same_fields = |common: &Self| {
            common.layout().is_ok_and(|common_layout| common_layout == layout)
        };
        Ok(builtin_definitions::by_name(converted.name())
            .filter(has_same_fields)
            .unwrap_or(converted))
    }

    /// Returns whether the ROS 2 definition `text` has fields that
    /// [`ros1_from_ros2`](Self::ros1_from_ros2) drops. A
    /// [`Transcoder::for_ros1_layout_with_added_fields`] converts such messages.
    ///
    /// [`Transcoder::for_ros1_layout_with_added_fields`]:
    ///     crate::Transcoder::for_ros1_layout_with_added_fields
    ///
    /// # Errors
    ///
    /// The errors of [`parse`](Self::parse).
    pub fn has_fields_added_in_ros2(type_name: &str, text: &str) -> Result<bool> {
        let types = parse_ros2_types(type_name, text)?;
        Ok(ros2::type_with_added_fields(&types).is_some())
    }

    /// Returns the definition of `rcl_interfaces/Log` with the times of ROS 1.
    fn ros2_log() -> Result<Self> {
        let mut types = text::parse(ros2::LOG.1, ros2::LOG_TEXT, line::parse_ros2)?;
        ros2::to_ros1_types(&mut types);
        Ok(Self { types: ros1::from_ros2_types(&types)? })
    }

    /// Returns the name of the type, e.g. `sensor_msgs/Imu`.
    pub fn name(&self) -> &str {
        self.types.first().map_or("", |message_type| &message_type.name)
    }

    /// Returns the name of the type in ROS 2, e.g. `sensor_msgs/msg/Imu`.
    pub fn ros2_name(&self) -> String {
        let name = ros2::full_name(&self.types);
        if self.is_log() { "rcl_interfaces/msg/Log".to_owned() } else { name }
    }

    /// Returns whether this is the `rosgraph_msgs/Log` of ROS 1, which has other fields and
    /// levels in ROS 2.
    pub fn is_log(&self) -> bool {
        let log_layout = || builtin_definitions::by_name(ros2::LOG.0)?.layout().ok();
        self.name() == ros2::LOG.0 && self.layout().ok() == log_layout()
    }

    /// Returns the ROS 2 form (`ros2msg`) of a definition that was parsed as one of ROS 1.
    ///
    /// # Errors
    ///
    /// `Malformed` if a type is missing, or contains itself.
    pub fn ros2_text(&self) -> Result<String> {
        if self.is_log() {
            return Ok(ros2::LOG_TEXT.to_owned());
        }
        ros2::text(&self.types)
    }

    /// Returns the definition of a common type by its MD5 sum, with the name `type_name`, for bags
    /// without definitions.
    ///
    /// The common types are those of the packages `std_msgs`, `geometry_msgs`, `sensor_msgs`,
    /// `nav_msgs`, `tf2_msgs`, `diagnostic_msgs`, `visualization_msgs`, `rosgraph_msgs`,
    /// `actionlib_msgs` and `velodyne_msgs`.
    pub fn by_md5sum(type_name: &str, md5sum: &str) -> Option<Self> {
        builtin_definitions::by_md5sum(type_name, md5sum)
    }

    /// Returns the definition of a common type by its name; see [`by_md5sum`](Self::by_md5sum).
    pub fn by_name(type_name: &str) -> Option<Self> {
        builtin_definitions::by_name(type_name)
    }

    /// Returns the ROS 2 definition (`ros2msg`) of the common type with the ROS 2 name
    /// `type_name`, for files with an empty definition.
    pub fn common_ros2_text(type_name: &str) -> Option<String> {
        let definition =
            builtin_definitions::by_name(&type_name.replacen("/msg/", "/", 1))?;
        (!definition.is_log()).then(|| definition.ros2_text().ok())?
    }

    /// Returns the layout of records of the type.
    ///
    /// # Errors
    ///
    /// `Malformed` if a type is missing, or contains itself; `Unsupported` if there is a
    /// `wstring`; `Limit` if a type is larger than
    /// [`MAX_LAYOUT_BYTES`](logtool_core::MAX_LAYOUT_BYTES).
    pub fn layout(&self) -> Result<Arc<Layout>> {
        layout::compile(&Scope::new(&self.types))
    }

    /// Returns the MD5 sum of the type as computed by ROS, in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// The errors of [`layout`](Self::layout).
    pub fn md5sum(&self) -> Result<String> {
        md5::sum(&Scope::new(&self.types))
    }

    /// Returns the names of field values, from the constants of the types.
    pub fn labels(&self) -> Labels {
        labels::from_types(&self.types)
    }

    /// Returns the text of the definition without comments, with the separators that ROS uses.
    pub fn text(&self) -> String {
        text::write(&self.types)
    }

    /// Returns the names in the definition that ROS 2 does not allow, each with its name in
    /// [`ros2_text`](Self::ros2_text), e.g. `a/B.camelCase → camel_case`. ROS 2 requires lower case
    /// for fields, upper case for constants, and a capital at the start of types.
    pub fn names_changed_for_ros2(&self) -> Vec<String> {
        ros2::names::changed_names(&self.types)
    }

    /// Returns whether the type has neither fields nor constants.
    pub fn is_empty(&self) -> bool {
        self.types.first().is_none_or(MessageType::is_empty)
    }

    /// Returns whether `text` does not define `type_name`: it only has comments, or the name of
    /// the type, which some recorders write instead of the definition. The name may be that of ROS
    /// or of DDS (`pkg::msg::Type`), and may follow `MSG:`.
    pub fn is_missing(type_name: &str, text: &str) -> bool {
        let mut code = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|line| !line.is_empty());
        let short_name =
            |name: &str| name.rsplit(['/', ':']).next().unwrap_or_default().to_owned();
        let is_name = |line: &str| {
            let name = text::type_of_header(line).unwrap_or(line).trim();
            !name.contains(char::is_whitespace)
                && short_name(name) == short_name(type_name)
        };
        code.next().is_none_or(|first| is_name(first) && code.next().is_none())
    }
}

/// Returns the layout of the records of `type_name`, which `text` defines.
///
/// # Errors
///
/// The errors of [`Definition::parse`] and [`Definition::layout`].
pub fn compile(type_name: &str, text: &str) -> Result<Arc<Layout>> {
    Definition::parse(type_name, text)?.layout()
}

/// Returns the MD5 sum of `type_name`, which `text` defines, as computed by ROS.
///
/// # Errors
///
/// The errors of [`Definition::parse`] and [`Definition::md5sum`].
pub fn md5sum(type_name: &str, text: &str) -> Result<String> {
    Definition::parse(type_name, text)?.md5sum()
}

/// Like [`resolve_definition`], but also checks that the records can be decoded to a table, e.g.
/// that they do not have too many columns. The check takes long.
///
/// # Errors
///
/// The reason why the records can be read as raw bytes only.
pub fn resolve_definition_for_table(
    type_name: &str,
    md5sum: &str,
    text: &str,
) -> Result<RecordDefinition> {
    let resolved = resolve_definition(type_name, md5sum, text)?;
    LayoutDecoder::new(&resolved.layout, &Columns::default())?;
    Ok(resolved)
}

/// Determines the definition of the records of a connection from its `type_name`, its `md5sum` and
/// the `text` of its definition.
///
/// Some writers store no text, or that of another type. So the text is used if it has the MD5 sum,
/// or if the sum is unknown (`*`). Otherwise the common type with the sum is used or, if there is
/// none, the text with an anomaly. A text that is empty or cannot be parsed is replaced by the
/// common type with the sum or, if the sum is unknown, by the common type with the name.
///
/// # Errors
///
/// The reason why the records can be read as raw bytes only.
pub fn resolve_definition(
    type_name: &str,
    md5sum: &str,
    text: &str,
) -> Result<RecordDefinition> {
    let is_sum = md5sum.len() == 32 && md5sum.bytes().all(|b| b.is_ascii_hexdigit());
    let parsed = Definition::parse(type_name, text).and_then(|definition| {
        let (sum, layout) = (definition.md5sum()?, definition.layout()?);
        Ok((definition, sum, layout))
    });
    let common_type = |reason: String| -> Option<RecordDefinition> {
        let definition = if is_sum {
            Definition::by_md5sum(type_name, md5sum)?
        } else {
            builtin_definitions::by_name(type_name)?
        };
        let layout = definition.layout().ok()?;
        Some(RecordDefinition { definition, layout, anomaly: Some(reason) })
    };
    match parsed {
        Ok((definition, sum, layout)) if sum.eq_ignore_ascii_case(md5sum) => {
            Ok(RecordDefinition { definition, layout, anomaly: None })
        }
        Ok((definition, _, _)) if definition.is_empty() => {
            common_type("the definition is empty; the common type is used".into())
                .ok_or_else(|| malformed("the definition is empty"))
        }
        Ok((definition, sum, layout)) => {
            let reason = format!("the definition has the MD5 sum {sum}, not {md5sum}");
            if !is_sum {
                return Ok(RecordDefinition { definition, layout, anomaly: None });
            }
            let common = common_type(format!("{reason}; the common type is used"));
            Ok(common.unwrap_or(RecordDefinition {
                definition,
                layout,
                anomaly: Some(reason),
            }))
        }
        Err(err) => common_type(format!("{err}; the common type is used")).ok_or(err),
    }
}

/// Parses the types of a ROS 2 definition. It may be the text of the service or the action to which
/// the type belongs.
fn parse_ros2_types(type_name: &str, text: &str) -> Result<Vec<MessageType>> {
    let of_interface = ros2::interfaces::definition(type_name, text)?;
    let text = of_interface.as_deref().unwrap_or(text);
    text::parse(type_name, text, line::parse_ros2)
}

fn builtin_definition(type_name: &str) -> Result<Definition> {
    builtin_definitions::by_name(type_name)
        .ok_or_else(|| malformed(format!("there is no built-in type {type_name:?}")))
}

fn malformed(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

#[cfg(test)]
mod tests;
