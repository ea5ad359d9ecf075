//! Topics that get the name of a topic of another type.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{Manifest, Topic, TopicId, TopicOrigin, TopicSet, WriteOptions};

/// Returns warnings about new names that several types share, when `topics` are renamed as
/// `options` state.
pub(super) fn warnings(
    manifest: &Manifest,
    topics: &TopicSet,
    options: &WriteOptions,
) -> Vec<String> {
    let warning = |(topic, types): (&str, BTreeSet<&str>)| {
        let types: Vec<&str> = types.into_iter().collect();
        format!("{topic} will have several types: {}", types.join(", "))
    };
    types_of_new_names(manifest, topics, options).into_iter().map(warning).collect()
}

/// Returns the new names that several types share, with these types.
fn types_of_new_names<'m>(
    manifest: &'m Manifest,
    topics: &TopicSet,
    options: &'m WriteOptions,
) -> BTreeMap<&'m str, BTreeSet<&'m str>> {
    let new_names: BTreeSet<&str> =
        options.rename.values().map(String::as_str).collect();
    let is_selected = |(id, topic): &(TopicId, &Topic)| {
        topics.contains(*id) && topic.origin != TopicOrigin::Derived
    };
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (_, topic) in manifest.topics().filter(is_selected) {
        let renamed = options.rename.get(&*topic.label());
        let name = renamed.map_or(topic.name.as_str(), String::as_str);
        if new_names.contains(name) {
            types.entry(name).or_default().insert(&topic.type_name);
        }
    }
    types.retain(|_, types| types.len() > 1);
    types
}
