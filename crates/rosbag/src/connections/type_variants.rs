//! Types that have one MD5 sum and different definitions.
//!
//! ROS computes the sum of a field of another type without its array length, so `T x`, `T[] x`
//! and `T[3] x` have the same sum (ros/genmsg, issue 50). Connections of one topic with such
//! definitions need decoders of their own.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use logtool_core::Layout;
use logtool_rosmsg::{RecordDefinition, resolve_definition};

use crate::connections::connection::Connection;

/// The layouts of types that connections define differently.
#[derive(Debug, Default)]
pub(crate) struct TypeVariants {
    /// By type, MD5 sum and definition. A type with one layout is not listed.
    numbers: HashMap<(String, String, String), usize>,
}

impl TypeVariants {
    /// The layouts of the types of `connections`, numbered in their order.
    pub(crate) fn new<'c>(connections: impl Iterator<Item = &'c Connection>) -> Self {
        let mut definitions: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
        let mut variants = BTreeSet::new();
        for Connection { type_name, md5sum, definition, .. } in connections {
            if md5sum != "*" && variants.insert((type_name, md5sum, definition)) {
                let of_type = definitions.entry((type_name, md5sum)).or_default();
                of_type.push(definition);
            }
        }
        let mut numbers = HashMap::new();
        for ((type_name, md5sum), texts) in definitions {
            if texts.len() < 2 {
                continue;
            }
            let mut layouts: Vec<Arc<Layout>> = Vec::new();
            for text in texts {
                // A text with another sum than its connection declares is not relied on.
                let Ok(RecordDefinition { layout, anomaly: None, .. }) =
                    resolve_definition(type_name, md5sum, text)
                else {
                    continue;
                };
                let number =
                    layouts.iter().position(|layout_of_text| *layout_of_text == layout);
                let number = number.unwrap_or_else(|| {
                    layouts.push(layout);
                    layouts.len() - 1
                });
                let key = (type_name.to_owned(), md5sum.to_owned(), text.to_owned());
                numbers.insert(key, number);
            }
        }
        Self { numbers }
    }

    /// Returns the index of the layout of `connection` among those of its type: 0 if there is
    /// only one, or if its definition cannot be relied on.
    pub(crate) fn variant(&self, connection: &Connection) -> usize {
        if self.numbers.is_empty() {
            return 0;
        }
        let Connection { type_name, md5sum, definition, .. } = connection;
        let key = (type_name.clone(), md5sum.clone(), definition.clone());
        self.numbers.get(&key).copied().unwrap_or(0)
    }
}
