//! The definitions of common types, for bags without definitions.
//!
//! `builtin_definitions.msg` contains the fields and constants, without comments, of the messages
//! in the ROS 1 packages of Debian (ros-std-msgs, ros-common-msgs and others, of ROS Noetic) and in
//! `velodyne_msgs`. The MD5 sums are computed; a test compares them with the sums that ROS
//! computes.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use crate::definition::{
    Definition, MessageType, line, md5,
    scope::{Base, Scope},
    text,
};

static TYPES: LazyLock<Vec<MessageType>> = LazyLock::new(|| {
    text::parse("", include_str!("builtin_definitions.msg"), line::parse)
        .unwrap_or_default()
});

/// The index of each type by its MD5 sum. If several types have the same sum, it is the first.
static INDEX_BY_SUM: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let indices = 0..TYPES.len();
    let sums = indices.rev().filter_map(|index| {
        let types = &definition(index)?.types;
        Some((md5::sum(&Scope::new(types)).ok()?, index))
    });
    sums.collect()
});

/// Returns the definition with this MD5 sum, under the name `type_name`.
pub(super) fn by_md5sum(type_name: &str, md5sum: &str) -> Option<Definition> {
    let mut definition = definition(*INDEX_BY_SUM.get(&md5sum.to_ascii_lowercase())?)?;
    // Other packages have the same types under other names, e.g. `tf/tfMessage`.
    type_name.clone_into(&mut definition.types.first_mut()?.name);
    Some(definition)
}

/// Returns the definition of the type with this name.
pub(super) fn by_name(type_name: &str) -> Option<Definition> {
    let index = TYPES.iter().position(|message_type| message_type.name == type_name)?;
    definition(index).filter(|_| !type_name.is_empty())
}

/// Returns the type with this index and the types of its fields, with their full names.
fn definition(index: usize) -> Option<Definition> {
    let scope = Scope::new(&TYPES);
    let (mut types, mut visited, mut next) =
        (vec![], HashSet::from([index]), vec![index]);
    while let Some(index) = next.pop() {
        let mut message_type = TYPES.get(index)?.clone();
        for field in &mut message_type.fields {
            if let Ok(Base::Type(inner)) = scope.base(index, field) {
                let name = &TYPES.get(inner)?.name;
                field.type_text = field.type_text.replacen(&field.base, name, 1);
                name.clone_into(&mut field.base);
                if visited.insert(inner) {
                    next.push(inner);
                }
            }
        }
        types.push(message_type);
    }
    Some(Definition { types })
}
