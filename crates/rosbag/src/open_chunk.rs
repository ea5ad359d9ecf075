//! The chunk that was opened last: by its messages it is known which index data belong to it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
};

use bytes::BytesMut;
use logtool_core::{Damage, DamageKind, Result, TimeRange, Timestamp};

use crate::{
    bag::{Bag, Chunk, Content},
    entries::{Lost, MAX_INDEX, add, each_entry},
    messages::Messages,
    toplevel::Tops,
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
    known: Option<Known>,
    /// What is lost of it, once that was asked.
    losses: Option<Losses>,
}

/// The messages of a chunk, and what is to be known of all together: damage asks for that
/// many times.
#[derive(Debug)]
struct Known {
    messages: Messages,
    /// How long their index data are.
    index_len: u64,
    /// When the last of each connection happened.
    lasts: HashSet<Timestamp>,
}

/// Where messages are lost of which the bytes are not there at all.
const NOWHERE: Range<u64> = u64::MAX..u64::MAX;

impl Last {
    pub(crate) fn new(chunk: Chunk) -> Self {
        Self { chunk, indexed: BTreeSet::new(), known: None, losses: None }
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
        let Known { messages, .. } = self.known(bag)?;
        let told = (entries.len() / 12) as u64;
        let times = wire::index_entries(entries)
            .map(|(time, _)| TimeRange::from_timestamp(time));
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
        let known = self.known(bag)?;
        Ok(Some(start + known.index_len).filter(|_| !known.messages.is_broken()))
    }

    /// Whether the last entry of index data of it may be one of this `time`.
    pub(crate) fn ends_with(&mut self, bag: &Bag, time: Timestamp) -> Result<bool> {
        Ok(self.known(bag)?.lasts.contains(&time))
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
        let Known { messages, .. } = self.known(bag)?;
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
        let of_each = &losses.of_each;
        let at = of_each.partition_point(|(stretch, _)| stretch.start < range.start);
        let of_range = of_each.get(at).filter(|(stretch, _)| stretch == range);
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
        let damage = Damage::new(DamageKind::Garbled, bytes).with_lost_bytes(0);
        let damage = damage.with_reason("it is shorter than it says");
        Ok(Some((damage, lost)).filter(|(_, lost)| !lost.is_empty()))
    }

    /// Its messages. The chunk is opened again for that, as only who meets broken index data
    /// asks.
    fn known(&mut self, bag: &Bag) -> Result<&Known> {
        let known = match self.known.take() {
            Some(known) => known,
            None => Known::of(read(bag, &self.chunk)?),
        };
        Ok(self.known.insert(known))
    }
}

impl Known {
    fn of(messages: Messages) -> Self {
        let all = messages.of_each.values();
        let index_len = all.clone().map(|of| wire::INDEX_HEAD + 12 * of.records).sum();
        let lasts = all.map(|of| of.last).collect();
        Self { messages, index_len, lasts }
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
    let mut room = MAX_INDEX;
    each_entry(tops, chunk.data.end, &mut room, |connection, time, offset| {
        let offset = u64::from(offset);
        let place = losses.partition_point(|(range, _)| range.end <= offset);
        let place = place.min(losses.len() - 1);
        let Some((range, lost)) = losses.get_mut(place) else { return };
        untold.remove(&connection);
        let is_lost = match is_overfull {
            true => range.contains(&offset),
            false => !messages.take(connection, time),
        };
        let records = &messages.records;
        let told = records.partition_point(|range| range.end <= offset);
        let is_told = records.get(told).is_some_and(|range| range.contains(&offset));
        if is_lost && !is_told {
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
