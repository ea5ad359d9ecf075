//! Names that ROS 2 does not allow.
//!
//! Packages and fields match `[a-z][a-z0-9_]*`, constants `[A-Z][A-Z0-9_]*`, neither with
//! two `_` in a row or one at the end; types match `[A-Z][A-Za-z0-9]*` (ROS 2's
//! rosidl_adapter, `parser.py`).

use crate::definition::{
    MessageType,
    ros2::{field_name, has_seq, name},
};

/// Returns the names of `types`, of their constants and of their fields that are not allowed.
pub(in crate::definition) fn invalid_names(types: &[MessageType]) -> Vec<String> {
    let mut misnamed = Vec::new();
    for message_type in types {
        let full_name = &message_type.name;
        let (package, short) = match name(full_name).split_once("/msg/") {
            Some((package, short)) => (package.to_owned(), short.to_owned()),
            None => (String::new(), full_name.clone()),
        };
        if !is_lower(&package) || !is_type(&short) {
            misnamed.push(full_name.clone());
        }
        let constants = message_type.constants.iter().map(|constant| &*constant.name);
        let constants = constants.filter(|name| !is_upper(name));
        let fields =
            message_type.fields.iter().skip(usize::from(has_seq(message_type)));
        let fields = fields.map(|field| field_name(message_type, field));
        let fields = fields.filter(|name| !is_lower(name));
        misnamed
            .extend(constants.chain(fields).map(|name| format!("{full_name}.{name}")));
    }
    misnamed
}

fn is_lower(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && is_joined(name, is_allowed)
}

fn is_upper(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase()) && is_joined(name, is_allowed)
}

fn is_joined(name: &str, is_allowed: impl Fn(char) -> bool) -> bool {
    name.chars().all(is_allowed) && !name.contains("__") && !name.ends_with('_')
}

fn is_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}
