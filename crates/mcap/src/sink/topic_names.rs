//! The names of topics in a new file.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{LogSlice, Topic, TopicId, WriteOptions};

use crate::messages::ros2::{Translation, name_list};

/// The names of topics in a new file.
#[derive(Debug)]
pub(super) struct TopicNames<'o> {
    options: &'o WriteOptions,
    /// New names for those of translated topics that ROS 2 does not allow.
    changed: BTreeMap<String, String>,
}

impl<'o> TopicNames<'o> {
    /// Creates the names of the topics of `slices`, which have `translations`.
    pub(super) fn new(
        slices: &[LogSlice<'_>],
        translations: &[BTreeMap<TopicId, Translation>],
        options: &'o WriteOptions,
    ) -> Self {
        let mut names = Self { options, changed: BTreeMap::new() };
        let (mut taken, mut invalid) = (BTreeSet::new(), BTreeSet::new());
        for (slice, translations) in slices.iter().zip(translations) {
            let topics = slice.manifest.topics();
            let topics = topics.filter(|(id, _)| slice.selection.topics.contains(*id));
            for (id, topic) in topics {
                let name = names.name(topic);
                let is_valid =
                    !translations.contains_key(&id) || valid_name(name) == name;
                let set = if is_valid { &mut taken } else { &mut invalid };
                set.insert(name.to_owned());
            }
        }
        for name in invalid {
            let wanted = valid_name(&name);
            let (mut unique, mut number) = (wanted.clone(), 2);
            while !taken.insert(unique.clone()) {
                unique = format!("{wanted}_{number}");
                number += 1;
            }
            names.changed.insert(name, unique);
        }
        names
    }

    /// Returns the name of `topic` in the file.
    pub(super) fn name<'n>(&'n self, topic: &'n Topic) -> &'n str {
        let renamed = self.options.rename.get(&*topic.label());
        let name = renamed.unwrap_or(&topic.name);
        self.changed.get(name).unwrap_or(name)
    }

    /// Returns a remark about the changed names, if there are any.
    pub(super) fn remark(&self) -> Option<String> {
        let changed = self.changed.iter().map(|(old, new)| format!("{old:?} → {new}"));
        let names = name_list(&changed.collect::<Vec<_>>())?;
        Some(format!("topics that ROS 2 does not allow have other names: {names}"))
    }
}

/// Returns a name for the topic `name` that ROS 2 allows: it consists of letters of ASCII, digits and
/// `_`, with single `/` between its parts, and no part begins with a digit
/// (`rmw_validate_full_topic_name` of the package `rmw`). A name without a `/` at the start is
/// relative, and readers of bags accept it.
fn valid_name(name: &str) -> String {
    let part = |part: &str| {
        let prefix =
            if part.starts_with(|c: char| c.is_ascii_digit()) { "topic_" } else { "" };
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        format!("{prefix}{}", part.chars().map(allowed).collect::<String>())
    };
    let parts = name.split('/').filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(part).collect();
    let root = if name.starts_with('/') { "/" } else { "" };
    if parts.is_empty() {
        "/topic".to_owned()
    } else {
        root.to_owned() + &parts.join("/")
    }
}
