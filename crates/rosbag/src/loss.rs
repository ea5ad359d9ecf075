//! Saying where damage lies, and which messages are lost there.
//!
//! A chunk is followed by an index of its messages. Where the chunk is broken, that
//! tells which messages were in the broken bytes: of which topics, how many, and when.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{
    bag::Bag,
    connection::Raw,
    entries::{Lost, MAX_INDEX, add, each_entry},
    messages::Messages,
    open_chunk::Last,
    toplevel::Tops,
    walk::Visitor,
};

/// What a visitor is led through.
#[derive(Debug)]
pub(crate) enum Within {
    /// What lies between chunks.
    Outside,
    /// A chunk that lies open in the file, in these bytes of it.
    Plain(Range<u64>),
    /// A chunk that is unpacked.
    Unpacked(Packed),
    /// A chunk that is lost.
    Gone(Gone),
}

/// A chunk that is unpacked.
#[derive(Debug)]
pub(crate) struct Packed {
    /// Where it lies in the file.
    pub(crate) bytes: Range<u64>,
    /// How many bytes its content is, or says to be; 0 where nobody says.
    pub(crate) content: u64,
}

/// A chunk that is lost, or its head.
#[derive(Debug)]
pub(crate) struct Gone {
    /// Where it lay in the file.
    pub(crate) bytes: Range<u64>,
    /// Where its index data begin.
    pub(crate) index_at: u64,
    /// Its messages that are read all the same; nothing if none of it are left.
    pub(crate) left: Option<Messages>,
}

impl Packed {
    /// How many of its bytes `range` of its content is, as its share.
    fn share(&self, range: &Range<u64>) -> u64 {
        let all = self.bytes.end.saturating_sub(self.bytes.start);
        share(
            all,
            range.end.min(self.content).saturating_sub(range.start).max(1),
            self.content,
        )
    }
}

/// How many of `all` bytes a part is that has `part` of their `content` bytes, when they
/// are unpacked.
pub(crate) fn share(all: u64, part: u64, content: u64) -> u64 {
    let share =
        (u128::from(all) * u128::from(part)).div_ceil(u128::from(content.max(1)));
    if content == 0 { all } else { u64::try_from(share).unwrap_or(all).min(all) }
}

/// Tells a visitor of damage in terms of the file.
pub(crate) struct Locating<'l, V> {
    pub(crate) visitor: &'l mut V,
    pub(crate) bag: &'l Bag,
    pub(crate) tops: &'l mut Tops,
    pub(crate) within: &'l mut Within,
    /// The chunk that it is led through, if it is there.
    pub(crate) chunk: Option<&'l mut Last>,
}

impl<V: Visitor> Locating<'_, V> {
    /// Tells of `damage`, a connection at a time if it is known what is `lost` of each.
    pub(crate) fn tell(&mut self, damage: Damage, lost: &BTreeMap<u32, Lost>) {
        for (connection, Lost { records, time }) in lost {
            let topic = self.visitor.topic(*connection);
            let mut damage = damage.clone().with_records(*records, topic);
            damage.time = Some(*time).filter(|time| *time != TimeRange::ALL);
            self.visitor.damage(damage);
        }
        if lost.is_empty() {
            self.visitor.damage(damage);
        }
    }

    /// Tells of `damage` to a chunk in `range` of its content.
    fn tell_of(&mut self, damage: Damage, range: &Range<u64>) {
        let chunk = self.chunk.as_mut().filter(|_| damage.kind.is_loss());
        let lost = chunk.and_then(|chunk| chunk.lost(self.bag, self.tops, range).ok());
        // Without an index, the damage is all that can be told.
        let (lost, is_all) = lost.unwrap_or_default();
        self.tell(damage.clone(), &lost);
        if !is_all && !lost.is_empty() {
            self.visitor.damage(damage.with_lost_bytes(0));
        }
    }
}

impl Gone {
    /// What is lost of it, as its index data tell. What has none is told as the index at the
    /// end of the bag has it, if nothing of the chunk is left.
    fn lost(&mut self, bag: &Bag, tops: &mut Tops) -> BTreeMap<u32, Lost> {
        let (mut lost, mut room) = (BTreeMap::new(), MAX_INDEX);
        each_entry(tops, self.index_at, &mut room, |connection, time, _| {
            let left = self.left.as_mut();
            if !left
                .is_some_and(|left| left.is_overfull() || left.take(connection, time))
            {
                add(&mut lost, connection, time);
            }
        });
        if self.left.is_none()
            && let Ok(Some(told)) = bag.told_of(self.bytes.start)
        {
            for (connection, records) in told.counts.iter().filter(|told| told.1 > 0) {
                let all = Lost { records: (*records).into(), time: told.time };
                lost.entry(*connection).or_insert(all);
            }
        }
        lost
    }
}

impl<V: Visitor> Visitor for Locating<'_, V> {
    fn damage(&mut self, damage: Damage) {
        let range = damage.bytes.clone();
        let is_loss = damage.kind.is_loss();
        match self.within {
            Within::Outside => self.visitor.damage(damage),
            Within::Plain(_) if damage.records > 0 => self.visitor.damage(damage),
            Within::Plain(data) => {
                let range = range.start - data.start..range.end - data.start;
                self.tell_of(damage, &range);
            }
            Within::Unpacked(packed) => {
                let mut damage = damage.at(packed.bytes.clone());
                if is_loss {
                    damage = damage.with_lost_bytes(packed.share(&range));
                }
                match damage.records {
                    0 => self.tell_of(damage, &range),
                    _ => self.visitor.damage(damage),
                }
            }
            Within::Gone(gone) if !is_loss => {
                self.visitor.damage(damage.at(gone.bytes.clone()));
            }
            Within::Gone(gone) => {
                let lost = gone.lost(self.bag, self.tops);
                let len = gone.bytes.end.saturating_sub(gone.bytes.start);
                let damage = damage.at(gone.bytes.clone()).with_lost_bytes(len);
                self.tell(damage, &lost);
            }
        }
    }

    fn enter(&mut self, at: u64) {
        self.visitor.enter(at);
    }

    fn window(&mut self, bytes: Bytes, at: u64) {
        self.visitor.window(bytes, at);
    }

    fn unpacked(&mut self, bytes: Bytes, at: u64) {
        self.visitor.unpacked(bytes, at);
    }

    fn buffer(&mut self) -> BytesMut {
        self.visitor.buffer()
    }

    #[inline]
    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        self.visitor.message(id, time, payload)
    }

    fn passes(&mut self, id: u32, time: Timestamp) -> bool {
        self.visitor.passes(id, time)
    }

    fn connection(&mut self, raw: Raw) {
        self.visitor.connection(raw);
    }

    fn other(&mut self) {
        self.visitor.other();
    }

    fn knows(&self, id: u32) -> bool {
        self.visitor.knows(id)
    }

    fn topic(&self, id: u32) -> Option<TopicId> {
        self.visitor.topic(id)
    }
}
