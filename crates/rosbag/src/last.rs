//! The chunk that was opened last: by its messages it is known which index data belong to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::BytesMut;
use logtool_core::{Damage, DamageKind, Result, TimeRange, Timestamp};

use crate::{
    bag::{Bag, Chunk, Content},
    loss::{Lost, add, each_entry},
    messages::Messages,
    top::Tops,
    walk::Visitor as _,
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
    /// What is lost of it, once that was asked.
    losses: Option<Losses>,
}

/// Where messages are lost of which the bytes are not there at all.
const NOWHERE: Range<u64> = u64::MAX..u64::MAX;

impl Last {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), messages: None, losses: None }
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
        Ok(messages.is_broken() || is_it)
    }

    /// Where its index data end, if its messages are all known.
    pub(crate) fn index_end(&mut self, bag: &Bag) -> Result<Option<u64>> {
        let start = self.chunk.data.end;
        let messages = self.messages(bag)?;
        let counts = messages.of_each.values().map(|of| of.records);
        let len: u64 = counts.map(|records| wire::INDEX_HEAD + 12 * records).sum();
        Ok(Some(start + len).filter(|_| !messages.is_broken()))
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

    /// Which of its messages are lost in `range` of its content, as its index data tell, and
    /// whether these are there of all connections.
    pub(crate) fn lost(
        &mut self,
        bag: &Bag,
        tops: &mut Tops,
        range: &Range<u64>,
    ) -> Result<(BTreeMap<u32, Lost>, bool)> {
        let losses = match self.losses.take() {
            Some(losses) => losses,
            None => losses(tops, &self.chunk, read(bag, &self.chunk)?),
        };
        let losses = self.losses.insert(losses);
        let mut of_each = losses.of_each.iter();
        let of_range = of_each.find(|(stretch, _)| stretch == range);
        let lost = of_range.map(|(_, lost)| lost.clone()).unwrap_or_default();
        Ok((lost, losses.is_all))
    }

    /// Which of its messages are missing, though nothing of it is broken: where it is not as
    /// long as it says, its index data may tell of more.
    pub(crate) fn shortened(
        &mut self,
        bag: &Bag,
        tops: &mut Tops,
    ) -> Result<Option<(Damage, BTreeMap<u32, Lost>)>> {
        if !self.chunk.is_wrong {
            return Ok(None);
        }
        let (lost, _) = self.lost(bag, tops, &NOWHERE)?;
        let bytes = self.chunk.at..self.chunk.data.end;
        let damage = Damage::new(DamageKind::Garbled, bytes).losing(0);
        let damage = damage.because("it is shorter than it says");
        Ok(Some((damage, lost)).filter(|(_, lost)| !lost.is_empty()))
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

/// What is lost of a chunk.
#[derive(Debug)]
struct Losses {
    /// In each of its broken stretches, which are counted from the start of its content.
    of_each: Vec<(Range<u64>, BTreeMap<u32, Lost>)>,
    /// Whether its index data tell of all connections that have messages in it.
    is_all: bool,
}

/// Which messages that its index data tell of are not among the `messages` of `chunk`. Each
/// counts where it should lie, or, as all may be shifted, in the stretch behind that.
fn losses(tops: &mut Tops, chunk: &Chunk, mut messages: Messages) -> Losses {
    let stretches = std::mem::take(&mut messages.broken).into_iter();
    let mut losses: Vec<_> = stretches.map(|range| (range, BTreeMap::new())).collect();
    if losses.is_empty() {
        losses.push((NOWHERE, BTreeMap::new()));
    }
    let mut untold: BTreeSet<u32> = messages.of_each.keys().copied().collect();
    let is_overfull = messages.is_overfull();
    each_entry(tops, chunk.data.end, |connection, time, offset| {
        let offset = u64::from(offset);
        let place = losses.partition_point(|(range, _)| range.end <= offset);
        let place = place.min(losses.len() - 1);
        let Some((range, lost)) = losses.get_mut(place) else { return };
        untold.remove(&connection);
        let is_lost = match is_overfull {
            true => range.contains(&offset),
            false => !messages.take(connection, time),
        };
        if is_lost && !messages.records.iter().any(|range| range.contains(&offset)) {
            add(lost, connection, time);
        }
    });
    Losses { of_each: losses, is_all: untold.is_empty() }
}

fn read(bag: &Bag, chunk: &Chunk) -> Result<Messages> {
    let mut messages = Messages::default();
    match bag.open(chunk, BytesMut::new())? {
        Content::Plain(mut plain) => {
            let start = plain.bytes.start;
            while plain.read(&*bag.source, bag.options, &mut messages)? {}
            for range in messages.broken.iter_mut().chain(&mut messages.records) {
                *range = range.start - start..range.end - start;
            }
        }
        Content::Unpacked(bytes, how) => chunk.walk(&bytes, how, &mut messages),
        Content::Lost(damage) => messages.damage(damage),
    }
    Ok(messages)
}
