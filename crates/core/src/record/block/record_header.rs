//! Records without their payloads: for who has looked at these.

use std::{mem, ops::Range};

use bytes::Bytes;

use crate::{
    model::{time::Timestamp, topic::TopicId},
    record::block::Block,
};

/// A record without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) topic: TopicId,
    pub(crate) stream: u32,
    pub(crate) time: Timestamp,
    /// As in [`Record`].
    pub(crate) offset: u64,
    /// How long the payload is.
    pub(crate) len: u64,
}

impl Head {
    /// Where in the file the payload lies, if it is not compressed.
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.offset..self.offset + self.len
    }
}

impl Block {
    /// Takes over the records of `other` without their payloads, and its damage: the bytes
    /// stay with that, to be read into again.
    pub(crate) fn take_heads(&mut self, other: &mut Self) {
        self.start_over(Bytes::new(), other.origin.clone());
        mem::swap(&mut self.entries, &mut other.entries);
        mem::swap(&mut self.damage, &mut other.damage);
    }

    /// The records without their payloads, in the order of the file.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Head> {
        self.entries.iter().map(|entry| Head {
            topic: entry.topic,
            stream: entry.stream,
            time: entry.time,
            offset: self.offset(entry),
            len: entry.end.saturating_sub(entry.start).into(),
        })
    }
}
