//! The channels of a file, and the topics that they make.

use std::{collections::HashMap, ops::Range, sync::Arc};

use logtool_core::TopicId;

use crate::wire::{Channel, Schema};

/// Channels in the order in which they are told of: a record's
/// [stream](logtool_core::Record::stream) is an index into them.
#[derive(Debug, Default)]
pub(crate) struct Table {
    schemas: HashMap<u16, Known>,
    /// The numbers of schemas that are alike but for their ids.
    alike: HashMap<(String, String, Vec<u8>), Number>,
    pub(crate) channels: Vec<Entry>,
    by_id: HashMap<u16, usize>,
    topics: HashMap<TopicKey, TopicId>,
    /// The channels of each topic.
    of_topics: Vec<Vec<usize>>,
    /// Declarations that contradict earlier ones.
    pub(crate) conflicts: u64,
}

/// What makes the messages of channels alike: the name of the topic, how messages are
/// written, and the schema, if there is one.
type TopicKey = (String, String, Option<Number>);

/// Schemas that are alike have one number. (A file may have 65,535 channels of one schema
/// of megabytes, which is neither copied nor hashed for each.)
type Number = usize;

/// A schema that was declared.
#[derive(Debug)]
struct Known {
    number: Number,
    schema: Arc<Schema>,
    place: Range<u64>,
}

/// A channel, what its messages look like, and its topic.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) channel: Channel,
    pub(crate) schema: Arc<Schema>,
    /// The bytes of the file that declare the schema: its record, or the packed chunk with it.
    pub(crate) schema_place: Range<u64>,
    pub(crate) topic: TopicId,
}

impl Table {
    /// Notes a schema, which is declared at `place`.
    pub(crate) fn schema(&mut self, schema: Schema, place: Range<u64>) {
        match self.schemas.get(&schema.id) {
            Some(known) => self.conflicts += u64::from(*known.schema != schema),
            None => {
                let Schema { id, name, encoding, data } = schema.clone();
                let next = self.alike.len();
                let number = *self.alike.entry((name, encoding, data)).or_insert(next);
                let schema = Arc::new(schema);
                self.schemas.insert(id, Known { number, schema, place });
            }
        }
    }

    /// Notes a channel.
    pub(crate) fn channel(&mut self, channel: Channel) {
        let known = self.by_id.get(&channel.id).and_then(|at| self.channels.get(*at));
        if let Some(known) = known {
            self.conflicts += u64::from(known.channel != channel);
            return;
        }
        let known = self.schemas.get(&channel.schema);
        let number = known.map(|known| known.number);
        let schema = known.map(|known| known.schema.clone()).unwrap_or_default();
        let schema_place = known.map_or(0..0, |known| known.place.clone());
        let key = (channel.topic.clone(), channel.encoding.clone(), number);
        let new = TopicId(self.topics.len() as u32);
        let topic = *self.topics.entry(key).or_insert(new);
        self.by_id.insert(channel.id, self.channels.len());
        if topic == new {
            self.of_topics.push(Vec::new());
        }
        if let Some(of_topic) = self.of_topics.get_mut(topic.index()) {
            of_topic.push(self.channels.len());
        }
        self.channels.push(Entry { channel, schema, schema_place, topic });
    }

    /// Which of the channels has the number `id`.
    pub(crate) fn stream(&self, id: u16) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The topic of the channel with the number `id`.
    pub(crate) fn topic(&self, id: u16) -> Option<TopicId> {
        self.channels.get(self.stream(id)?).map(|entry| entry.topic)
    }

    /// How many topics there are.
    pub(crate) fn topics(&self) -> usize {
        self.topics.len()
    }

    /// The channels of `topic`, each with the number of its stream.
    pub(crate) fn of_topic(
        &self,
        topic: TopicId,
    ) -> impl Iterator<Item = (usize, &Entry)> {
        let streams = self.of_topics.get(topic.index()).into_iter().flatten();
        streams.filter_map(|stream| Some((*stream, self.channels.get(*stream)?)))
    }
}
