//! What records become, one behind the other.

use std::{mem, ops::Range};

use crate::{
    model::{damage::Damage, time::Timestamp},
    record::block::Run,
};

/// So many bytes are not copied, but given away with their memory.
const LONG: usize = 1 << 20;

/// The messages that a [translator](crate::Translate) makes of a run of records.
#[derive(Debug, Default)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
    made: Vec<MadeOf>,
    damage: Vec<Damage>,
}

/// What a message is made of.
#[derive(Debug)]
pub(super) struct MadeOf {
    /// The index of the record in the run.
    pub(super) record: usize,
    /// Its time, if it is not that of the record.
    pub(super) time: Option<Timestamp>,
    /// Where it is.
    pub(super) place: Range<usize>,
}

impl MessageBuffer {
    /// The buffer behind the last message, where the next is to be written.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends a message: what was written behind the last one is what the record with the
    /// index `record` of the run becomes.
    pub fn end(&mut self, record: usize) {
        self.push(record, None);
    }

    /// The same, but the message is of another time than the record: one that is made of
    /// several, of which that is the last that was looked at.
    pub fn end_at(&mut self, record: usize, time: Timestamp) {
        self.push(record, Some(time));
    }

    fn push(&mut self, record: usize, time: Option<Timestamp>) {
        let (start, end) = (self.start(), self.bytes.len());
        self.made.push(MadeOf { record, time, place: start.min(end)..end });
    }

    /// Where the last message ends.
    fn start(&self) -> usize {
        self.made.last().map_or(0, |made| made.place.end)
    }

    /// Makes a message of each record of `run`: `put` adds it to the buffer, and says whether
    /// it is one. Where not, the record is [told](crate::Record::undecodable) as damage.
    pub fn each(
        &mut self,
        run: Run<'_>,
        mut put: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) {
        for (index, record) in run.records().enumerate() {
            match put(record.payload, &mut self.bytes) {
                true => self.end(index),
                false => self.lose(record.undecodable()),
            }
        }
    }

    /// Forgets what was written behind the last message, and tells of `damage`.
    pub fn lose(&mut self, damage: Damage) {
        self.bytes.truncate(self.start());
        damage.add_to(&mut self.damage);
    }

    /// Moves the messages to the end of `bytes`, tells `each` of them what it is made
    /// of and where it is, and moves what is damaged to `damage`.
    pub(super) fn drain(
        &mut self,
        bytes: &mut Vec<u8>,
        damage: &mut Vec<Damage>,
        mut each: impl FnMut(MadeOf),
    ) {
        let before = bytes.len();
        match before == 0 && self.bytes.len() >= LONG {
            true => mem::swap(bytes, &mut self.bytes),
            false => bytes.append(&mut self.bytes),
        }
        for made in self.made.drain(..) {
            let place = before + made.place.start..before + made.place.end;
            each(MadeOf { place, ..made });
        }
        damage.append(&mut self.damage);
    }
}
