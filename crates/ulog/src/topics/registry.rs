//! The types and topics that a log has declared.
//!
//! The index pass fills a registry while it reads the file. When a log is opened with
//! its manifest, the same declarations are replayed into a new registry, which results
//! in the same topics, streams and layouts.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_schema::SchemaRef;
use logtool_core::{
    ColumnBudget, IdSet, Layout, LayoutKind, Timestamp, TopicId, raw_schema,
};
use serde::{Deserialize, Serialize};

use crate::{
    declarations::formats::{DefineResult, Formats},
    topics::streams::{Stream, Streams},
};

/// A declaration of a log, in file order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Declaration {
    /// A type: its name, and the text of its fields.
    Format(String, String),
    /// From this offset on, `id` refers to the topic `name` of `instance`.
    Subscription { offset: u64, id: u16, name: String, instance: u8, topic: TopicId },
    /// In an excerpt: from this offset on, these ids refer to topics that it omits. The old name of
    /// the variant is part of stored manifests.
    #[serde(rename = "LeftOut")]
    OmittedTopics { offset: u64, ids: IdSet },
    /// The message of an information or a parameter, and the time and offset of a
    /// parameter change during logging.
    Metadata {
        kind: u8,
        #[serde(with = "logtool_core::hex")]
        payload: Vec<u8>,
        change: Option<(Timestamp, u64)>,
    },
}

/// All declarations so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    pub(crate) formats: Formats,
    pub(crate) streams: Streams,
    pub(crate) topics: Vec<DeclaredTopic>,
    by_name: HashMap<(String, u8), TopicId>,
    /// The number of redefinitions of each type.
    versions: HashMap<String, u32>,
    column_budget: ColumnBudget,
    /// The last topic of each type.
    last_of_type: HashMap<String, usize>,
    /// The labels of all topics.
    labels: HashSet<String>,
    /// The number of labels that were already in use.
    collisions: u32,
}

/// A topic of a log.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredTopic {
    /// The name of its type, which is also the name of the topic in the file.
    pub(crate) type_name: String,
    /// The name of the topic, with a version if the type was redefined.
    pub(crate) name: String,
    pub(crate) instance: u8,
    /// The text of its fields; empty if its type is not defined.
    pub(crate) text: Arc<str>,
    /// The layout of the fields, if it is known, even if it has too many columns.
    known_layout: Option<Arc<Layout>>,
    /// The layout of the records, or the reason why they cannot be decoded.
    pub(crate) layout: Result<Arc<Layout>, String>,
    pub(crate) schema: SchemaRef,
}

/// The effect of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscribeResult {
    /// The id was not in use, or referred to the same topic.
    Assigned(TopicId),
    /// The id referred to another topic before.
    Reassigned(TopicId),
    /// There are too many topics.
    TooMany,
}

impl Registry {
    /// Defines a type. Topics that are already subscribed keep the previous definition.
    pub(crate) fn define(&mut self, name: &str, fields: &str) -> DefineResult {
        let defined = self.formats.define(name, fields);
        if defined == DefineResult::Redefined {
            *self.versions.entry(name.to_owned()).or_default() += 1;
            self.by_name.retain(|(_, _), topic| {
                self.topics.get(topic.index()).is_some_and(|t| t.type_name != name)
            });
        }
        defined
    }

    /// Assigns `id` to the topic `name` of `instance`.
    pub(crate) fn subscribe(
        &mut self,
        id: u16,
        name: &str,
        instance: u8,
    ) -> SubscribeResult {
        let key = (name.to_owned(), instance);
        let topic = match self.by_name.get(&key) {
            Some(topic) => *topic,
            None => match self.declare(name, instance) {
                Some(topic) => {
                    self.by_name.insert(key, topic);
                    topic
                }
                None => return SubscribeResult::TooMany,
            },
        };
        let previous = self.streams.index_of(id);
        // A stream is added for each topic, so both have the same index.
        self.streams.subscribe(id, topic.index());
        match previous {
            Some(previous) if previous != topic.index() => {
                SubscribeResult::Reassigned(topic)
            }
            _ => SubscribeResult::Assigned(topic),
        }
    }

    fn declare(&mut self, type_name: &str, instance: u8) -> Option<TopicId> {
        let topic = TopicId(u32::try_from(self.topics.len()).ok()?);
        let layout = self.formats.layout(type_name).map_err(|err| err.to_string());
        let stream = match &layout {
            Ok(layout) => Stream::new(Some(layout)),
            Err(_) => match self.formats.time_offset(type_name) {
                Some(offset) => Stream::timed_at(offset),
                None => Stream::new(None),
            },
        };
        self.streams.add(stream)?;
        let text = self.formats.text(type_name).unwrap_or_default();
        let known_layout = layout.as_ref().ok().cloned();
        let previous = self.last_of_type.insert(type_name.to_owned(), topic.index());
        let previous = previous.and_then(|previous| self.topics.get(previous));
        let previous = previous.filter(|previous| {
            *previous.text == *text && previous.known_layout == known_layout
        });
        let (text, result) = match previous {
            Some(DeclaredTopic { text, layout, schema, .. }) => {
                let result = layout.clone().and_then(|layout| {
                    let admitted = self.column_budget.admit(schema);
                    admitted.map_err(|err| err.to_string())?;
                    Ok((layout, schema.clone()))
                });
                (text.clone(), result)
            }
            None => {
                let result = layout.and_then(|layout| {
                    let schema = self.column_budget.schema(&layout);
                    Ok((layout, schema.map_err(|err| err.to_string())?))
                });
                (text.into(), result)
            }
        };
        let (layout, schema) = match result {
            Ok((layout, schema)) => (Ok(layout), schema),
            Err(reason) => (Err(reason), raw_schema("us")),
        };
        let name = self.unique_name(type_name, instance);
        let type_name = type_name.to_owned();
        let declared = DeclaredTopic {
            type_name,
            name,
            instance,
            text,
            known_layout,
            layout,
            schema,
        };
        self.topics.push(declared);
        Some(topic)
    }

    /// Returns the text of the fields of `topic`, followed by the formats of nested
    /// types as in the file. `budget` is the remaining number of bytes for nested formats.
    pub(crate) fn definition(
        &self,
        topic: &DeclaredTopic,
        budget: &mut usize,
    ) -> String {
        let mut text = topic.text.to_string();
        let mut names = HashSet::new();
        let mut queue: Vec<&Layout> =
            topic.layout.iter().map(|layout| &**layout).collect();
        while let Some(layout) = queue.pop() {
            for field in &layout.fields {
                let LayoutKind::Nested(inner) = &field.kind else { continue };
                // The definition of a redefined type may differ from the one in use.
                let fields = self.formats.text(&inner.name);
                let fields =
                    fields.filter(|_| !self.versions.contains_key(&inner.name));
                let Some(fields) = fields.filter(|_| names.insert(&inner.name)) else {
                    continue;
                };
                let line = format!("\n{}:{fields}", inner.name);
                let Some(remaining) = budget.checked_sub(line.len()) else {
                    return text;
                };
                *budget = remaining;
                text.push_str(&line);
                queue.push(inner);
            }
        }
        text
    }

    /// Returns the name of a new topic: the name of its type, with a version if the type was
    /// redefined, or with a number if its label is already in use. For example, `a.1` may be the
    /// label of a topic `a.1`, or of instance 1 of `a`.
    fn unique_name(&mut self, type_name: &str, instance: u8) -> String {
        let mut name = match self.versions.get(type_name) {
            None => type_name.to_owned(),
            Some(version) => format!("{type_name}@{}", version + 1),
        };
        let label = |name: &str| match instance {
            0 => name.to_owned(),
            instance => format!("{name}.{instance}"),
        };
        while !self.labels.insert(label(&name)) {
            self.collisions += 1;
            name = format!("{type_name}~{}", self.collisions);
        }
        name
    }

    /// Returns true if the type of a topic was defined after its subscription.
    pub(crate) fn has_late_types(&self) -> bool {
        let mut formats = self.formats.clone();
        let is_late = |t: &DeclaredTopic| {
            t.layout.is_err() && formats.layout(&t.type_name).is_ok()
        };
        self.topics.iter().any(is_late)
    }
}
