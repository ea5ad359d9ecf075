//! Types with the same MD5 sum and different layouts.
//!
//! ROS leaves the array length of a field out of the sum if the type of the field is another
//! message, so `T x`, `T[] x` and `T[3] x` have the same sum (ros/genmsg, issue 50). The
//! connections of a topic with such definitions need different decoders.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use logtool_core::Layout;
use logtool_rosmsg::{RecordDefinition, resolve_definition};

use crate::connections::connection::Connection;

/// The layouts of the types that connections define in several ways.
#[derive(Debug, Default)]
pub(crate) struct TypeVariants {
    /// The index of the layout among those of the type, by type, MD5 sum and definition. A type
    /// with one definition is not listed.
    layout_indices: HashMap<(String, String, String), usize>,
}

impl TypeVariants {
    /// Finds the layouts of the types of `connections`. The layouts of a type have indices in the
    /// order in which the connections define them.
    pub(crate) fn new<'c>(connections: impl Iterator<Item = &'c Connection>) -> Self {
        let mut definitions_by_type: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
        let mut seen = BTreeSet::new();
        for Connection { type_name, md5sum, definition, .. } in connections {
            if md5sum != "*" && seen.insert((type_name, md5sum, definition)) {
                let of_type =
                    definitions_by_type.entry((type_name, md5sum)).or_default();
                of_type.push(definition);
            }
        }
        let mut layout_indices = HashMap::new();
        for ((type_name, md5sum), definitions_of_type) in definitions_by_type {
            if definitions_of_type.len() < 2 {
                continue;
            }
            let mut layouts: Vec<Arc<Layout>> = Vec::new();
            for definition in definitions_of_type {
                // A definition without the declared sum may be damaged, so it is not used.
                let Ok(RecordDefinition { layout, anomaly: None, .. }) =
                    resolve_definition(type_name, md5sum, definition)
                else {
                    continue;
                };
                let layout_index = layouts.iter().position(|other| *other == layout);
                let layout_index = layout_index.unwrap_or_else(|| {
                    layouts.push(layout);
                    layouts.len() - 1
                });
                let key =
                    (type_name.to_owned(), md5sum.to_owned(), definition.to_owned());
                layout_indices.insert(key, layout_index);
            }
        }
        Self { layout_indices }
    }

    /// Returns the index of the layout of `connection` among those of its type: 0 if there is only
    /// one, or if the definition does not have the declared sum.
    pub(crate) fn layout_index(&self, connection: &Connection) -> usize {
        if self.layout_indices.is_empty() {
            return 0;
        }
        let Connection { type_name, md5sum, definition, .. } = connection;
        let key = (type_name.clone(), md5sum.clone(), definition.clone());
        self.layout_indices.get(&key).copied().unwrap_or(0)
    }
}
