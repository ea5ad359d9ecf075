//! Names of enumeration values.

use std::collections::HashMap;

use logtool_core::Labels;

use crate::descriptor::{Enum, FileSet, Message, kind};

/// Returns the names of the values of fields with an enumeration type, by the full names of the
/// types in `files`.
pub fn labels(files: &FileSet) -> Labels {
    let (mut enums, mut labels) = (HashMap::new(), Labels::default());
    for file in &files.files {
        let start = match file.package.is_empty() {
            true => String::new(),
            false => format!(".{}", file.package),
        };
        collect_enums(&start, &file.enums, &file.messages, &mut enums);
    }
    for file in &files.files {
        file.messages
            .iter()
            .for_each(|m| add_labels(&file.package, m, &enums, &mut labels));
    }
    labels
}

type Enums<'f> = HashMap<String, &'f Enum>;

// Both functions recurse as deep as descriptors are parsed.
fn collect_enums<'f>(
    start: &str,
    enums: &'f [Enum],
    inner: &'f [Message],
    enums_by_name: &mut Enums<'f>,
) {
    enums_by_name.extend(
        enums
            .iter()
            .map(|enum_type| (format!("{start}.{}", enum_type.name), enum_type)),
    );
    for message in inner {
        let start = format!("{start}.{}", message.name);
        collect_enums(&start, &message.enums, &message.messages, enums_by_name);
    }
}

fn add_labels(start: &str, message: &Message, enums: &Enums<'_>, labels: &mut Labels) {
    let name = match start.is_empty() {
        true => message.name.clone(),
        false => format!("{start}.{}", message.name),
    };
    for field in message.fields.iter().filter(|field| field.kind == kind::ENUM) {
        let Some(enum_type) = enums.get(&field.type_name) else { continue };
        // If a value has several names, the first is used.
        for (label, value) in enum_type.values.iter().rev() {
            labels.insert(&name, &field.name, i64::from(*value), label.clone());
        }
    }
    message.messages.iter().for_each(|inner| add_labels(&name, inner, enums, labels));
}
