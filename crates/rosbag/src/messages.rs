//! The messages of a chunk, looked at once more where something is broken: by them it is known
//! which index data are its, and which messages that these tell of are lost.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{connection::Raw, walk::Visitor};

/// No more messages are told one from another.
const MOST: usize = 1 << 20;

/// The messages of a chunk, or of a stretch outside chunks.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) of_each: BTreeMap<u32, Of>,
    /// Where something is lost, from the base of what is walked over.
    pub(crate) broken: Vec<Range<u64>>,
    /// Records that are told as lost one by one.
    pub(crate) records: Vec<Range<u64>>,
    /// How many there are of each connection and time.
    given: HashMap<(u32, Timestamp), u32>,
    is_overfull: bool,
}

/// The messages of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
    /// When the last of them in the file happened.
    pub(crate) last: Timestamp,
}

impl Messages {
    /// Whether there may be more.
    pub(crate) fn is_broken(&self) -> bool {
        !self.broken.is_empty() || !self.records.is_empty()
    }

    /// Takes one of `connection` and `time` out, if there is one.
    pub(crate) fn take(&mut self, connection: u32, time: Timestamp) -> bool {
        let left = self.given.get_mut(&(connection, time)).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }

    /// Whether there are so many that not each is known.
    pub(crate) fn is_overfull(&self) -> bool {
        self.is_overfull
    }
}

impl Visitor for Messages {
    fn message(&mut self, id: u32, time: Timestamp, _: Range<usize>) -> bool {
        let just = TimeRange::from_timestamp(time);
        let new = Of { records: 0, time: just, last: time };
        let of = self.of_each.entry(id).or_insert(new);
        *of = Of { records: of.records + 1, time: of.time.cover(&just), last: time };
        self.is_overfull |= self.given.len() == MOST;
        if !self.is_overfull {
            *self.given.entry((id, time)).or_default() += 1;
        }
        true
    }

    fn damage(&mut self, damage: Damage) {
        if damage.kind.is_loss() {
            let to =
                if damage.records > 0 { &mut self.records } else { &mut self.broken };
            to.push(damage.bytes);
        }
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
