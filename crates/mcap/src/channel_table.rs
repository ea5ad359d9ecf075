//! The channels of a file, grouped into topics.

use std::{collections::HashMap, ops::Range, sync::Arc};

use logtool_core::TopicId;

use crate::wire::{Channel, Schema};

/// The channels in the order of their declarations. The
/// [stream](logtool_core::Record::stream) of a record is an index into them.
#[derive(Debug, Default)]
pub(crate) struct ChannelTable {
    schemas: HashMap<u16, KnownSchema>,
    /// The indices of distinct schema contents.
    numbers_by_schema: HashMap<(String, String, Vec<u8>), SchemaIndex>,
    pub(crate) channels: Vec<ChannelEntry>,
    by_id: HashMap<u16, usize>,
    topics: HashMap<TopicKey, TopicId>,
    /// The channels of each topic.
    by_topic: Vec<Vec<usize>>,
    /// The number of declarations that contradict earlier ones.
    pub(crate) conflicts: u64,
}

/// Channels with an equal key are one topic: the name, the message encoding, and the
/// schema, if there is one.
type TopicKey = (String, String, Option<SchemaIndex>);

/// The index of a distinct schema content. (A file may have 65,535 channels with one
/// schema of several megabytes, which is neither copied nor hashed for each channel.)
type SchemaIndex = usize;

/// A declared schema.
#[derive(Debug)]
struct KnownSchema {
    number: SchemaIndex,
    schema: Arc<Schema>,
    position: Range<u64>,
}

/// A channel with its schema and its topic.
#[derive(Clone, Debug)]
pub(crate) struct ChannelEntry {
    pub(crate) channel: Channel,
    pub(crate) schema: Arc<Schema>,
    /// The byte range that declares the schema: its record, or the compressed chunk
    /// that contains it.
    pub(crate) schema_position: Range<u64>,
    pub(crate) topic: TopicId,
}

impl ChannelTable {
    /// Adds a schema, which is declared at `position`.
    pub(crate) fn schema(&mut self, schema: Schema, position: Range<u64>) {
        match self.schemas.get(&schema.id) {
            Some(existing) => self.conflicts += u64::from(*existing.schema != schema),
            None => {
                let Schema { id, name, encoding, data } = schema.clone();
                let next = self.numbers_by_schema.len();
                let number = *self
                    .numbers_by_schema
                    .entry((name, encoding, data))
                    .or_insert(next);
                let schema = Arc::new(schema);
                self.schemas.insert(id, KnownSchema { number, schema, position });
            }
        }
    }

    /// Adds a channel.
    pub(crate) fn channel(&mut self, channel: Channel) {
        let existing =
            self.by_id.get(&channel.id).and_then(|at| self.channels.get(*at));
        if let Some(existing) = existing {
            self.conflicts += u64::from(existing.channel != channel);
            return;
        }
        let existing = self.schemas.get(&channel.schema);
        let number = existing.map(|existing| existing.number);
        let schema =
            existing.map(|existing| existing.schema.clone()).unwrap_or_default();
        let schema_position =
            existing.map_or(0..0, |existing| existing.position.clone());
        let key = (channel.topic.clone(), channel.encoding.clone(), number);
        let new = TopicId(self.topics.len() as u32);
        let topic = *self.topics.entry(key).or_insert(new);
        self.by_id.insert(channel.id, self.channels.len());
        if topic == new {
            self.by_topic.push(Vec::new());
        }
        if let Some(channels_of_topic) = self.by_topic.get_mut(topic.index()) {
            channels_of_topic.push(self.channels.len());
        }
        self.channels.push(ChannelEntry { channel, schema, schema_position, topic });
    }

    /// Returns the stream of the channel `id`.
    pub(crate) fn stream(&self, id: u16) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Returns the topic of the channel `id`.
    pub(crate) fn topic(&self, id: u16) -> Option<TopicId> {
        self.channels.get(self.stream(id)?).map(|entry| entry.topic)
    }

    /// Returns the number of topics.
    pub(crate) fn topics(&self) -> usize {
        self.topics.len()
    }

    /// Returns the channels of `topic`, each with its stream.
    pub(crate) fn topic_channels(
        &self,
        topic: TopicId,
    ) -> impl Iterator<Item = (usize, &ChannelEntry)> {
        let streams = self.by_topic.get(topic.index()).into_iter().flatten();
        streams.filter_map(|stream| Some((*stream, self.channels.get(*stream)?)))
    }
}
