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
    of_each: BTreeMap<u32, Of>,
    /// Whether there may be more.
    is_broken: bool,
}

/// The messages of a connection.
#[derive(Clone, Copy, Debug)]
struct Of {
    records: u64,
    time: TimeRange,
    /// When the last of them in the file happened.
    last: Timestamp,
}

impl Last {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), messages: None }
    }

    /// Index data of `connection` were seen.
    pub(crate) fn see(&mut self, connection: u32) {
        self.indexed.insert(connection);
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
        let is_it = time.is_some_and(|time| {
            of_it.is_some_and(|of| (of.records, of.time) == (told, time))
        });
        Ok(messages.is_broken || is_it)
    }

    /// Where its index data end, if its messages are all known.
    pub(crate) fn index_end(&mut self, bag: &Bag) -> Result<Option<u64>> {
        let start = self.chunk.data.end;
        let messages = self.messages(bag)?;
        let counts = messages.of_each.values().map(|of| of.records);
        let len: u64 = counts.map(|records| wire::INDEX_HEAD + 12 * records).sum();
        Ok(Some(start + len).filter(|_| !messages.is_broken))
    }

    /// Whether the last entry of index data of it may be one of this `time`.
    pub(crate) fn ends_with(&mut self, bag: &Bag, time: Timestamp) -> Result<bool> {
        let messages = self.messages(bag)?;
        Ok(messages.of_each.values().any(|of| of.last == time))
    }

    /// Whether index data of `connection` with `count` entries, which begin with these
    /// `entries`, are its.
    pub(crate) fn begins(
        &mut self,
        bag: &Bag,
        connection: u32,
        count: u32,
        entries: &[u8],
    ) -> Result<bool> {
        let messages = self.messages(bag)?;
        let Some(of) = messages.of_each.get(&connection) else { return Ok(false) };
        let mut times = wire::index_entries(entries).map(|(time, _)| time);
        Ok(of.records == u64::from(count) && times.all(|time| of.time.contains(time)))
    }

    /// Its messages. The chunk is opened again for that, as only who meets broken index data
    /// asks.
    fn messages(&mut self, bag: &Bag) -> Result<&Messages> {
        let messages = match self.messages.take() {
            Some(messages) => messages,
            None => read(bag, &self.chunk)?,
        };
        Ok(self.messages.insert(messages))
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
        let just = TimeRange::just(time);
        let of =
            self.of_each.entry(id).or_insert(Of { records: 0, time: just, last: time });
        *of = Of { records: of.records + 1, time: of.time.cover(&just), last: time };
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
