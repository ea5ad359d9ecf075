//! What the numbers of connections stand for, and which topics they make.

use std::collections::HashMap;

use logtool_core::TopicId;
use serde::{Deserialize, Serialize};

use crate::connection::{Connection, Raw};

/// Connections in the order in which they are told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
    by_id: HashMap<u32, Vec<u32>>,
}

/// A connection, and since where in the file its number stands for it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) connection: Connection,
    pub(crate) since: u64,
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
    /// Its number stood for another until here.
    Conflict,
}

impl Table {
    /// Notes that `raw` was met at `at`. The entries of one number have to be met in
    /// the order of the file.
    pub(crate) fn meet(&mut self, raw: Raw, at: u64) -> Met {
        let connection = Connection::new(raw);
        let same = self.by_id.entry(connection.id).or_default();
        let last = same.last().and_then(|last| self.entries.get(*last as usize));
        let met = match last {
            None => Met::New,
            Some(last) if last.connection.is_like(&connection) => return Met::Known,
            Some(_) => Met::Conflict,
        };
        same.push(self.entries.len() as u32);
        // Before its first declaration a number can stand for nothing else.
        let since = if met == Met::New { 0 } else { at };
        self.entries.push(Entry { connection, since, topic: TopicId::default() });
        met
    }

    /// The index of the entry that `id` stands for in what begins at `at`.
    pub(crate) fn lookup(&self, id: u32, at: u64) -> Option<u32> {
        let same = self.by_id.get(&id)?;
        let since = |entry: &&u32| {
            self.entries.get(**entry as usize).is_some_and(|entry| entry.since <= at)
        };
        same.iter().rev().find(since).copied()
    }

    /// The index of any entry of the same topic and type.
    pub(crate) fn find_like(&self, connection: &Connection) -> Option<u32> {
        let like = |entry: &Entry| entry.connection.is_like(connection);
        self.entries.iter().position(like).map(|index| index as u32)
    }

    /// The topic of the entry with this index.
    pub(crate) fn topic(&self, entry: u32) -> Option<TopicId> {
        self.entries.get(entry as usize).map(|entry| entry.topic)
    }

    /// Gives every entry its topic: one for each name, type and MD5 sum, in the order
    /// of the connections' numbers. The first entry of each comes back.
    pub(crate) fn finish(&mut self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        let key = |index: &u32| {
            let entry = &self.entries[*index as usize];
            (entry.connection.id, entry.since)
        };
        order.sort_by_key(key);
        let mut topics = HashMap::new();
        let mut firsts = Vec::new();
        for index in order {
            let entry = &mut self.entries[index as usize];
            let connection = &entry.connection;
            let key = (
                connection.topic_bytes().to_vec(),
                connection.type_name.clone(),
                connection.md5sum.clone(),
            );
            entry.topic = *topics.entry(key).or_insert_with(|| {
                firsts.push(index);
                TopicId(firsts.len() as u32 - 1)
            });
        }
        firsts
    }

    /// The entries, to be stored and [restored](Self::restore).
    pub(crate) fn store(&self) -> Vec<StoredEntry> {
        let stored = |entry: &Entry| StoredEntry {
            since: entry.since,
            raw: entry.connection.raw().clone(),
        };
        self.entries.iter().map(stored).collect()
    }

    /// The finished table of which these were the entries, and how many topics
    /// they make.
    pub(crate) fn restore(stored: Vec<StoredEntry>) -> (Self, usize) {
        let mut table = Self::default();
        for StoredEntry { since, raw } in stored {
            let connection = Connection::new(raw);
            let index = table.entries.len() as u32;
            table.by_id.entry(connection.id).or_default().push(index);
            table.entries.push(Entry { connection, since, topic: TopicId::default() });
        }
        let topics = table.finish().len();
        (table, topics)
    }
}
