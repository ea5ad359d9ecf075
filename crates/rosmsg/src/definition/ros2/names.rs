//! Names that ROS 2 does not allow.
//!
//! Packages and fields match `[a-z][a-z0-9_]*`, constants `[A-Z][A-Z0-9_]*`, neither with
//! two `_` in a row or one at the end; types match `[A-Z][A-Za-z0-9]*` (ROS 2's
//! rosidl_adapter, `parser.py`).

use crate::definition::{
    MessageType,
    ros2::{FieldRenames, full_name, has_seq},
};

/// Returns the names of `types` of ROS 1, of their constants and of their fields that ROS 2 does
/// not allow.
pub(in crate::definition) fn invalid_names(types: &[MessageType]) -> Vec<String> {
    let mut invalid = Vec::new();
    for message_type in types {
        let type_name = &message_type.name;
        let ros2_name = full_name(type_name);
        let (package, short_name) =
            ros2_name.split_once("/msg/").unwrap_or(("", type_name));
        if !is_valid_lower(package) || !is_valid_type(short_name) {
            invalid.push(type_name.clone());
        }
        let constants = message_type.constants.iter().map(|constant| &*constant.name);
        let constants = constants.filter(|name| !is_valid_upper(name));
        let renames = FieldRenames::to_ros2(message_type);
        let fields = message_type
            .fields
            .iter()
            .skip(usize::from(has_seq(message_type)))
            .map(|field| renames.apply(&field.name))
            .filter(|name| !is_valid_lower(name));
        invalid
            .extend(constants.chain(fields).map(|name| format!("{type_name}.{name}")));
    }
    invalid
}

/// Returns whether `name` is valid for a package or a field.
fn is_valid_lower(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && has_valid_parts(name, is_allowed)
}

/// Returns whether `name` is valid for a constant.
fn is_valid_upper(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && has_valid_parts(name, is_allowed)
}

/// Returns whether all characters are allowed, and each `_` is between two other characters.
fn has_valid_parts(name: &str, is_allowed: impl Fn(char) -> bool) -> bool {
    name.chars().all(is_allowed) && !name.contains("__") && !name.ends_with('_')
}

/// Returns whether `name` is valid for a type, without its package.
fn is_valid_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}
