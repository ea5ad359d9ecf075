//! Small manifests of ULogs, for readers of some parts.

mod selected_topics;

use std::{collections::HashSet, ops::Range};

use logtool_core::{
    Excerpt, Manifest, Part, Result, Selection, TopicId, TopicSet, damage_within,
};

use crate::{
    built_in_topics::EVENT_DEFINITIONS,
    format_state::FormatState,
    read::open_log::OpenLog,
    topics::{registry::Declaration, streams::Stream},
};

/// The first character of the names of replaced topics.
const REPLACED_PREFIX: char = '!';

/// Returns a manifest for reading `selection` in `parts`.
pub(crate) fn excerpt(
    log: &OpenLog,
    selection: &Selection,
    parts: &[Part],
) -> Result<Excerpt> {
    match selected_topics::excerpt(log, selection, parts)? {
        Some(excerpt) => Ok(excerpt),
        None => excerpt_of_all_topics(log, selection, parts),
    }
}

/// Returns an excerpt for topics whose times depend on the records of other topics.
///
/// All topics are still declared. A topic that is not selected has a short type whose records have
/// the same lengths and times. Metadata is omitted.
fn excerpt_of_all_topics(
    log: &OpenLog,
    selection: &Selection,
    parts: &[Part],
) -> Result<Excerpt> {
    let state = &*log.format_state;
    let Excerpt { manifest, topics } =
        log.manifest.excerpt(&selection.topics, TopicSet::All, parts);
    let mut manifest = manifest.without_definitions();
    manifest.parts = parts.to_vec();
    let part_index = |offset: u64| {
        log.manifest.parts.binary_search_by_key(&offset, |part| part.bytes.start).ok()
    };
    let start =
        |offset: u64| part_index(offset).and_then(|index| state.starts.get(index));
    let counters = Range {
        start: parts.first().and_then(|part| start(part.bytes.start)),
        end: parts.last().and_then(|part| start(part.bytes.end)),
    };
    let (first, end) = (
        counters.start.map_or(0, |start| start.counter_records()),
        counters.end.map_or(u64::MAX, |end| end.counter_records()),
    );
    let corrections = state.corrections.iter().copied();
    let mut reduced = FormatState {
        file_header: state.file_header.clone(),
        declarations: declarations(log, selection),
        damaged_ranges: damage_within(&state.damaged_ranges, parts),
        data_start: state.data_start,
        starts: parts
            .iter()
            .map(|part| start(part.bytes.start).cloned().unwrap_or_default())
            .collect(),
        corrections: corrections
            .filter(|c| (first..end).contains(&c.ordinal))
            .collect(),
        built_in: state.built_in,
        is_partial: false,
    };
    if !is_equivalent(log, &reduced, &selection.topics) {
        reduced.declarations.clone_from(&state.declarations);
    }
    manifest.format_state = Manifest::encode_state(&reduced)?;
    Ok(Excerpt { manifest, topics })
}

/// Returns the declarations of a log in which only the topics that `selection` needs have
/// their own types.
fn declarations(log: &OpenLog, selection: &Selection) -> Vec<Declaration> {
    let state = &*log.format_state;
    let built_in = &state.built_in;
    let has_events = built_in.events.is_some_and(|id| selection.topics.contains(id))
        || selection.topics.contains(built_in.messages);
    let mut needed = selection.topics.clone();
    if has_events {
        needed.extend(&log.event_reader().topics);
    }
    let declared = (0..).map(TopicId).zip(&log.registry.topics);
    let needed_topics = declared.filter(|(id, _)| needed.contains(*id));
    let names = needed_topics.map(|(_, topic)| topic.type_name.as_str());
    let types = log.declaration_index().types(&state.declarations, names);
    let mut replaced = HashSet::new();
    let mut reduced = Vec::new();
    for declaration in &state.declarations {
        match declaration {
            Declaration::Format(name, _) if types.contains(name.as_str()) => {
                reduced.push(declaration.clone());
            }
            Declaration::Metadata { payload, .. }
                if has_events
                    && built_in.events.is_some()
                    && defines_events(payload) =>
            {
                reduced.push(declaration.clone());
            }
            Declaration::Subscription { topic, .. } if needed.contains(*topic) => {
                reduced.push(declaration.clone());
            }
            Declaration::Subscription { offset, id, topic, .. } => {
                let name = format!("{REPLACED_PREFIX}{}", topic.0);
                let stream = log.registry.streams.get(topic.index());
                if let Some(fields) = stream.and_then(Stream::equivalent_fields)
                    && replaced.insert(*topic)
                {
                    reduced.push(Declaration::Format(name.clone(), fields));
                }
                let (offset, id, topic) = (*offset, *id, *topic);
                let instance = 0;
                reduced.push(Declaration::Subscription {
                    offset,
                    id,
                    name,
                    instance,
                    topic,
                });
            }
            Declaration::Format(..)
            | Declaration::OmittedTopics { .. }
            | Declaration::Metadata { .. } => {}
        }
    }
    reduced
}

/// Returns whether this metadata contains definitions of events.
fn defines_events(payload: &[u8]) -> bool {
    let name = EVENT_DEFINITIONS.as_bytes();
    payload.windows(name.len()).take(64).any(|window| window == name)
}

/// Returns whether `reduced` assigns the same lengths and times to the records of all
/// topics as the state of `log`, and decodes those of `topics` in the same way.
fn is_equivalent(log: &OpenLog, reduced: &FormatState, topics: &TopicSet) -> bool {
    let (registry, _) = reduced.replay();
    let declared = (0..).map(TopicId).zip(&log.registry.topics);
    registry.topics.len() == log.registry.topics.len()
        && registry.streams.is_equivalent(&log.registry.streams)
        && declared.zip(&registry.topics).all(|((id, topic), reduced_topic)| {
            !topics.contains(id) || topic.layout == reduced_topic.layout
        })
}
