//! Converting definitions of ROS 2 to ROS 1: the inverse of [`ros2`].
//!
//! | ROS 2 | ROS 1 |
//! |---|---|
//! | `builtin_interfaces/Time`, `Duration` | `time`, `duration` |
//! | `std_msgs/Header` | the same with `uint32 seq` before the other fields |
//! | `d` `k` `r` `p` of `sensor_msgs/CameraInfo`, `t` of `stereo_msgs/DisparityImage` | `D` `K` `R` `P`, `T` |
//! | bounds of strings and lists, defaults of fields | dropped |
//! | a number in another base, a bool, a quoted string, as a constant | decimal, `True` or `False`, without quotes |
//! | `wstring` | not supported |
//!
//! If a common type of ROS 1 has the same name and the same fields, with any constants, its
//! definition is used, so that the MD5 sum is the one that ROS 1 nodes expect.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use logtool_core::{Error, ErrorKind, Result};

use crate::definition::{
    MessageType,
    line::{Array, Constant, Field},
    ros2::RENAMED,
    scope::{Base, Scope},
};

/// The header type, and its fields in ROS 2, where it lacks one.
const HEADER: (&str, [(&str, &str); 2]) =
    ("std_msgs/Header", [("time", "stamp"), ("string", "frame_id")]);

/// Converts the first of `types`, which are of ROS 2 with ROS 1 times, and the types it uses.
pub(super) fn rewrite(types: &[MessageType]) -> Result<Vec<MessageType>> {
    check_texts(types)?;
    let scope = Scope::new(types);
    // Checks that no type is missing, and that none contains itself.
    scope.fold(&|_, _| Ok(()))?;
    let (mut ros1_types, mut visited, mut next) =
        (Vec::new(), HashSet::from([0]), vec![0]);
    while let Some(index) = next.pop() {
        let Some(message_type) = types.get(index) else { continue };
        let mut fields = Vec::with_capacity(message_type.fields.len() + 1);
        if is_header(message_type) {
            fields.push(field("uint32", Array::No, "seq"));
        }
        let mut inner_types = Vec::new();
        for source_field in &message_type.fields {
            let base = match scope.base(index, source_field)? {
                Base::BuiltIn(_) => source_field.base.as_str(),
                Base::Type(inner) => {
                    inner_types.push(inner);
                    types.get(inner).map_or("", |inner| inner.name.as_str())
                }
            };
            let name = field_name(message_type, source_field);
            fields.push(field(base, source_field.array, name));
        }
        let constants = message_type.constants.iter().map(constant).collect();
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

/// Checks that there are no strings that ROS 1 lacks.
fn check_texts(types: &[MessageType]) -> Result<()> {
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

fn is_header(message_type: &MessageType) -> bool {
    let fields =
        message_type.fields.iter().map(|field| (&*field.type_text, &*field.name));
    message_type.name == HEADER.0 && fields.eq(HEADER.1)
}

fn field(base: &str, array: Array, name: &str) -> Field {
    let type_text = match array {
        Array::No => base.to_owned(),
        Array::Fixed(count) => format!("{base}[{count}]"),
        Array::Any => format!("{base}[]"),
    };
    Field { type_text, base: base.to_owned(), array, name: name.to_owned() }
}

fn field_name<'f>(message_type: &MessageType, field: &'f Field) -> &'f str {
    let renamed = RENAMED.iter().find(|(owner, ros1, ros2)| {
        let is_free = !message_type
            .fields
            .iter()
            .any(|present_field| present_field.name == *ros1);
        *owner == message_type.name && *ros2 == field.name && is_free
    });
    renamed.map_or(&field.name, |(_, ros1, _)| ros1)
}

fn constant(constant: &Constant) -> Constant {
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
            // A byte is signed in ROS 1.
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

/// Returns the string between quotes; an unquoted string is returned unchanged.
fn unquote(value: &str) -> String {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let text = quoted('"').or_else(|| quoted('\''));
    text.map_or(value.to_owned(), |text| text.replace("\\\"", "\"").replace("\\'", "'"))
}

/// Parses a whole number in any base of ROS 2.
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
    let is_number = digits.starts_with(|first: char| first.is_digit(base));
    let number = i128::from_str_radix(digits, base).ok().filter(|_| is_number)?;
    number.checked_mul(sign)
}
