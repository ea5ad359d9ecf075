//! What records become, one behind the other.

use std::ops::Range;

use crate::damage::Damage;

/// The messages that a [translator](crate::Translate) makes of a run of records.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// Of each message, which record of the run it is made of, and where it is.
    made: Vec<(usize, Range<usize>)>,
    damage: Vec<Damage>,
}

impl Messages {
    /// The buffer behind the last message, where the next is to be written.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends a message: what was written behind the last one is what the record with the
    /// index `record` of the run becomes.
    pub fn end(&mut self, record: usize) {
        let start = self.made.last().map_or(0, |(_, place)| place.end);
        self.made.push((record, start.min(self.bytes.len())..self.bytes.len()));
    }

    /// Forgets what was written behind the last message, and tells of `damage`.
    pub fn lose(&mut self, damage: Damage) {
        let end = self.made.last().map_or(0, |(_, place)| place.end);
        self.bytes.truncate(end);
        damage.add_to(&mut self.damage);
    }

    /// Moves the messages to the end of `bytes`, tells `each` of them which record of the
    /// run it is made of and where it is, and moves what is damaged to `damage`.
    pub(super) fn drain(
        &mut self,
        bytes: &mut Vec<u8>,
        damage: &mut Vec<Damage>,
        mut each: impl FnMut(usize, Range<usize>),
    ) {
        let before = bytes.len();
        bytes.append(&mut self.bytes);
        for (record, place) in self.made.drain(..) {
            each(record, before + place.start..before + place.end);
        }
        damage.append(&mut self.damage);
    }
}
