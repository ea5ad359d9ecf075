//! What the numbers of connections stand for, and which topics they make.

use std::collections::{BTreeMap, HashMap};

use logtool_core::{Stream, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    connection::{Connection, Raw},
    connection_trust::{is_misnamed, is_spoiled},
    layouts::Layouts,
};

/// Connections in the order in which they are told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
    /// The entries of each number, in the order of the file.
    by_id: BTreeMap<u32, Vec<u32>>,
    /// The topic of each name, type and MD5 sum.
    topics: HashMap<TopicKey, TopicId>,
    /// The entries of each topic, in the order of their numbers.
    by_topic: Vec<Vec<u32>>,
}

/// What makes connections alike: the name of the topic, of the type, and its MD5 sum, or
/// its definition where no sum stands for that; and the number of the layout where several
/// have that sum.
type TopicKey = (Vec<u8>, String, String, usize);

/// A connection, and since where in the file its number stands for it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) connection: Connection,
    pub(crate) since: u64,
    /// Where the part begins that it is told in; 0 if that is the index, or not known.
    pub(crate) told_at: u64,
    /// Known when the table is [finished](Table::finish).
    pub(crate) topic: TopicId,
}

/// An entry, to be stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredEntry {
    since: u64,
    raw: Raw,
}

/// What became of a connection that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It is new.
    New,
    /// It is the one that its number stands for already.
    Known,
    /// It is a spoiled copy of the one that its number stands for.
    Spoiled,
    /// It or the one that its number stands for is a copy under a wrong name.
    Misnamed,
    /// Its number stood for another until here.
    Conflict,
}

impl Table {
    /// Notes that `raw` was met at `at`. The entries of one number have to be met in
    /// the order of the file.
    pub(crate) fn meet(&mut self, raw: Raw, at: u64) -> Met {
        let connection = Connection::new(raw);
        let same = self.by_id.entry(connection.id).or_default();
        let last = same.last().and_then(|last| self.entries.get_mut(*last as usize));
        let met = match last.map(|last| (&mut last.connection, &mut last.told_at)) {
            None => Met::New,
            Some((last, _))
                if last.is_like(&connection)
                    && last.definition == connection.definition =>
            {
                return Met::Known;
            }
            Some((last, _)) if is_spoiled(&connection, last) => return Met::Spoiled,
            Some((last, _)) if is_misnamed(&connection, last) => return Met::Misnamed,
            Some((last, told_at)) if is_spoiled(last, &connection) => {
                (*last, *told_at) = (connection, at);
                return Met::Known;
            }
            Some((last, told_at)) if is_misnamed(last, &connection) => {
                (*last, *told_at) = (connection, at);
                return Met::Misnamed;
            }
            Some((last, _)) if last.is_like(&connection) => return Met::Known,
            Some(_) => Met::Conflict,
        };
        same.push(self.entries.len() as u32);
        // Before its first declaration a number can stand for nothing else.
        let since = if met == Met::New { 0 } else { at };
        let topic = TopicId::default();
        self.entries.push(Entry { connection, since, told_at: at, topic });
        met
    }

    /// The index of the entry that `id` stands for in what begins at `at`.
    pub(crate) fn lookup(&self, id: u32, at: u64) -> Option<u32> {
        let same = self.by_id.get(&id)?;
        let since = |entry: &u32| {
            self.entries.get(*entry as usize).is_some_and(|entry| entry.since <= at)
        };
        same.get(same.partition_point(since).checked_sub(1)?).copied()
    }

    /// The connections of streams that are of no bag, each with its topic.
    pub(crate) fn of_streams(streams: Vec<(Raw, TopicId)>) -> Self {
        let entry = |(raw, topic)| Entry {
            connection: Connection::new(raw),
            since: 0,
            told_at: 0,
            topic,
        };
        Self { entries: streams.into_iter().map(entry).collect(), ..Self::default() }
    }

    /// The connections as people know them, each with its topic.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        let stream = |entry: &Entry| Stream {
            topic: entry.topic,
            metadata: entry.connection.facts(),
        };
        self.entries.iter().map(stream).collect()
    }

    /// Whether some number stands for several connections.
    pub(crate) fn is_disputed(&self) -> bool {
        self.by_id.values().any(|same| same.len() > 1)
    }

    /// The index of any entry of the same topic and type.
    pub(crate) fn find_like(&self, connection: &Connection) -> Option<u32> {
        let topic = self.topics.get(&key(connection, 0))?;
        self.by_topic.get(topic.index())?.first().copied()
    }

    /// How many topics there are.
    pub(crate) fn topics(&self) -> usize {
        self.by_topic.len()
    }

    /// The entries of `topic`, by their numbers.
    pub(crate) fn of_topic(
        &self,
        topic: TopicId,
    ) -> impl Iterator<Item = &Entry> + Clone {
        let of_topic = self.by_topic.get(topic.index()).into_iter().flatten();
        of_topic.filter_map(|entry| self.entries.get(*entry as usize))
    }

    /// The indices of the entries of `topic` that latch, in ascending order.
    pub(crate) fn latched(&self, topic: TopicId) -> Vec<u32> {
        let entries = self.by_topic.get(topic.index()).into_iter().flatten().copied();
        let latches = |index: &u32| {
            let entry = self.entries.get(*index as usize);
            entry.is_some_and(|entry| entry.connection.is_latching())
        };
        let mut latched: Vec<u32> = entries.filter(latches).collect();
        latched.sort_unstable();
        latched
    }

    /// The topic of the entry with this index.
    pub(crate) fn topic(&self, entry: u32) -> Option<TopicId> {
        self.entries.get(entry as usize).map(|entry| entry.topic)
    }

    /// Gives every entry its topic: one for each [key](TopicKey), in the order of the
    /// connections' numbers.
    pub(crate) fn finish(&mut self) {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_by_key(|index| {
            let entry = &self.entries[*index as usize];
            (entry.connection.id, entry.since)
        });
        (self.topics, self.by_topic) = (HashMap::new(), Vec::new());
        let ordered =
            order.iter().filter_map(|index| self.entries.get(*index as usize));
        let layouts = Layouts::new(ordered.map(|entry| &entry.connection));
        for index in order {
            let entry = &mut self.entries[index as usize];
            let next = TopicId(self.by_topic.len() as u32);
            let key = key(&entry.connection, layouts.number(&entry.connection));
            entry.topic = *self.topics.entry(key).or_insert(next);
            if entry.topic == next {
                self.by_topic.push(Vec::new());
            }
            self.by_topic[entry.topic.index()].push(index);
        }
    }

    /// The finished table of these connections, each as `change` makes it, without those
    /// of which that makes nothing.
    pub(crate) fn changed(
        &self,
        mut change: impl FnMut(&Connection) -> Option<Raw>,
    ) -> Self {
        let entries = self.entries.iter();
        let stored = entries.filter_map(|Entry { connection, since, .. }| {
            Some(StoredEntry { since: *since, raw: change(connection)? })
        });
        Self::restore(stored.collect())
    }

    /// The entries, to be stored and [restored](Self::restore).
    pub(crate) fn store(&self) -> Vec<StoredEntry> {
        let stored = |entry: &Entry| StoredEntry {
            since: entry.since,
            raw: entry.connection.raw().clone(),
        };
        self.entries.iter().map(stored).collect()
    }

    /// The finished table of which these were the entries.
    pub(crate) fn restore(stored: Vec<StoredEntry>) -> Self {
        let mut table = Self::default();
        for StoredEntry { since, raw } in stored {
            let connection = Connection::new(raw);
            let index = table.entries.len() as u32;
            table.by_id.entry(connection.id).or_default().push(index);
            let topic = TopicId::default();
            table.entries.push(Entry { connection, since, told_at: 0, topic });
        }
        table.finish();
        table
    }
}

fn key(connection: &Connection, layout: usize) -> TopicKey {
    let Connection { type_name, md5sum, definition, .. } = connection;
    // Any definition has the sum `*`.
    let of_type = if md5sum == "*" { definition } else { md5sum };
    (connection.topic_bytes().to_vec(), type_name.clone(), of_type.clone(), layout)
}
