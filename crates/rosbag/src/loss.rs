//! Saying where damage lies, and which messages are lost there.
//!
//! A chunk is followed by an index of its messages. Where the chunk is broken, that
//! tells which messages were in the broken bytes: of which topics, how many, and when.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, Result, TimeRange, Timestamp, TopicId};

use crate::{
    bag::Bag,
    connection::Raw,
    top::{Top, TopKind, Tops},
    walk::Visitor,
    wire,
};

/// No longer index is read to know what was lost.
const MAX_INDEX: u64 = 16 << 20;

/// What a visitor is led through.
#[derive(Clone, Debug)]
pub(crate) enum Within {
    /// What lies between chunks.
    Outside,
    /// A chunk that lies open in the file: its data are these bytes of it, and its
    /// index begins where they end.
    Plain(Range<u64>),
    /// A chunk that is unpacked, or lost.
    Unpacked(Packed),
}

/// A chunk that is unpacked, or lost.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Where it lies in the file.
    pub(crate) bytes: Range<u64>,
    /// Where its index begins.
    pub(crate) index_at: u64,
    /// How many bytes its content is, or says to be; 0 where nobody says.
    pub(crate) content: u64,
    /// Whether nothing of it is left.
    pub(crate) is_gone: bool,
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
    pub(crate) within: &'l Within,
}

/// Messages of one connection that are lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    records: u64,
    time: TimeRange,
}

impl<V: Visitor> Locating<'_, V> {
    /// Tells of `damage`, a connection at a time if the index at `index_at` knows which
    /// messages lie in `range` of the chunk's content. Of the chunk at `gone`, nothing is
    /// left: what has no such index is told as the index at the end of the bag has it.
    fn tell(
        &mut self,
        damage: Damage,
        range: Range<u64>,
        index_at: u64,
        gone: Option<u64>,
    ) {
        // Without an index, the damage is all that can be told.
        let mut lost = lost(self.tops, index_at, range).unwrap_or_default();
        if let Some(Ok(Some(told))) = gone.map(|at| self.bag.told_of(at)) {
            for (connection, records) in told.counts.iter().filter(|told| told.1 > 0) {
                let all = Lost { records: (*records).into(), time: told.time };
                lost.entry(*connection).or_insert(all);
            }
        }
        for (connection, Lost { records, time }) in &lost {
            let topic = self.visitor.topic(*connection);
            let mut damage = damage.clone().of_records(*records, topic);
            damage.time = Some(*time).filter(|time| *time != TimeRange::ALL);
            self.visitor.damage(damage);
        }
        if lost.is_empty() {
            self.visitor.damage(damage);
        }
    }
}

/// How many messages of each connection lie in `range` of the content of the chunk of
/// which the index is at `at`.
fn lost(
    tops: &mut Tops,
    mut at: u64,
    range: Range<u64>,
) -> Result<BTreeMap<u32, Lost>> {
    let mut lost = BTreeMap::new();
    let start = at;
    while let Some(Top { kind: TopKind::Index { connection, version: 1, .. }, data }) =
        tops.look(at)?
    {
        if data.end - start > MAX_INDEX {
            break;
        }
        at = data.end;
        let entries = tops.data(&data)?.unwrap_or_default();
        for (time, offset) in wire::index_entries(&entries) {
            if range.contains(&offset.into()) {
                let time = TimeRange::just(time);
                lost.entry(connection)
                    .and_modify(|lost: &mut Lost| {
                        lost.records += 1;
                        lost.time = lost.time.cover(&time);
                    })
                    .or_insert(Lost { records: 1, time });
            }
        }
    }
    Ok(lost)
}

impl<V: Visitor> Visitor for Locating<'_, V> {
    fn damage(&mut self, damage: Damage) {
        let range = damage.bytes.clone();
        match self.within {
            Within::Outside => self.visitor.damage(damage),
            Within::Plain(_) if damage.records > 0 => self.visitor.damage(damage),
            Within::Plain(data) => {
                let range = range.start - data.start..range.end - data.start;
                self.tell(damage, range, data.end, None);
            }
            Within::Unpacked(chunk) => {
                let is_loss = damage.kind.is_loss();
                let mut damage = damage.at(chunk.bytes.clone());
                if is_loss {
                    damage = damage.losing(chunk.share(&range));
                }
                match damage.records {
                    0 => {
                        let gone = chunk.is_gone.then_some(chunk.bytes.start);
                        self.tell(damage, range, chunk.index_at, gone);
                    }
                    _ => self.visitor.damage(damage),
                }
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
