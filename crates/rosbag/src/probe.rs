//! Reading a part of a bag only to know what is in it.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, Result, TimeRange, Timestamp, TopicId};

use crate::{
    bag::Bag,
    connection::Raw,
    table::{Met, Table},
    traverse::Traverse,
    walk::{Pace, Visitor},
};

/// What is known of the messages of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) records: u64,
    /// How many bytes their payloads are, where they were looked at.
    pub(crate) bytes: Option<u64>,
    /// When they happened, where that is known.
    pub(crate) time: Option<TimeRange>,
}

/// What is in a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// What is counted, by the number of the connection.
    pub(crate) counts: BTreeMap<u32, Count>,
    /// What is damaged; a topic is the entry of a connection here.
    pub(crate) damage: Vec<Damage>,
    /// How many bytes were unpacked to know that.
    pub(crate) unpacked: u64,
}

impl Count {
    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        let bytes = self.bytes.zip(other.bytes).map(|(a, b)| a.saturating_add(b));
        let time = self.time.zip(other.time).map(|(a, b)| a.cover(&b));
        Self { records: self.records.saturating_add(other.records), bytes, time }
    }
}

/// Reads `part` of `bag`, putting its connections into `table`.
pub(crate) fn probe(
    bag: &Bag,
    bounds: &Arc<[u64]>,
    part: Range<u64>,
    table: &mut Table,
    conflicts: &mut Conflicts,
) -> Result<Content> {
    let mut traverse = Traverse::new(
        bag.clone(),
        bounds.clone(),
        part.clone(),
        Pace::default(),
        None,
    )?;
    let mut collecting = Collecting::new(table, part.start);
    while traverse.step(&mut collecting)? {}
    conflicts.reused += collecting.conflicts.reused;
    conflicts.misnamed += collecting.conflicts.misnamed;
    Ok(collecting.content)
}

/// How many connections were not as others with their numbers are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conflicts {
    /// Their numbers stood for others before.
    pub(crate) reused: u64,
    /// The index and a chunk call them differently.
    pub(crate) misnamed: u64,
}

/// Counts what a walk comes to.
pub(crate) struct Collecting<'c> {
    table: &'c mut Table,
    at: u64,
    spare: Bytes,
    conflicts: Conflicts,
    pub(crate) content: Content,
}

impl<'c> Collecting<'c> {
    pub(crate) fn new(table: &'c mut Table, at: u64) -> Self {
        let (spare, content) = (Bytes::new(), Content::default());
        Self { table, at, spare, conflicts: Conflicts::default(), content }
    }
}

impl Visitor for Collecting<'_> {
    fn enter(&mut self, at: u64) {
        self.at = at;
    }

    fn window(&mut self, _: Bytes, _: u64) {}

    fn unpacked(&mut self, bytes: Bytes, _: u64) {
        self.content.unpacked += bytes.len() as u64;
        self.spare = bytes;
    }

    fn buffer(&mut self) -> BytesMut {
        std::mem::take(&mut self.spare).try_into_mut().unwrap_or_default()
    }

    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        let one = Count {
            records: 1,
            bytes: Some(payload.len() as u64),
            time: Some(TimeRange::from_timestamp(time)),
        };
        let count = self.content.counts.entry(id);
        count.and_modify(|count| *count = count.and(one)).or_insert(one);
        // Whether it is known is asked when all connections are.
        true
    }

    fn connection(&mut self, raw: Raw) {
        match self.table.meet(raw, self.at) {
            Met::Conflict => self.conflicts.reused += 1,
            Met::Misnamed => self.conflicts.misnamed += 1,
            Met::New | Met::Known | Met::Spoiled => {}
        }
    }

    fn knows(&self, id: u32) -> bool {
        self.table.lookup(id, self.at).is_some()
    }

    /// The entry of the connection, in place of its topic, which is not yet known.
    fn topic(&self, id: u32) -> Option<TopicId> {
        self.table.lookup(id, self.at).map(TopicId)
    }

    fn damage(&mut self, damage: Damage) {
        damage.add_to(&mut self.content.damage);
    }
}
