//! Names of enumeration values.

use std::collections::HashMap;

use logtool_core::Labels;

use crate::descriptor::{Enum, FileSet, Message, kind};

/// Returns the names of the values of fields with an enumeration type, by the full names of the
/// types in `files`.
pub fn labels(files: &FileSet) -> Labels {
    let (mut enums, mut labels) = (HashMap::new(), Labels::default());
    for file in &files.files {
        let scope = if file.package.is_empty() {
            String::new()
        } else {
            format!(".{}", file.package)
        };
        collect_enums(&scope, &file.enums, &file.messages, &mut enums);
    }
    for file in &files.files {
        let messages = file.messages.iter();
        messages.for_each(|message| {
            add_labels(&file.package, message, &enums, &mut labels);
        });
    }
    labels
}

/// The enumerations by their full names, which start with a dot.
type Enums<'f> = HashMap<String, &'f Enum>;

// Both functions recurse as deep as descriptors are nested, which is limited when they are parsed.
fn collect_enums<'f>(
    scope: &str,
    enums: &'f [Enum],
    messages: &'f [Message],
    enums_by_name: &mut Enums<'f>,
) {
    enums_by_name.extend(
        enums
            .iter()
            .map(|enum_type| (format!("{scope}.{}", enum_type.name), enum_type)),
    );
    for message in messages {
        let scope = format!("{scope}.{}", message.name);
        collect_enums(&scope, &message.enums, &message.messages, enums_by_name);
    }
}

fn add_labels(scope: &str, message: &Message, enums: &Enums<'_>, labels: &mut Labels) {
    let name = if scope.is_empty() {
        message.name.clone()
    } else {
        format!("{scope}.{}", message.name)
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
