//! The channels of a file, grouped into topics.

use std::{collections::HashMap, ops::Range, sync::Arc};

use logtool_core::TopicId;

use crate::wire::{Channel, Schema};

/// The schemas and channels that a file declares.
#[derive(Debug, Default)]
pub(crate) struct ChannelTable {
    schemas: HashMap<u16, DeclaredSchema>,
    /// The distinct schemas: name, encoding and data.
    distinct_schemas: HashMap<(String, String, Vec<u8>), SchemaIndex>,
    /// The channels in the order of their declarations. The
    /// [stream](logtool_core::Record::stream) of a record is an index into them.
    pub(crate) channels: Vec<DeclaredChannel>,
    /// The stream of each channel, by channel id.
    by_id: HashMap<u16, usize>,
    topics: HashMap<TopicKey, TopicId>,
    /// The streams of each topic.
    by_topic: Vec<Vec<usize>>,
    /// The number of declarations that contradict earlier ones.
    pub(crate) conflicts: u64,
}

/// Channels with an equal key are one topic: the name, the message encoding, and the
/// schema, if there is one.
type TopicKey = (String, String, Option<SchemaIndex>);

/// The index of a distinct schema. It stands for the schema in keys, because a file may
/// have 65,536 channels with one schema of several megabytes.
type SchemaIndex = usize;

/// A declared schema.
#[derive(Debug)]
struct DeclaredSchema {
    index: SchemaIndex,
    schema: Arc<Schema>,
    position: Range<u64>,
}

/// A declared channel with its schema and its topic.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredChannel {
    pub(crate) channel: Channel,
    pub(crate) schema: Arc<Schema>,
    /// The byte range that declares the schema: its record, or the compressed chunk
    /// that contains it.
    pub(crate) schema_position: Range<u64>,
    pub(crate) topic: TopicId,
}

impl ChannelTable {
    /// Adds a schema, which is declared at `position`, unless its id is declared already.
    pub(crate) fn add_schema(&mut self, schema: Schema, position: Range<u64>) {
        match self.schemas.get(&schema.id) {
            Some(existing) => self.conflicts += u64::from(*existing.schema != schema),
            None => {
                let Schema { id, name, encoding, data } = schema.clone();
                let next_index = self.distinct_schemas.len();
                let index = *self
                    .distinct_schemas
                    .entry((name, encoding, data))
                    .or_insert(next_index);
                let schema = Arc::new(schema);
                self.schemas.insert(id, DeclaredSchema { index, schema, position });
            }
        }
    }

    /// Adds a channel, unless its id is declared already. Its schema must have been added
    /// before.
    pub(crate) fn add_channel(&mut self, channel: Channel) {
        let existing =
            self.stream(channel.id).and_then(|stream| self.channels.get(stream));
        if let Some(existing) = existing {
            self.conflicts += u64::from(existing.channel != channel);
            return;
        }
        let declared_schema = self.schemas.get(&channel.schema);
        let schema_index = declared_schema.map(|declared| declared.index);
        let schema =
            declared_schema.map(|declared| declared.schema.clone()).unwrap_or_default();
        let schema_position =
            declared_schema.map_or(0..0, |declared| declared.position.clone());
        let key = (channel.topic.clone(), channel.encoding.clone(), schema_index);
        let next_topic = TopicId(self.topics.len() as u32);
        let topic = *self.topics.entry(key).or_insert(next_topic);
        if topic == next_topic {
            self.by_topic.push(Vec::new());
        }
        let stream = self.channels.len();
        self.by_id.insert(channel.id, stream);
        if let Some(streams) = self.by_topic.get_mut(topic.index()) {
            streams.push(stream);
        }
        self.channels.push(DeclaredChannel { channel, schema, schema_position, topic });
    }

    /// Returns the stream of the channel `id`.
    fn stream(&self, id: u16) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Returns the topic of the channel `id`.
    pub(crate) fn topic(&self, id: u16) -> Option<TopicId> {
        self.channels.get(self.stream(id)?).map(|declared| declared.topic)
    }

    /// Returns the number of topics.
    pub(crate) fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// Returns the channels of `topic`, each with its stream.
    pub(crate) fn topic_channels(
        &self,
        topic: TopicId,
    ) -> impl Iterator<Item = (usize, &DeclaredChannel)> {
        let streams = self.by_topic.get(topic.index()).into_iter().flatten();
        streams.filter_map(|stream| Some((*stream, self.channels.get(*stream)?)))
    }
}
