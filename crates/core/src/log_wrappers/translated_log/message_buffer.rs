//! The output of a translator: messages and damage.

use std::{mem, ops::Range};

use crate::{
    model::{damage::Damage, time::Timestamp},
    record::block::Run,
};

/// From this size in bytes on, the buffer is swapped instead of copied.
const LONG: usize = 1 << 20;

/// The messages that a [translator](crate::Translate) creates from a run of records.
#[derive(Debug, Default)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
    messages: Vec<MessageOrigin>,
    damage: Vec<Damage>,
}

/// The origin of a message.
#[derive(Debug)]
pub(super) struct MessageOrigin {
    /// The index of the record in the run.
    pub(super) record: usize,
    /// The time of the message, if it is not that of the record.
    pub(super) time: Option<Timestamp>,
    /// The position of the message in the buffer.
    pub(super) bytes_range: Range<usize>,
}

impl MessageBuffer {
    /// Returns the buffer to which the next message is appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends a message: the bytes after the last message are the message of the record
    /// with the index `record` in the run.
    pub fn end_message(&mut self, record: usize) {
        self.push(record, None);
    }

    /// Ends a message like [`end_message`](Self::end_message), but with its own time. This is for
    /// messages that combine several records, of which `record` is the last.
    pub fn end_message_at(&mut self, record: usize, time: Timestamp) {
        self.push(record, Some(time));
    }

    fn push(&mut self, record: usize, time: Option<Timestamp>) {
        let (start, end) = (self.start(), self.bytes.len());
        self.messages.push(MessageOrigin {
            record,
            time,
            bytes_range: start.min(end)..end,
        });
    }

    /// Returns the end of the last message.
    fn start(&self) -> usize {
        self.messages.last().map_or(0, |message| message.bytes_range.end)
    }

    /// Creates one message per record of `run`. `encode` appends the message to the buffer
    /// and returns whether it succeeded. If not, the record is reported as
    /// [undecodable](crate::Record::undecodable_damage).
    pub fn push_messages(
        &mut self,
        run: Run<'_>,
        mut encode: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) {
        for (index, record) in run.records().enumerate() {
            if encode(record.payload, &mut self.bytes) {
                self.end_message(index)
            } else {
                self.discard(record.undecodable_damage())
            }
        }
    }

    /// Discards the bytes after the last message, and reports `damage`.
    pub fn discard(&mut self, damage: Damage) {
        self.bytes.truncate(self.start());
        damage.add_to(&mut self.damage);
    }

    /// Moves the messages to the end of `bytes`, calls `each` with the origin and the new
    /// position of each message, and moves the damage to `damage`.
    pub(super) fn drain(
        &mut self,
        bytes: &mut Vec<u8>,
        damage: &mut Vec<Damage>,
        mut each: impl FnMut(MessageOrigin),
    ) {
        let before = bytes.len();
        if before == 0 && self.bytes.len() >= LONG {
            mem::swap(bytes, &mut self.bytes)
        } else {
            bytes.append(&mut self.bytes)
        }
        for message in self.messages.drain(..) {
            let bytes_range =
                before + message.bytes_range.start..before + message.bytes_range.end;
            each(MessageOrigin { bytes_range, ..message });
        }
        damage.append(&mut self.damage);
    }
}
