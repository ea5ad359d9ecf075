//! The chunk that was opened last: by its messages it is known which index data belong to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, Result, TimeRange, Timestamp, TopicId};

use crate::{
    bag::{Bag, Chunk, Content},
    connection::Raw,
    walk::Visitor,
    wire,
};

/// How many bytes more are no chunk: there is none of so few.
const MORE: u64 = 64;

/// A chunk that was opened, and the index data behind it, as far as they were seen.
#[derive(Debug)]
pub(crate) struct Last {
    chunk: Chunk,
    /// The connections that have index data behind it.
    indexed: BTreeSet<u32>,
    /// Its messages, once that was asked.
    messages: Option<Messages>,
}

/// The messages of a chunk.
#[derive(Debug, Default)]
struct Messages {
    /// How many each connection has, and when they happened.
    of_each: BTreeMap<u32, (u64, TimeRange)>,
    /// Whether there may be more.
    is_broken: bool,
    /// How long the index data are that were not seen.
    unseen: u64,
}

impl Last {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), messages: None }
    }

    /// Index data of `connection` were seen.
    pub(crate) fn see(&mut self, connection: u32) {
        let is_new = self.indexed.insert(connection);
        if let Some(messages) = self.messages.as_mut().filter(|_| is_new) {
            messages.unseen -= messages.index_len(connection);
        }
    }

    /// Whether index data of `connection` with these `entries`, which come next, are its.
    pub(crate) fn has(
        &mut self,
        bag: &Bag,
        connection: u32,
        entries: &[u8],
    ) -> Result<bool> {
        if self.indexed.contains(&connection) {
            return Ok(false);
        }
        let messages = self.messages(bag)?;
        let told = (entries.len() / 12) as u64;
        let times = wire::index_entries(entries).map(|(time, _)| TimeRange::just(time));
        let time = times.reduce(|all, next| all.cover(&next));
        let of_it = messages.of_each.get(&connection);
        let is_it = time.is_some_and(|time| of_it == Some(&(told, time)));
        Ok(messages.is_broken || is_it)
    }

    /// How long the index data may be that it still has, from those of `connection` on.
    pub(crate) fn lacking(&mut self, bag: &Bag, connection: u32) -> Result<u64> {
        let is_seen = self.indexed.contains(&connection);
        let messages = self.messages(bag)?;
        let own = if is_seen { messages.index_len(connection) } else { 0 };
        let len = messages.unseen + own + MORE;
        Ok(if messages.is_broken { u64::MAX } else { len })
    }

    /// Its messages. The chunk is opened again for that, as only who meets broken index data
    /// asks.
    fn messages(&mut self, bag: &Bag) -> Result<&Messages> {
        let messages = match self.messages.take() {
            Some(messages) => messages,
            None => {
                let mut messages = read(bag, &self.chunk)?;
                let ids =
                    messages.of_each.keys().filter(|id| !self.indexed.contains(id));
                messages.unseen = ids.map(|id| messages.index_len(*id)).sum();
                messages
            }
        };
        Ok(self.messages.insert(messages))
    }
}

impl Messages {
    /// How long the index data of `connection` are.
    fn index_len(&self, connection: u32) -> u64 {
        let records = self.of_each.get(&connection).map(|(records, _)| records);
        records.map_or(0, |records| wire::INDEX_HEAD + 12 * records)
    }
}

fn read(bag: &Bag, chunk: &Chunk) -> Result<Messages> {
    let mut messages = Messages::default();
    match bag.open(chunk, BytesMut::new())? {
        Content::Plain(mut plain) => {
            while plain.read(&*bag.source, bag.options, &mut messages)? {}
        }
        Content::Unpacked(bytes, how) => chunk.walk(&bytes, how, &mut messages),
        Content::Lost(_) => messages.is_broken = true,
    }
    Ok(messages)
}

impl Visitor for Messages {
    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let time = TimeRange::just(time);
        let (records, all) = self.of_each.entry(id).or_insert((0, time));
        (*records, *all) = (*records + 1, all.cover(&time));
        true
    }

    fn damage(&mut self, damage: Damage) {
        self.is_broken |= damage.kind.is_loss();
    }

    fn knows(&self, _: u32) -> bool {
        true
    }

    fn topic(&self, _: u32) -> Option<TopicId> {
        None
    }

    fn buffer(&mut self) -> BytesMut {
        BytesMut::new()
    }

    fn enter(&mut self, _: u64) {}

    fn window(&mut self, _: Bytes, _: u64) {}

    fn unpacked(&mut self, _: Bytes, _: u64) {}

    fn connection(&mut self, _: Raw) {}
}
