//! Checks names and types before they are written.
//!
//! The checks are stricter than those of the reader: irregular or unknown definitions
//! can be read, but are not written.

use logtool_core::{Error, ErrorKind, Result};

use crate::declarations::formats::{primitive, split_array};

/// Checks a format: its name, and its fields as `type name;type name;`.
pub(super) fn check_format(name: &str, fields: &str) -> Result<()> {
    if !is_name(name, b"_-/") || primitive(name).is_some() {
        return Err(malformed(format!("invalid format name {name:?}")));
    }
    if fields.is_empty() {
        return Err(malformed(format!("the format {name:?} has no fields")));
    }
    for field in fields.split_terminator(';') {
        let (_, field_name) = split(field)?;
        if !is_name(field_name, b"_") {
            return Err(malformed(format!("invalid field name {field_name:?}")));
        }
    }
    Ok(())
}

/// Splits `type name`. The name may contain spaces, because names of information may.
pub(super) fn split(text: &str) -> Result<(&str, &str)> {
    let parts = text.split_once(' ').filter(|(type_name, name)| {
        let base = split_array(type_name).map(|(base, _)| base);
        base.is_some_and(|base| is_name(base, b"_-/")) && !name.is_empty()
    });
    parts.ok_or_else(|| malformed(format!("{text:?} is not a type and a name")))
}

/// Returns the length in bytes of a value of a basic type, or of an array of it.
pub(super) fn basic_len(type_name: &str) -> Option<usize> {
    let (base, count) = split_array(type_name)?;
    let count = usize::try_from(count.unwrap_or(1)).ok()?;
    count.checked_mul(primitive(base)?.size() as usize)
}

/// Returns true if `text` consists of ASCII letters, digits and `special_characters`.
fn is_name(text: &str, special_characters: &[u8]) -> bool {
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || special_characters.contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn malformed(message: String) -> Error {
    Error::new(ErrorKind::Malformed, message)
}
