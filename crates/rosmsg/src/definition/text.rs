//! The text of a definition: the defined type, then the types of its fields, each after a
//! separator.

use logtool_core::{Error, ErrorKind, Result};

use crate::definition::{MessageType, line::DefinitionLine, malformed};

/// The maximum length of a text in bytes; the longest known text has 60 KiB.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Parses all types of `text`, the definition of `type_name`, which comes first. `parse_line`
/// parses one line.
pub(super) fn parse(
    type_name: &str,
    text: &str,
    parse_line: fn(&str) -> Result<DefinitionLine>,
) -> Result<Vec<MessageType>> {
    if text.len() > MAX_TEXT_BYTES {
        let (len, max_mebibytes) = (text.len(), MAX_TEXT_BYTES >> 20);
        let message = format!(
            "the definition of {type_name:?} has {len} bytes, and at most \
             {max_mebibytes} MiB are supported"
        );
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let root = MessageType { name: short_name(type_name), ..MessageType::default() };
    let mut types = vec![root];
    let mut is_after_separator = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if is_separator(line) {
            is_after_separator = true;
        } else if let Some(name) = type_of_header(line) {
            let name = short_name(name.trim());
            types.push(MessageType { name, ..MessageType::default() });
            is_after_separator = false;
        } else {
            match (parse_line(line)?, types.last_mut()) {
                (DefinitionLine::Empty, _) | (_, None) => {}
                _ if is_after_separator => {
                    return Err(malformed(
                        "after a separator, the line `MSG: package/Type` is missing",
                    ));
                }
                (DefinitionLine::Field(field), Some(last)) => last.fields.push(field),
                (DefinitionLine::Constant(constant), Some(last)) => {
                    last.constants.push(constant)
                }
            }
        }
    }
    remove_duplicates(types)
}

/// Returns the text of `types`.
pub(super) fn write(types: &[MessageType]) -> String {
    let mut text = String::new();
    for (index, message_type) in types.iter().enumerate() {
        if index > 0 {
            text.push_str(&format!("{}\nMSG: {}\n", "=".repeat(80), message_type.name));
        }
        for constant in &message_type.constants {
            let (type_name, name) = (&constant.type_name, &constant.name);
            text.push_str(&format!("{type_name} {name}={}\n", constant.value));
        }
        for field in &message_type.fields {
            text.push_str(&format!("{} {}\n", field.type_text, field.name));
        }
    }
    text
}

/// Returns the name in the line after a separator. rosbag2 writes `SRV:` and `ACTION:` for services
/// and actions.
pub(super) fn type_of_header(line: &str) -> Option<&str> {
    let (kind, name) = line.trim().split_once(':')?;
    ["MSG", "SRV", "ACTION"].contains(&kind).then_some(name)
}

/// Returns `name`, which may have no package, without the kind of the interface.
pub(super) fn without_interface(name: &str) -> &str {
    let (kind, rest) = name.split_once('/').unwrap_or_default();
    if INTERFACES.contains(&kind) { rest } else { name }
}

/// Returns whether a line is a separator: two or more `=`; ROS writes 80.
fn is_separator(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.bytes().all(|byte| byte == b'=')
}

/// The kinds of interfaces in the names of ROS 2.
const INTERFACES: [&str; 3] = ["msg", "srv", "action"];

/// Removes the kind of the interface from a ROS 2 name: `pkg/msg/Type` becomes `pkg/Type`.
fn short_name(name: &str) -> String {
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(package), Some(kind), Some(name), None) if INTERFACES.contains(&kind) => {
            format!("{package}/{name}")
        }
        _ => name.to_owned(),
    }
}

/// Removes repeated types, which an old writer produces. The defined type may be empty, and be
/// defined after a separator instead.
fn remove_duplicates(types: Vec<MessageType>) -> Result<Vec<MessageType>> {
    let mut indices = std::collections::HashMap::new();
    let mut unique: Vec<MessageType> = Vec::with_capacity(types.len());
    for message_type in types {
        let index = *indices.entry(message_type.name.clone()).or_insert(unique.len());
        match unique.get_mut(index) {
            None => unique.push(message_type),
            Some(first) if *first == message_type => {}
            Some(first) if first.is_empty() => *first = message_type,
            Some(first) => {
                let message = format!("{:?} has two different definitions", first.name);
                return Err(malformed(message));
            }
        }
    }
    Ok(unique)
}
