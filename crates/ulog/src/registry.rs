//! What a log has declared: types, and the topics that have them.
//!
//! The survey fills a registry as it goes; a resumed log replays the same declarations
//! into a new one, and so comes to the same topics, streams and layouts.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_schema::SchemaRef;
use logtool_core::{ColumnBudget, Layout, LayoutKind, Timestamp, TopicId, raw_schema};
use serde::{Deserialize, Serialize};

use crate::{
    formats::{Defined, Formats},
    streams::{Stream, Streams},
};

/// Something that a log declared, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Declaration {
    /// A type: its name, and the text of its fields.
    Format(String, String),
    /// From this offset on, `id` stands for the topic `name` of `instance`.
    Subscription { offset: u64, id: u16, name: String, instance: u8, topic: TopicId },
    /// An information or a parameter: its message, and, of a parameter that was changed
    /// while logging, when and where.
    Metadata {
        kind: u8,
        #[serde(with = "logtool_core::hex")]
        payload: Vec<u8>,
        change: Option<(Timestamp, u64)>,
    },
}

/// All that has been declared so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    pub(crate) formats: Formats,
    pub(crate) streams: Streams,
    pub(crate) topics: Vec<Declared>,
    by_name: HashMap<(String, u8), TopicId>,
    /// How often each type was defined anew.
    versions: HashMap<String, u32>,
    room: ColumnBudget,
    /// The last topic of each type.
    last_of_type: HashMap<String, usize>,
    /// By what the topics are known, and how often that was taken already.
    labels: HashSet<String>,
    collisions: u32,
}

/// A topic of a log.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    /// The name of its type, which is the topic's too.
    pub(crate) type_name: String,
    /// The topic's name: with a version where the type was defined anew.
    pub(crate) name: String,
    pub(crate) instance: u8,
    /// The text of its fields; empty if its type is not defined.
    pub(crate) text: Arc<str>,
    /// How its records look, if that can be said.
    told: Option<Arc<Layout>>,
    /// The same, or why they cannot be decoded.
    pub(crate) layout: Result<Arc<Layout>, String>,
    pub(crate) schema: SchemaRef,
}

/// What came of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subscribed {
    /// The id was free, or stood for the same, and stands for this topic.
    Fine(TopicId),
    /// The id stood for another topic before.
    Reused(TopicId),
    /// There are too many topics.
    TooMany,
}

impl Registry {
    /// Defines a type. What has subscribed to it keeps the type that it had.
    pub(crate) fn define(&mut self, name: &str, fields: &str) -> Defined {
        let defined = self.formats.define(name, fields);
        if defined == Defined::Otherwise {
            *self.versions.entry(name.to_owned()).or_default() += 1;
            self.by_name.retain(|(_, _), topic| {
                self.topics.get(topic.index()).is_some_and(|t| t.type_name != name)
            });
        }
        defined
    }

    /// Lets `id` stand for the topic `name` of `instance`.
    pub(crate) fn subscribe(
        &mut self,
        id: u16,
        name: &str,
        instance: u8,
    ) -> Subscribed {
        let key = (name.to_owned(), instance);
        let topic = match self.by_name.get(&key) {
            Some(topic) => *topic,
            None => match self.declare(name, instance) {
                Some(topic) => {
                    self.by_name.insert(key, topic);
                    topic
                }
                None => return Subscribed::TooMany,
            },
        };
        let before = self.streams.index_of(id);
        // A stream is added for each topic, so that their indices are the same.
        self.streams.subscribe(id, topic.index());
        match before {
            Some(before) if before != topic.index() => Subscribed::Reused(topic),
            _ => Subscribed::Fine(topic),
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
        let told = layout.as_ref().ok().cloned();
        let twin = self.last_of_type.insert(type_name.to_owned(), topic.index());
        let twin = twin.and_then(|twin| self.topics.get(twin));
        let twin = twin.filter(|twin| *twin.text == *text && twin.told == told);
        let (text, made) = match twin {
            Some(Declared { text, layout, schema, .. }) => {
                let made = layout.clone().and_then(|layout| {
                    let admitted = self.room.admit(schema);
                    admitted.map_err(|err| err.to_string())?;
                    Ok((layout, schema.clone()))
                });
                (text.clone(), made)
            }
            None => {
                let made = layout.and_then(|layout| {
                    let schema = self.room.schema(&layout);
                    Ok((layout, schema.map_err(|err| err.to_string())?))
                });
                (text.into(), made)
            }
        };
        let (layout, schema) = match made {
            Ok((layout, schema)) => (Ok(layout), schema),
            Err(why) => (Err(why), raw_schema("us")),
        };
        let name = self.free_name(type_name, instance);
        let type_name = type_name.to_owned();
        let declared =
            Declared { type_name, name, instance, text, told, layout, schema };
        self.topics.push(declared);
        Some(topic)
    }

    /// The text of the fields of `topic`, and behind it, as the file has them, the formats of
    /// the types in it; `room` is how many bytes of these there may be.
    pub(crate) fn definition(&self, topic: &Declared, room: &mut usize) -> String {
        let mut text = topic.text.to_string();
        let mut seen = HashSet::new();
        let mut next: Vec<&Layout> =
            topic.layout.iter().map(|layout| &**layout).collect();
        while let Some(layout) = next.pop() {
            for field in &layout.fields {
                let LayoutKind::Nested(inner) = &field.kind else { continue };
                // What was defined anew may not be what it was.
                let fields = self.formats.text(&inner.name);
                let fields =
                    fields.filter(|_| !self.versions.contains_key(&inner.name));
                let Some(fields) = fields.filter(|_| seen.insert(&inner.name)) else {
                    continue;
                };
                let line = format!("\n{}:{fields}", inner.name);
                let Some(less) = room.checked_sub(line.len()) else { return text };
                *room = less;
                text.push_str(&line);
                next.push(inner);
            }
        }
        text
    }

    /// The name of a new topic: that of its type, with a number where the type was
    /// defined anew, or where another topic is known as what this one would be:
    /// `a.1`, or `a` of instance 1.
    fn free_name(&mut self, type_name: &str, instance: u8) -> String {
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

    /// Whether some topic lacked a type that is defined by now.
    pub(crate) fn has_late_types(&self) -> bool {
        let mut formats = self.formats.clone();
        let is_late =
            |t: &Declared| t.layout.is_err() && formats.layout(&t.type_name).is_ok();
        self.topics.iter().any(is_late)
    }
}
