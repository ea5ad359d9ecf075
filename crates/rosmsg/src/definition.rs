//! Definitions of messages, as bags have them, and what they say.
//!
//! ```text
//! # a comment
//! Header header                        a type of std_msgs
//! geometry_msgs/Vector3[] points       a list of a type that is defined below
//! float64[9] covariance                an array
//! uint8 RED=1                          a constant
//! string NOTE=anything # even this
//! ================================================================================
//! MSG: geometry_msgs/Vector3
//! float64 x
//! ```
//! (ROS wiki, "msg".) ROS itself insists on 80 `=`, on `\n` and on blanks; bags have
//! less of them, `\r\n` and tabs too. Hexadecimal constants and the bounds of ROS 2
//! (`int32[<=3]`, `string<=10`) occur; a bound changes nothing in how a message is
//! written.
//!
//! | type | in a message | column |
//! |---|---|---|
//! | `bool` `int8` … `uint64` `float32` `float64` | itself, little-endian | itself |
//! | `byte`, `char` | `int8`, `uint8` | `int8`, `uint8` |
//! | `string` | `u32` length, bytes | text |
//! | `time`, `duration` | seconds, nanoseconds, each of 4 bytes | ns |
//! | `T[n]` | n elements | list of fixed length |
//! | `T[]` | `u32` count, elements | list |
//! | `uint8[]`, `char[]` | `u32` length, bytes | bytes |

mod known;
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

/// The definition of a type of messages, and of the types that it is made of.
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
    /// The type itself, then the others in the order of the text.
    types: Vec<MessageType>,
}

/// One type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MessageType {
    name: String,
    fields: Vec<Field>,
    constants: Vec<Constant>,
}

/// What a connection says of its messages, and what is known of them.
#[derive(Clone, Debug)]
pub struct Described {
    /// The definition that fits best.
    pub definition: Definition,
    /// What records look like.
    pub layout: Arc<Layout>,
    /// What is odd about it, as: the MD5 sum is another one.
    pub oddity: Option<String>,
}

impl Definition {
    /// Parses the definition of `type_name`, as a connection has it.
    ///
    /// # Errors
    ///
    /// `Malformed`, with the line, where a line cannot be understood or a type is
    /// defined twice, differently; `Limit` if the text is longer than 4 MiB.
    /// Types that are missing are noticed when they are needed.
    pub fn parse(type_name: &str, text: &str) -> Result<Self> {
        Ok(Self { types: text::parse(type_name, text, line::parse)? })
    }

    /// Parses a definition that is of ROS 2, as rosbag2 has it (`ros2msg`): its times are
    /// as those of ROS 1, its bytes have no sign, and defaults of fields are left out.
    ///
    /// # Errors
    ///
    /// As of [`parse`](Self::parse).
    pub fn parse_ros2(type_name: &str, text: &str) -> Result<Self> {
        let mut types = text::parse(type_name, text, line::parse_ros2)?;
        ros2::understand(&mut types);
        ros2::keep_signs(&mut types);
        Ok(Self { types })
    }

    /// The definition as ROS 1 has it of what ROS 2 defines (`ros2msg`) by `text`: with the
    /// common type of ROS 1 where that has the same name and fields.
    ///
    /// Its messages in CDR become those of ROS 1 by a
    /// [`Transcoder::of_ros1`](crate::Transcoder::of_ros1), unless it
    /// [has fields](Self::has_added_fields) that ROS 1 lacks.
    ///
    /// # Errors
    ///
    /// As of [`parse`](Self::parse) and [`layout`](Self::layout); `Unsupported` where there
    /// is a `wstring`.
    pub fn ros1_from_ros2(type_name: &str, text: &str) -> Result<Self> {
        let mut types = text::parse(type_name, text, line::parse_ros2)?;
        ros2::understand(&mut types);
        ros2::rename_ids(&mut types);
        ros2::remove_added_fields(&mut types);
        if let Some(time) = types.first().and_then(ros2::ros1_time) {
            return known::by_name(time)
                .ok_or_else(|| malformed("no messages of times"));
        }
        let own = Self { types: ros1::rewrite(&types)? };
        let layout = own.layout()?;
        if own.name() == ros2::LOG.1 && layout == Self::ros2_log()?.layout()? {
            return known::by_name(ros2::LOG.0)
                .ok_or_else(|| malformed("no log messages"));
        }
        let is_same = |common: &Self| common.layout().is_ok_and(|of| of == layout);
        Ok(known::by_name(own.name()).filter(is_same).unwrap_or(own))
    }

    /// Returns whether the definition `text` of ROS 2 has the fields that
    /// [`ros1_from_ros2`](Self::ros1_from_ros2) leaves out. Its messages are then those of a
    /// [`Transcoder::to_ros2`](crate::Transcoder::to_ros2).
    ///
    /// # Errors
    ///
    /// As of [`parse`](Self::parse).
    pub fn has_added_fields(type_name: &str, text: &str) -> Result<bool> {
        let types = text::parse(type_name, text, line::parse_ros2)?;
        Ok(ros2::with_added_fields(&types).is_some())
    }

    /// `rcl_interfaces/Log` with the times of ROS 1.
    fn ros2_log() -> Result<Self> {
        let mut types = text::parse(ros2::LOG.1, ros2::LOG_TEXT, line::parse_ros2)?;
        ros2::understand(&mut types);
        Ok(Self { types: ros1::rewrite(&types)? })
    }

    /// What the type is called, as `sensor_msgs/Imu`.
    pub fn name(&self) -> &str {
        self.types.first().map_or("", |of| &of.name)
    }

    /// What ROS 2 calls the type, as `sensor_msgs/msg/Imu`.
    pub fn ros2_name(&self) -> String {
        ros2::name(if self.is_log() { ros2::LOG.1 } else { self.name() })
    }

    /// Whether it is `rosgraph_msgs/Log` as ROS 1 defines it, which has other fields and
    /// levels in ROS 2.
    pub fn is_log(&self) -> bool {
        let common = || known::by_name(ros2::LOG.0)?.layout().ok();
        self.name() == ros2::LOG.0 && self.layout().ok() == common()
    }

    /// The definition as ROS 2 has it (`ros2msg`), of what was parsed as one of ROS 1.
    ///
    /// # Errors
    ///
    /// `Malformed` where a type is missing, or contains itself.
    pub fn ros2_text(&self) -> Result<String> {
        if self.is_log() {
            return Ok(ros2::LOG_TEXT.to_owned());
        }
        ros2::text(&self.types)
    }

    /// The definition of a common type by its MD5 sum, in case a bag has none: of the
    /// packages `std_msgs`, `geometry_msgs`, `sensor_msgs`, `nav_msgs`, `tf2_msgs`,
    /// `diagnostic_msgs`, `visualization_msgs`, `rosgraph_msgs`, `actionlib_msgs` and
    /// `velodyne_msgs`.
    pub fn known(type_name: &str, md5sum: &str) -> Option<Self> {
        known::by_md5(type_name, md5sum)
    }

    /// The definition of a common type by its name: of one of these packages.
    pub fn common(type_name: &str) -> Option<Self> {
        known::by_name(type_name)
    }

    /// Returns the definition that ROS 2 has of the common type `type_name`, as text
    /// (`ros2msg`), for files with an empty one.
    pub fn common_ros2_text(type_name: &str) -> Option<String> {
        let definition = known::by_name(&type_name.replacen("/msg/", "/", 1))?;
        (!definition.is_log()).then(|| definition.ros2_text().ok())?
    }

    /// What records of the type look like.
    ///
    /// # Errors
    ///
    /// `Malformed` where a type is missing, or contains itself; `Limit` where one is
    /// larger than [`MAX_LAYOUT_BYTES`](logtool_core::MAX_LAYOUT_BYTES).
    pub fn layout(&self) -> Result<Arc<Layout>> {
        layout::compile(&Scope::new(&self.types))
    }

    /// The MD5 sum of the type as ROS computes it, in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// As of [`layout`](Self::layout).
    pub fn md5sum(&self) -> Result<String> {
        md5::sum(&Scope::new(&self.types))
    }

    /// What the values of fields are called, by the constants next to them.
    pub fn labels(&self) -> Labels {
        labels::of(&self.types)
    }

    /// The text again, without comments: with separators as ROS writes them.
    pub fn text(&self) -> String {
        text::write(&self.types)
    }

    /// Names in that definition that ROS 2 itself does not allow, as `a/B.camelCase`: it
    /// wants fields in lower case, constants in upper case, and types to begin with a
    /// capital. Not everybody who reads such definitions does.
    pub fn ros2_misnamed(&self) -> Vec<String> {
        ros2::names::misnamed(&self.types)
    }

    /// Whether there is neither a field nor a constant.
    pub fn is_empty(&self) -> bool {
        self.types.first().is_none_or(|t| t.fields.is_empty() && t.constants.is_empty())
    }
}

/// The layout of the records of `type_name`, of which `text` is the definition.
///
/// # Errors
///
/// As of [`Definition::parse`] and [`Definition::layout`].
pub fn compile(type_name: &str, text: &str) -> Result<Arc<Layout>> {
    Definition::parse(type_name, text)?.layout()
}

/// The MD5 sum, as ROS computes it, of `type_name`, of which `text` is the definition.
///
/// # Errors
///
/// As of [`Definition::parse`] and [`Definition::md5sum`].
pub fn md5sum(type_name: &str, text: &str) -> Result<String> {
    Definition::parse(type_name, text)?.md5sum()
}

/// Finds out what the records of a connection look like, from its `type_name`, its
/// `md5sum` and the `text` of its definition.
///
/// The text is followed if it has that MD5 sum, and otherwise too unless the sum is
/// that of a common type: writers are known that store no text, or another one. Where
/// there is no sum either (`*`), a common type is found by its name.
///
/// # Errors
///
/// Why nothing can be said of the records but their bytes.
pub fn describe(type_name: &str, md5sum: &str, text: &str) -> Result<Described> {
    let described = define(type_name, md5sum, text)?;
    LayoutDecoder::new(&described.layout, &Columns::default())?;
    Ok(described)
}

/// The same as [`describe`], but that the records may have more columns than a table is
/// given: that takes long to find out.
///
/// # Errors
///
/// As of [`describe`].
pub fn define(type_name: &str, md5sum: &str, text: &str) -> Result<Described> {
    let is_sum = md5sum.len() == 32 && md5sum.bytes().all(|b| b.is_ascii_hexdigit());
    let parsed = Definition::parse(type_name, text).and_then(|definition| {
        let (sum, layout) = (definition.md5sum()?, definition.layout()?);
        Ok((definition, sum, layout))
    });
    let instead = |why: String| -> Option<Described> {
        let definition = match is_sum {
            true => Definition::known(type_name, md5sum)?,
            false => known::by_name(type_name)?,
        };
        let layout = definition.layout().ok()?;
        Some(Described { definition, layout, oddity: Some(why) })
    };
    match parsed {
        Ok((definition, sum, layout)) if sum.eq_ignore_ascii_case(md5sum) => {
            Ok(Described { definition, layout, oddity: None })
        }
        Ok((definition, _, _)) if definition.is_empty() => {
            instead("the definition is empty; that of the common type is used".into())
                .ok_or_else(|| malformed("the definition is empty"))
        }
        Ok((definition, sum, layout)) => {
            let why = format!("the definition has the MD5 sum {sum}, not {md5sum}");
            let common =
                is_sum.then(|| instead(format!("{why}; the common type is used")));
            let oddity = is_sum.then_some(why);
            Ok(common.flatten().unwrap_or(Described { definition, layout, oddity }))
        }
        Err(err) => instead(format!("{err}; the common type is used")).ok_or(err),
    }
}

fn malformed(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Malformed, what)
}

#[cfg(test)]
mod tests;
