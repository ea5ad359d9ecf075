//! The chunk that is being filled.

use std::mem;

use crate::write::{
    encode::{self, IndexOrder},
    stamp::Stamp,
};

/// A chunk that is being filled.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    bytes: Vec<u8>,
    /// The index of the messages of each connection, at the connection's number in the
    /// writer; empty where it has none.
    entries: Vec<Vec<(Stamp, u32)>>,
    /// Which connections have messages: their ids, and their numbers in the writer.
    used: Vec<(u32, usize)>,
    times: Option<[Stamp; 2]>,
}

/// A chunk that is full, and not yet packed.
#[derive(Debug)]
pub(crate) struct Full {
    pub(crate) bytes: Vec<u8>,
    pub(crate) told: Told,
}

/// What is told of a chunk after it, and in the index of the bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Its index data records.
    pub(crate) index: Vec<u8>,
    pub(crate) summary: Summary,
}

/// What the index of the bag tells of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Its first and its last time.
    pub(crate) times: [Stamp; 2],
    /// How many messages of each connection it has.
    pub(crate) counts: Vec<(u32, u32)>,
}

impl Filling {
    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are messages.
    pub(crate) fn has_messages(&self) -> bool {
        self.times.is_some()
    }

    /// Adds a connection.
    pub(crate) fn connection(&mut self, id: u32, topic: &[u8], header: &[u8]) {
        encode::connection(&mut self.bytes, id, topic, header);
    }

    /// Adds a message of the connection `id`, which is the writer's number `number`.
    pub(crate) fn message(
        &mut self,
        id: u32,
        number: usize,
        stamp: Stamp,
        payload: &[u8],
    ) {
        self.note(id, number, stamp, self.bytes.len() as u32);
        encode::message(&mut self.bytes, id, stamp, payload);
    }

    /// Notes that the message at `offset` is of the connection `id`.
    fn note(&mut self, id: u32, number: usize, stamp: Stamp, offset: u32) {
        if self.entries.len() <= number {
            self.entries.resize_with(number + 1, Vec::new);
        }
        if let Some(entries) = self.entries.get_mut(number) {
            if entries.is_empty() {
                self.used.push((id, number));
            }
            entries.push((stamp, offset));
        }
        let [first, last] = self.times.unwrap_or([stamp; 2]);
        self.times = Some([first.min(stamp), last.max(stamp)]);
    }

    /// Takes the chunk, if it has messages, and starts the next in `room`, which is empty.
    pub(crate) fn take(
        &mut self,
        order: IndexOrder,
        mut room: Vec<u8>,
    ) -> Option<Full> {
        let times = self.times.take()?;
        room.reserve(self.bytes.len());
        let bytes = mem::replace(&mut self.bytes, room);
        let (mut index, mut counts) = (Vec::new(), Vec::new());
        self.used.sort_unstable();
        for (id, number) in self.used.drain(..) {
            let Some(entries) = self.entries.get_mut(number) else { continue };
            // As ROS does: in the order of time, and of the chunk where times are equal.
            entries.sort_by_key(|(stamp, _)| *stamp);
            encode::index(&mut index, order, id, entries);
            counts.push((id, entries.len() as u32));
            entries.clear();
        }
        Some(Full { bytes, told: Told { index, summary: Summary { times, counts } } })
    }
}

/// What is told of a chunk that has these messages: the id of the connection of each,
/// its time, and its offset.
pub(crate) fn told(messages: &[(u32, Stamp, u32)]) -> Option<Told> {
    let mut ids: Vec<u32> = messages.iter().map(|(id, ..)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut filling = Filling::default();
    for (id, stamp, offset) in messages {
        let number = ids.binary_search(id).unwrap_or_default();
        filling.note(*id, number, *stamp, *offset);
    }
    filling.take(encode::INDEX_ORDER, Vec::new()).map(|full| full.told)
}
