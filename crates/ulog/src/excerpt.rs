//! Small manifests of ULogs, for readers of some parts.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use logtool_core::{Manifest, Part, Result, Selection, TopicId, TopicSet};

use crate::{
    built_in_topics::EVENT_DEFINITIONS,
    declarations::formats,
    format_state::FormatState,
    read::open_log::OpenLog,
    topics::{registry::Declaration, streams::Stream},
};

/// The first character of the names of replaced topics.
const REPLACED: char = '!';

/// Returns a manifest for reading `selection` in `parts`.
///
/// The state of the clock depends on the records of all topics. So all topics are still
/// declared, but those that are not selected by short types whose records have the same
/// lengths and times. Metadata is left out.
pub(crate) fn excerpt(
    log: &OpenLog,
    selection: &Selection,
    parts: &[Part],
) -> Result<Manifest> {
    let state = &*log.format_state;
    let mut manifest =
        log.manifest.excerpt(&selection.topics, parts).without_definitions();
    manifest.parts = parts.to_vec();
    let index_of = |at: u64| {
        log.manifest.parts.binary_search_by_key(&at, |part| part.bytes.start).ok()
    };
    let start = |at: u64| index_of(at).and_then(|index| state.starts.get(index));
    let counters = Range {
        start: parts.first().and_then(|part| start(part.bytes.start)),
        end: parts.last().and_then(|part| start(part.bytes.end)),
    };
    let (first, end) = (
        counters.start.map_or(0, |start| start.counter_records()),
        counters.end.map_or(u64::MAX, |end| end.counter_records()),
    );
    let corrections = state.corrections.iter().copied();
    let is_within = |at: u64| parts.iter().any(|part| part.bytes.contains(&at));
    let mut reduced = FormatState {
        file_header: state.file_header.clone(),
        declarations: declarations(log, selection),
        damaged_ranges: state
            .damaged_ranges
            .iter()
            .filter(|damage| is_within(damage.bytes.start))
            .cloned()
            .collect(),
        data_start: state.data_start,
        starts: parts
            .iter()
            .map(|part| start(part.bytes.start).cloned().unwrap_or_default())
            .collect(),
        corrections: corrections
            .filter(|c| (first..end).contains(&c.ordinal))
            .collect(),
        built_in: state.built_in,
    };
    if !is_equivalent(log, &reduced, &selection.topics) {
        reduced.declarations.clone_from(&state.declarations);
    }
    manifest.format_state = Manifest::encode_state(&reduced)?;
    Ok(manifest)
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
    let types = types(log, &needed);
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
                let name = format!("{REPLACED}{}", topic.0);
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
            Declaration::Format(..) | Declaration::Metadata { .. } => {}
        }
    }
    reduced
}

/// Returns the names of the types of `topics`, with those of their fields.
fn types<'l>(log: &'l OpenLog, topics: &TopicSet) -> HashSet<&'l str> {
    let mut fields: HashMap<&str, Vec<&str>> = HashMap::new();
    for declaration in &log.format_state.declarations {
        if let Declaration::Format(name, text) = declaration {
            fields.entry(name).or_default().push(text);
        }
    }
    let declared = (0..).map(TopicId).zip(&log.registry.topics);
    let selected = declared.filter(|(id, _)| topics.contains(*id));
    let mut next: Vec<&str> =
        selected.map(|(_, topic)| topic.type_name.as_str()).collect();
    let mut types = HashSet::new();
    while let Some(name) = next.pop() {
        if !types.insert(name) {
            continue;
        }
        let texts = fields.get(name).into_iter().flatten();
        let all = texts.flat_map(|text| text.split(';'));
        next.extend(all.filter_map(|field| {
            let (of_type, _) = field.trim().split_once(char::is_whitespace)?;
            Some(formats::array(of_type).map_or(of_type, |(base, _)| base))
        }));
    }
    types
}

/// Returns whether this metadata contains definitions of events.
fn defines_events(payload: &[u8]) -> bool {
    let name = EVENT_DEFINITIONS.as_bytes();
    payload.windows(name.len()).take(64).any(|window| window == name)
}

/// Returns whether `reduced` assigns the same lengths and times to the records of all
/// topics as the state of `log`, and decodes those of `topics` alike.
fn is_equivalent(log: &OpenLog, reduced: &FormatState, topics: &TopicSet) -> bool {
    let (registry, _) = reduced.replay();
    let declared = (0..).map(TopicId).zip(&log.registry.topics);
    registry.topics.len() == log.registry.topics.len()
        && registry.streams.is_alike(&log.registry.streams)
        && declared.zip(&registry.topics).all(|((id, topic), again)| {
            !topics.contains(id) || topic.layout == again.layout
        })
}
