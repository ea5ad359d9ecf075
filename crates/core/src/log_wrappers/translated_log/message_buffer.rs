//! The output of a translator: messages and damage.

use std::{mem, ops::Range};

use crate::{
    model::{damage::Damage, time::Timestamp},
    record::block::Run,
};

/// The size in bytes from which on the buffer is swapped instead of copied.
const MIN_SWAPPED_BYTES: usize = 1 << 20;

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
    pub(super) record_index: usize,
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
    /// with the index `record_index` in the run.
    pub fn end_message(&mut self, record_index: usize) {
        self.push(record_index, None);
    }

    /// Ends a message like [`end_message`](Self::end_message), but with its own time. This is for
    /// messages that combine several records; the last record has the index `record_index`.
    pub fn end_message_at(&mut self, record_index: usize, time: Timestamp) {
        self.push(record_index, Some(time));
    }

    fn push(&mut self, record_index: usize, time: Option<Timestamp>) {
        let (start, end) = (self.message_start(), self.bytes.len());
        self.messages.push(MessageOrigin {
            record_index,
            time,
            bytes_range: start.min(end)..end,
        });
    }

    /// Returns the start of the next message: the end of the last one.
    fn message_start(&self) -> usize {
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
        self.bytes.truncate(self.message_start());
        damage.add_to(&mut self.damage);
    }

    /// Moves the messages to the end of `bytes`, calls `on_message` with the origin and
    /// the new position of each message, and moves the damage to `damage`.
    pub(super) fn drain(
        &mut self,
        bytes: &mut Vec<u8>,
        damage: &mut Vec<Damage>,
        mut on_message: impl FnMut(MessageOrigin),
    ) {
        let start = bytes.len();
        if start == 0 && self.bytes.len() >= MIN_SWAPPED_BYTES {
            mem::swap(bytes, &mut self.bytes)
        } else {
            bytes.append(&mut self.bytes)
        }
        for message in self.messages.drain(..) {
            let Range { start: message_start, end: message_end } = message.bytes_range;
            let bytes_range = start + message_start..start + message_end;
            on_message(MessageOrigin { bytes_range, ..message });
        }
        damage.append(&mut self.damage);
    }
}
