//! Converting definitions of ROS 2 to ROS 1: the inverse of [`ros2`](super::ros2).
//!
//! | ROS 2 | ROS 1 |
//! |---|---|
//! | `builtin_interfaces/Time`, `Duration` | `time`, `duration` |
//! | `std_msgs/Header` | the same name, with `uint32 seq` before the other fields |
//! | `d` `k` `r` `p` of `sensor_msgs/CameraInfo`, `t` of `stereo_msgs/DisparityImage` | `D` `K` `R` `P`, `T` |
//! | bounds of strings and lists, defaults of fields | dropped |
//! | constants: a number in any base; a bool; a quoted string | decimal; `True` or `False`; without quotes |
//! | `wstring` | not supported |
//!
//! If a common type of ROS 1 has the same name and the same fields, its definition is used (its
//! constants may differ), so that the MD5 sum is the one that ROS 1 nodes expect.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use logtool_core::{Error, ErrorKind, Result};

use crate::definition::{
    MessageType,
    line::{Array, Constant, Field},
    ros2::FieldRenames,
    scope::{Base, Scope},
};

/// The header type, and its fields in ROS 2, which lacks `seq`.
const HEADER: (&str, [(&str, &str); 2]) =
    ("std_msgs/Header", [("time", "stamp"), ("string", "frame_id")]);

/// Converts the first of `types` and the types that it uses. They are of ROS 2, but their times are
/// already converted.
pub(super) fn from_ros2_types(types: &[MessageType]) -> Result<Vec<MessageType>> {
    check_no_wide_strings(types)?;
    let scope = Scope::new(types);
    scope.check()?;
    let (mut ros1_types, mut visited, mut next) =
        (Vec::new(), HashSet::from([0]), vec![0]);
    while let Some(index) = next.pop() {
        let Some(message_type) = types.get(index) else { continue };
        let mut fields = Vec::with_capacity(message_type.fields.len() + 1);
        if is_header(message_type) {
            fields.push(field("uint32", Array::No, "seq"));
        }
        let renames = FieldRenames::to_ros1(message_type);
        let mut inner_types = Vec::new();
        for source_field in &message_type.fields {
            let base = match scope.base(index, source_field)? {
                Base::BuiltIn(_) => source_field.base.as_str(),
                Base::Type(inner) => {
                    inner_types.push(inner);
                    types.get(inner).map_or("", |inner| inner.name.as_str())
                }
            };
            let name = renames.apply(&source_field.name);
            fields.push(field(base, source_field.array, name));
        }
        let constants = message_type.constants.iter().map(ros1_constant).collect();
        ros1_types.push(MessageType {
            name: message_type.name.clone(),
            fields,
            constants,
        });
        next.extend(
            inner_types.into_iter().rev().filter(|inner| visited.insert(*inner)),
        );
    }
    Ok(ros1_types)
}

/// Checks that no field is a wide string, which ROS 1 lacks.
fn check_no_wide_strings(types: &[MessageType]) -> Result<()> {
    let fields = types.iter().flat_map(|message_type| {
        message_type.fields.iter().map(move |field| (message_type, field))
    });
    let mut wide_strings = fields.filter(|(_, field)| {
        field.base == "wstring" || field.base.starts_with("wstring<=")
    });
    wide_strings.next().map_or(Ok(()), |(message_type, field)| {
        let (message_type, name) = (&message_type.name, &field.name);
        let message = format!(
            "{message_type}.{name} is a wstring, a type that ROS 1 does not have"
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    })
}

/// Returns whether `message_type` is the header type of ROS 2.
fn is_header(message_type: &MessageType) -> bool {
    let fields =
        message_type.fields.iter().map(|field| (&*field.type_text, &*field.name));
    message_type.name == HEADER.0 && fields.eq(HEADER.1)
}

/// Returns a field of ROS 1.
fn field(base: &str, array: Array, name: &str) -> Field {
    let type_text = match array {
        Array::No => base.to_owned(),
        Array::Fixed(count) => format!("{base}[{count}]"),
        Array::Any => format!("{base}[]"),
    };
    Field { type_text, base: base.to_owned(), array, name: name.to_owned() }
}

/// Converts a constant of ROS 2 to ROS 1.
fn ros1_constant(constant: &Constant) -> Constant {
    let Constant { type_name, name, value } = constant;
    let base = type_name.split("<=").next().unwrap_or_default();
    let (type_name, value) = match base {
        "string" | "wstring" => ("string", unquote(value)),
        "bool" => match value.to_ascii_lowercase().as_str() {
            "true" => (base, "True".to_owned()),
            "false" => (base, "False".to_owned()),
            _ => (base, value.clone()),
        },
        _ => match parse_integer(value) {
            // A byte is signed in ROS 1, and unsigned in ROS 2.
            Some(number) if base == "byte" => {
                let byte = u8::try_from(number).map(|byte| byte.cast_signed());
                (base, byte.map_or(number.to_string(), |byte| byte.to_string()))
            }
            Some(number) => (base, number.to_string()),
            None => (base, value.clone()),
        },
    };
    Constant { type_name: type_name.to_owned(), name: name.clone(), value }
}

/// Removes the quotes around a string, and the escapes of quotes in it. A string without quotes is
/// returned unchanged.
fn unquote(value: &str) -> String {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let text = quoted('"').or_else(|| quoted('\''));
    text.map_or(value.to_owned(), |text| text.replace("\\\"", "\"").replace("\\'", "'"))
}

/// Parses an integer in one of the bases that ROS 2 allows.
fn parse_integer(value: &str) -> Option<i128> {
    let (sign, digits) = match value.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, value.strip_prefix('+').unwrap_or(value)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match (lower.get(..2), lower.get(2..)) {
        (Some("0x"), Some(digits)) => (16, digits),
        (Some("0b"), Some(digits)) => (2, digits),
        (Some("0o"), Some(digits)) => (8, digits),
        _ => (10, lower.as_str()),
    };
    // `from_str_radix` would accept a second sign.
    let is_unsigned = digits.starts_with(|first: char| first.is_digit(base));
    let number = i128::from_str_radix(digits, base).ok().filter(|_| is_unsigned)?;
    number.checked_mul(sign)
}
