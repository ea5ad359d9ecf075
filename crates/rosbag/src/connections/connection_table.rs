//! The connections of a bag by their ids, and the topics that they form.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use logtool_core::{IdSet, MetadataKeys, Stream, TopicId, TopicSet};
use serde::{Deserialize, Serialize};

use crate::connections::{
    connection::{Connection, RawConnection},
    connection_trust::{is_corrupted_copy, is_misnamed},
    type_variants::TypeVariants,
};

/// Connections in the order of their first declaration.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionTable {
    pub(crate) entries: Vec<ConnectionEntry>,
    /// The entries of each connection id, in the order of the file.
    by_id: BTreeMap<u32, Vec<u32>>,
    /// The topic of each name, type and MD5 sum.
    topics: HashMap<TopicKey, TopicId>,
    /// The entries of each topic, in the order of their ids.
    by_topic: Vec<Vec<u32>>,
    /// The ids of all connections, including connections that an excerpt leaves out. Set
    /// when the table is restored, which makes excerpts cheap.
    all_ids: IdSet,
    /// Whether the table is of an excerpt, which may leave out connections.
    is_partial: bool,
}

/// Connections with equal keys share a topic: the topic name, the type, its MD5 sum (or its
/// definition if the sum is `*`), and the index of the layout where several have that sum.
type TopicKey = (Vec<u8>, String, String, usize);

/// A connection, and the position in the file from which on its id refers to it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionEntry {
    pub(crate) connection: Connection,
    pub(crate) valid_from: u64,
    /// The start of the part that declares the connection, or 0 if the index declares it or the
    /// part is not known.
    pub(crate) declared_at: u64,
    /// The topic of its messages. Set when the table is [finished](ConnectionTable::finish).
    pub(crate) topic: TopicId,
}

/// The serialized form of an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredEntry {
    #[serde(rename = "since")]
    valid_from: u64,
    raw: RawConnection,
    /// The topic, if the manifest is an excerpt: there it does not follow from the connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<TopicId>,
}

/// The result of registering a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterResult {
    /// The id is new.
    New,
    /// The connection is already registered, possibly as a corrupted copy, which is replaced.
    AlreadyRegistered,
    /// The connection is a corrupted copy of the registered connection, and is ignored.
    CorruptedCopy,
    /// The connection or the registered connection is a copy with a wrong topic, which is not
    /// used.
    Misnamed,
    /// The id referred to another connection before.
    Conflict,
}

impl ConnectionTable {
    /// Registers the connection `raw`, which the part at `at` declares. The connections with one
    /// id must be registered in the order of the file.
    pub(crate) fn register(&mut self, raw: RawConnection, at: u64) -> RegisterResult {
        let connection = Connection::new(raw);
        let versions = self.by_id.entry(connection.id).or_default();
        let last =
            versions.last().and_then(|last| self.entries.get_mut(*last as usize));
        let result =
            match last.map(|last| (&mut last.connection, &mut last.declared_at)) {
                None => RegisterResult::New,
                Some((last, _))
                    if last.has_same_topic_and_type(&connection)
                        && last.definition == connection.definition =>
                {
                    return RegisterResult::AlreadyRegistered;
                }
                Some((last, _)) if is_corrupted_copy(&connection, last) => {
                    return RegisterResult::CorruptedCopy;
                }
                Some((last, _)) if is_misnamed(&connection, last) => {
                    return RegisterResult::Misnamed;
                }
                Some((last, declared_at)) if is_corrupted_copy(last, &connection) => {
                    (*last, *declared_at) = (connection, at);
                    return RegisterResult::AlreadyRegistered;
                }
                Some((last, declared_at)) if is_misnamed(last, &connection) => {
                    (*last, *declared_at) = (connection, at);
                    return RegisterResult::Misnamed;
                }
                Some((last, _)) if last.has_same_topic_and_type(&connection) => {
                    return RegisterResult::AlreadyRegistered;
                }
                Some(_) => RegisterResult::Conflict,
            };
        versions.push(self.entries.len() as u32);
        // The first declaration of an id is also valid for messages before it.
        let valid_from = if result == RegisterResult::New { 0 } else { at };
        let topic = TopicId::default();
        self.entries.push(ConnectionEntry {
            connection,
            valid_from,
            declared_at: at,
            topic,
        });
        result
    }

    /// Returns the index of the entry to which `id` refers in a chunk that begins at `at`.
    pub(crate) fn lookup(&self, id: u32, at: u64) -> Option<u32> {
        let versions = self.by_id.get(&id)?;
        let is_valid = |entry: &u32| {
            self.entries
                .get(*entry as usize)
                .is_some_and(|entry| entry.valid_from <= at)
        };
        versions.get(versions.partition_point(is_valid).checked_sub(1)?).copied()
    }

    /// Creates a table for streams of other formats, each with its topic.
    pub(crate) fn from_streams(streams: Vec<(RawConnection, TopicId)>) -> Self {
        let entry = |(raw, topic)| ConnectionEntry {
            connection: Connection::new(raw),
            valid_from: 0,
            declared_at: 0,
            topic,
        };
        Self { entries: streams.into_iter().map(entry).collect(), ..Self::default() }
    }

    /// Returns the connections as streams with metadata.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        let stream = |entry: &ConnectionEntry| Stream {
            topic: entry.topic,
            metadata: entry.connection.metadata_entries(),
            metadata_keys: MetadataKeys::Format,
        };
        self.entries.iter().map(stream).collect()
    }

    /// Returns whether an id refers to several connections, at different positions in the file.
    pub(crate) fn has_reused_ids(&self) -> bool {
        self.by_id.values().any(|versions| versions.len() > 1)
    }

    /// Returns the index of an entry with the same topic and type as `connection`.
    pub(crate) fn find_same_topic(&self, connection: &Connection) -> Option<u32> {
        let topic = self.topics.get(&key(connection, 0))?;
        self.by_topic.get(topic.index())?.first().copied()
    }

    /// Returns the number of topics.
    pub(crate) fn topic_count(&self) -> usize {
        self.by_topic.len()
    }

    /// Returns the entries of `topic` in the order of their ids.
    pub(crate) fn topic_entries(
        &self,
        topic: TopicId,
    ) -> impl Iterator<Item = &ConnectionEntry> + Clone {
        let indices = self.entry_indices(topic).iter();
        indices.filter_map(|entry| self.entries.get(*entry as usize))
    }

    /// Returns the indices of the entries of `topic` in the order of their ids.
    pub(crate) fn entry_indices(&self, topic: TopicId) -> &[u32] {
        self.by_topic.get(topic.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the indices of the latching entries of `topic`, in ascending order.
    pub(crate) fn latched_streams(&self, topic: TopicId) -> Vec<u32> {
        let entries = self.by_topic.get(topic.index()).into_iter().flatten().copied();
        let latches = |index: &u32| {
            let entry = self.entries.get(*index as usize);
            entry.is_some_and(|entry| entry.connection.is_latching())
        };
        let mut latched: Vec<u32> = entries.filter(latches).collect();
        latched.sort_unstable();
        latched
    }

    /// Returns the topic of the entry with this index.
    pub(crate) fn topic(&self, entry: u32) -> Option<TopicId> {
        self.entries.get(entry as usize).map(|entry| entry.topic)
    }

    /// Assigns a topic to every entry: one for each [key](TopicKey), in the order of the
    /// connection ids.
    pub(crate) fn finish(&mut self) {
        let order = self.in_order_of_ids();
        (self.topics, self.by_topic) = (HashMap::new(), Vec::new());
        let ordered =
            order.iter().filter_map(|index| self.entries.get(*index as usize));
        let variants = TypeVariants::new(ordered.map(|entry| &entry.connection));
        for index in order {
            let entry = &mut self.entries[index as usize];
            let next = TopicId(self.by_topic.len() as u32);
            let key = key(&entry.connection, variants.layout_index(&entry.connection));
            entry.topic = *self.topics.entry(key).or_insert(next);
            if entry.topic == next {
                self.by_topic.push(Vec::new());
            }
            self.by_topic[entry.topic.index()].push(index);
        }
    }

    /// Returns a finished table of the connections that `change` returns, in the same order. A
    /// connection for which it returns `None` is left out.
    pub(crate) fn with_changes(
        &self,
        mut change: impl FnMut(&Connection) -> Option<RawConnection>,
    ) -> Self {
        let entries = self.entries.iter();
        let stored =
            entries.filter_map(|ConnectionEntry { connection, valid_from, .. }| {
                Some(StoredEntry {
                    valid_from: *valid_from,
                    raw: change(connection)?,
                    topic: None,
                })
            });
        Self::restore(stored.collect())
    }

    /// Returns the serialized form of the entries, for [`restore`](Self::restore).
    pub(crate) fn store(&self) -> Vec<StoredEntry> {
        let stored = |entry: &ConnectionEntry| StoredEntry {
            valid_from: entry.valid_from,
            raw: entry.connection.raw().clone(),
            topic: None,
        };
        self.entries.iter().map(stored).collect()
    }

    /// Returns the indices of the entries to which the ids of the connections of `topics` refer in
    /// `ranges` of the file, including entries of other topics with the same ids.
    pub(crate) fn entries_within(
        &self,
        topics: &TopicSet,
        ranges: &[Range<u64>],
    ) -> Vec<u32> {
        let ids =
            topics.ids(self.topic_count()).flat_map(|topic| self.topic_entries(topic));
        let ids: BTreeSet<u32> = ids.map(|entry| entry.connection.id).collect();
        let mut indices: Vec<u32> = Vec::new();
        for versions in ids.iter().filter_map(|id| self.by_id.get(id)) {
            let valid_from = |version: usize| {
                let entry = self.entries.get(*versions.get(version)? as usize)?;
                Some(entry.valid_from)
            };
            for (version, entry) in versions.iter().enumerate() {
                let Some(start) = valid_from(version) else { continue };
                // Ranges are sorted. If the first range that ends at or after the start of the
                // entry begins after its end, all later ranges do too.
                let first = ranges.partition_point(|range| range.end < start);
                let is_used = ranges.get(first).is_some_and(|range| {
                    valid_from(version + 1).is_none_or(|next| range.start < next)
                });
                if is_used {
                    indices.push(*entry);
                }
            }
        }
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    /// Returns the serialized form of `entries` for an excerpt with the topics `included_topics`.
    pub(crate) fn store_excerpt(
        &self,
        entries: &[u32],
        included_topics: &TopicSet,
    ) -> Vec<StoredEntry> {
        let entries = entries.iter().filter_map(|entry| {
            let entry = self.entries.get(*entry as usize)?;
            let topic = Some(included_topics.position(entry.topic)?);
            let raw = entry.connection.raw().clone();
            Some(StoredEntry { valid_from: entry.valid_from, raw, topic })
        });
        entries.collect()
    }

    /// Returns the ids of all connections of a [restored](Self::restore) table, including
    /// connections that an excerpt leaves out.
    pub(crate) fn all_ids(&self) -> &IdSet {
        &self.all_ids
    }

    /// Sets the ids of all connections of the bag, if the table is of an excerpt. Otherwise,
    /// `all_ids` is empty, and the table is unchanged.
    pub(crate) fn with_all_ids(mut self, all_ids: IdSet) -> Self {
        if !all_ids.is_empty() {
            (self.all_ids, self.is_partial) = (all_ids, true);
        }
        self
    }

    /// Returns whether the table may have only some of the connections.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns whether `id` refers to a connection that the excerpt leaves out.
    pub(crate) fn is_omitted(&self, id: u32) -> bool {
        self.all_ids.contains(id) && !self.by_id.contains_key(&id)
    }

    /// Returns the finished table of stored entries.
    pub(crate) fn restore(stored: Vec<StoredEntry>) -> Self {
        let mut table = Self::default();
        let mut topics = Vec::new();
        for StoredEntry { valid_from, raw, topic } in stored {
            let connection = Connection::new(raw);
            let index = table.entries.len() as u32;
            table.by_id.entry(connection.id).or_default().push(index);
            topics.extend(topic);
            let topic = TopicId::default();
            table.entries.push(ConnectionEntry {
                connection,
                valid_from,
                declared_at: 0,
                topic,
            });
        }
        // The topics of an excerpt do not follow from its connections alone.
        if topics.is_empty() {
            table.finish();
        } else {
            table.assign_topics(&topics);
        }
        table.all_ids = table.by_id.keys().copied().collect();
        table
    }

    /// Assigns `topics` to the entries.
    fn assign_topics(&mut self, topics: &[TopicId]) {
        (self.topics, self.by_topic) = (HashMap::new(), Vec::new());
        for index in self.in_order_of_ids() {
            let entry = &mut self.entries[index as usize];
            entry.topic = topics.get(index as usize).copied().unwrap_or_default();
            let key = key(&entry.connection, 0);
            self.topics.entry(key).or_insert(entry.topic);
            let topic_index = entry.topic.index();
            if self.by_topic.len() <= topic_index && topic_index < topics.len() {
                self.by_topic.resize(topic_index + 1, Vec::new());
            }
            self.by_topic
                .get_mut(topic_index)
                .into_iter()
                .for_each(|indices| indices.push(index));
        }
    }

    /// Returns the indices of the entries, sorted by connection id.
    fn in_order_of_ids(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_by_key(|index| {
            let entry = &self.entries[*index as usize];
            (entry.connection.id, entry.valid_from)
        });
        order
    }
}

/// Returns the key of a connection whose layout has the index `layout` among those of its type.
fn key(connection: &Connection, layout: usize) -> TopicKey {
    let Connection { type_name, md5sum, definition, .. } = connection;
    // The sum `*` matches any definition.
    let type_identity = if md5sum == "*" { definition } else { md5sum };
    (
        connection.topic_bytes().to_vec(),
        type_name.clone(),
        type_identity.clone(),
        layout,
    )
}
