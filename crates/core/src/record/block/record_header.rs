//! Records without payloads, for operations that do not need them.

use std::{mem, ops::Range};

use bytes::Bytes;

use crate::{
    model::{time::Timestamp, topic::TopicId},
    record::block::Block,
};

/// A record without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHeader {
    pub(crate) topic: TopicId,
    pub(crate) stream: u32,
    pub(crate) time: Timestamp,
    /// The file offset of the payload, as in [`Record`](crate::Record).
    pub(crate) offset: u64,
    /// The length of the payload in bytes.
    pub(crate) len: u64,
}

impl RecordHeader {
    /// Returns the position of the payload in the file, if it is not compressed.
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.offset..self.offset + self.len
    }
}

impl Block {
    /// Moves the records of `other` without their payloads, and its damage, into this
    /// block. The bytes stay in `other`, so that its buffer can be reused.
    pub(crate) fn take_headers(&mut self, other: &mut Self) {
        self.reset_to(Bytes::new(), other.origin.clone());
        mem::swap(&mut self.entries, &mut other.entries);
        mem::swap(&mut self.damage, &mut other.damage);
    }

    /// Iterates over the records without payloads, in the order of the file.
    pub(crate) fn headers(&self) -> impl Iterator<Item = RecordHeader> {
        self.entries.iter().map(|entry| RecordHeader {
            topic: entry.topic,
            stream: entry.stream,
            time: entry.time,
            offset: self.offset(entry),
            len: entry.end.saturating_sub(entry.start).into(),
        })
    }
}
