//! Excerpts that contain only the selected topics.

use std::collections::BTreeSet;

use logtool_core::{
    Excerpt, Manifest, Part, Result, Selection, TopicId, TopicSet, damage_within,
};

use crate::{
    format_state::{BuiltIn, FormatState},
    index::messages::MAX_DECLARATIONS,
    read::open_log::OpenLog,
    topics::{
        declaration_index::DeclarationIndex,
        registry::Declaration,
        streams::{MAX_TOPICS_OF_EXCERPTS, Stream, StreamsState},
    },
};

/// Returns a manifest for reading `selection` in `parts`, if it can be read without the
/// declarations of other topics: each record has its own time, and the message ids of other
/// topics are known.
pub(super) fn excerpt(
    log: &OpenLog,
    selection: &Selection,
    parts: &[Part],
) -> Result<Option<Excerpt>> {
    let state = &*log.format_state;
    let index = log.declaration_index();
    let Some(topics) = independent_topics(log, &selection.topics) else {
        return Ok(None);
    };
    let names = topics.iter().filter_map(|id| log.registry.topics.get(id.index()));
    let names = names.map(|topic| topic.type_name.as_str());
    let types = index.types(&state.declarations, names);
    let mut definitions: Vec<usize> = Vec::new();
    for name in types {
        match index.definitions(name) {
            // The layout of a topic depends on which definition precedes it.
            [_, _, ..] => return Ok(None),
            definition => definitions.extend(definition),
        }
    }
    definitions.sort_unstable();
    let BuiltIn { logged_strings, parameter_changes, dropouts, messages, events } =
        state.built_in;
    let mut included = selection.topics.clone();
    let built_in = [logged_strings, parameter_changes, dropouts, messages];
    built_in.into_iter().chain(events).for_each(|id| included.insert(id));
    let new_id = |id: TopicId| included.position(id).unwrap_or(TopicId::OMITTED);
    let definitions = definitions
        .into_iter()
        .filter_map(|index| state.declarations.get(index))
        .cloned();
    let subscriptions =
        Subscriptions { log, index, topics: &topics, included: &included, parts }
            .list();
    let reduced = FormatState {
        file_header: state.file_header.clone(),
        declarations: definitions.chain(subscriptions).collect(),
        damaged_ranges: damage_within(&state.damaged_ranges, parts),
        data_start: state.data_start,
        starts: vec![StreamsState::default(); parts.len()],
        corrections: Vec::new(),
        built_in: BuiltIn {
            logged_strings: new_id(logged_strings),
            parameter_changes: new_id(parameter_changes),
            dropouts: new_id(dropouts),
            messages: new_id(messages),
            events: events.map(new_id),
        },
        is_partial: true,
    };
    if !decodes_alike(log, &reduced, &topics) {
        return Ok(None);
    }
    let format_state = Manifest::encode_state(&reduced)?;
    let reduced_parts =
        parts.iter().map(|part| part.with_renumbered_topics(&included)).collect();
    let excerpt = log.manifest.excerpt(&selection.topics, included, parts);
    let manifest = Manifest {
        parts: reduced_parts,
        format_state,
        ..excerpt.manifest.without_definitions()
    };
    Ok(Some(Excerpt { manifest, topics: excerpt.topics }))
}

/// Returns the selected topics if the times of their records do not depend on others.
fn independent_topics(log: &OpenLog, selected: &TopicSet) -> Option<Vec<TopicId>> {
    let registry = &log.registry;
    // Declarations beyond a limit are ignored, and their message ids are not known.
    let is_complete = registry.topics.len() < MAX_TOPICS_OF_EXCERPTS
        && log.format_state.declarations.len() < MAX_DECLARATIONS
        && !log.format_state.is_partial;
    let is_independent = |id: &TopicId| {
        let topic = registry.topics.get(id.index());
        let stream = registry.streams.get(id.index());
        topic.is_some_and(|topic| topic.layout.is_ok())
            && stream.is_some_and(Stream::has_own_time)
    };
    let topics: Vec<TopicId> = match selected {
        TopicSet::Only(_) => selected.ids(log.manifest.topics.len()).collect(),
        TopicSet::All => return None,
    };
    (is_complete && topics.iter().all(is_independent)).then_some(topics)
}

/// The subscriptions for reading `topics` in `parts`.
struct Subscriptions<'l> {
    log: &'l OpenLog,
    index: &'l DeclarationIndex,
    topics: &'l [TopicId],
    included: &'l TopicSet,
    parts: &'l [Part],
}

impl Subscriptions<'_> {
    /// Returns the subscriptions of the topics in the parts, and the message ids of all other
    /// topics at the start of each part, in file order.
    fn list(&self) -> Vec<Declaration> {
        let mut list: Vec<(u64, Declaration)> = Vec::new();
        let (mut ids, mut listed) = (BTreeSet::new(), BTreeSet::new());
        for topic in self.topics {
            let subscriptions = self.index.subscriptions_of_topic(*topic);
            let in_parts = self.parts.iter().flat_map(|part| {
                let count_before = |end: u64| {
                    subscriptions.partition_point(|(offset, _)| *offset < end)
                };
                let range =
                    count_before(part.bytes.start)..count_before(part.bytes.end);
                subscriptions.get(range).unwrap_or_default()
            });
            // Topics are numbered in the order of their first subscriptions.
            for (offset, index) in subscriptions.iter().take(1).chain(in_parts) {
                if listed.insert(*index) {
                    list.extend(self.subscription(*index, *offset));
                }
            }
            let targets =
                subscriptions.iter().filter_map(|(_, index)| self.target(*index));
            ids.extend(targets.map(|(id, _)| id));
        }
        let (mut previous_id_count, mut previous_start) = (0, 0);
        for part in self.parts {
            let start = part.bytes.start;
            // No message begins at the last byte before a part.
            let offset = start.saturating_sub(1);
            let id_count = self.index.count_ids_before(start);
            let (mut current, mut reassigned) = (Vec::new(), Vec::new());
            for id in &ids {
                let subscriptions = self.index.subscriptions_of_id(*id);
                let count_before = |end: u64| {
                    subscriptions.partition_point(|(offset, _)| *offset < end)
                };
                let count = count_before(start);
                if count_before(previous_start) == count {
                    continue;
                }
                let last =
                    count.checked_sub(1).and_then(|last| subscriptions.get(last));
                let Some((_, index)) = last else { continue };
                match self.subscription(*index, offset) {
                    Some(subscription) => current.push(subscription),
                    None => reassigned.push(u32::from(*id)),
                }
            }
            let omitted = match previous_id_count {
                0 => self.index.first_ids(id_count),
                _ => {
                    let new_ids = self.index.ids(previous_id_count, id_count);
                    new_ids.chain(reassigned).collect()
                }
            };
            if !omitted.is_empty() {
                let declaration = Declaration::OmittedTopics { offset, ids: omitted };
                list.push((offset, declaration));
            }
            list.append(&mut current);
            (previous_id_count, previous_start) = (id_count, start);
        }
        list.sort_by_key(|(offset, _)| *offset);
        list.into_iter().map(|(_, declaration)| declaration).collect()
    }

    /// Returns the message id and the topic of the subscription with the index `index`.
    fn target(&self, index: usize) -> Option<(u16, TopicId)> {
        match self.log.format_state.declarations.get(index)? {
            Declaration::Subscription { id, topic, .. } => Some((*id, *topic)),
            _ => None,
        }
    }

    /// Returns the subscription with the index `index`, moved to `offset`, if it belongs to one of
    /// the topics.
    fn subscription(&self, index: usize, offset: u64) -> Option<(u64, Declaration)> {
        let (_, topic) = self.target(index)?;
        self.topics.binary_search(&topic).ok()?;
        let topic = self.included.position(topic)?;
        let declaration = self.log.format_state.declarations.get(index)?;
        let Declaration::Subscription { id, name, instance, .. } = declaration else {
            return None;
        };
        let (id, name, instance) = (*id, name.clone(), *instance);
        Some((offset, Declaration::Subscription { offset, id, name, instance, topic }))
    }
}

/// Returns whether `reduced` declares `topics` only, with the layouts that they have in `log`.
fn decodes_alike(log: &OpenLog, reduced: &FormatState, topics: &[TopicId]) -> bool {
    let (registry, _) = reduced.replay();
    let declared = topics.iter().map(|id| log.registry.topics.get(id.index()));
    registry.topics.len() == topics.len()
        && declared.zip(&registry.topics).all(|(topic, reduced_topic)| {
            topic.is_some_and(|topic| topic.layout == reduced_topic.layout)
        })
}
