//! Topics that are given the name of one of another type.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{Manifest, Topic, TopicId, TopicOrigin, TopicSet, WriteOptions};

use crate::{paint, terminal::say};

/// Warns of names that several types share when the `topics` of the log `name` are
/// renamed as `options` say, and did not before.
pub(super) fn warn(
    name: &str,
    manifest: &Manifest,
    topics: &TopicSet,
    options: &WriteOptions,
) {
    let paint = paint::for_stderr();
    for (topic, types) in mixed(manifest, topics, options) {
        let types: Vec<&str> = types.into_iter().collect();
        let types = types.join(", ");
        let warning = paint.yellow("warning:");
        say!("{warning} {name}: {topic} will be of several types: {types}");
    }
}

/// The new names that several types share, and these.
fn mixed<'m>(
    manifest: &'m Manifest,
    topics: &TopicSet,
    options: &'m WriteOptions,
) -> BTreeMap<&'m str, BTreeSet<&'m str>> {
    let new_names: BTreeSet<&str> =
        options.rename.values().map(String::as_str).collect();
    let is_wanted = |(id, topic): &(TopicId, &Topic)| {
        topics.contains(*id) && topic.origin != TopicOrigin::Derived
    };
    let mut mixed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (_, topic) in manifest.topics().filter(is_wanted) {
        let renamed = options.rename.get(&*topic.label());
        let name = renamed.map_or(topic.name.as_str(), String::as_str);
        if new_names.contains(name) {
            mixed.entry(name).or_default().insert(&topic.type_name);
        }
    }
    mixed.retain(|_, types| types.len() > 1);
    mixed
}
