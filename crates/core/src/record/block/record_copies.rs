//! Blocks of records copied from other blocks.

use std::mem;

use bytes::BytesMut;

use crate::record::block::{Block, BlockOrigin, RecordEntry};

/// Collects copies of records of several blocks into one block.
#[derive(Debug, Default)]
pub(crate) struct RecordCopies {
    bytes: BytesMut,
    entries: Vec<RecordEntry>,
    starts_and_offsets: Vec<(u32, u64)>,
}

impl RecordCopies {
    /// Creates a collection that reuses the buffers of `block`.
    pub(crate) fn new(block: &mut Block) -> Self {
        let Block { bytes, origin, entries, .. } = mem::take(block);
        let starts_and_offsets = match origin {
            BlockOrigin::Copied(starts_and_offsets) => starts_and_offsets,
            BlockOrigin::Plain(_) | BlockOrigin::Decompressed(_) => Vec::new(),
        };
        let bytes = bytes.try_into_mut().unwrap_or_default();
        let mut copies = Self { bytes, entries, starts_and_offsets };
        copies.bytes.clear();
        copies.entries.clear();
        copies.starts_and_offsets.clear();
        copies
    }

    /// Adds a copy of the record at `entry` of `block`.
    ///
    /// # Panics
    /// Panics if the copies would be 4 GiB or more.
    pub(crate) fn add(&mut self, block: &Block, entry: &RecordEntry) {
        let payload = &block.bytes[entry.start as usize..entry.end as usize];
        let start = self.bytes.len();
        let end = start + payload.len();
        assert!(end < u32::MAX as usize, "a block is shorter than 4 GiB");
        self.bytes.extend_from_slice(payload);
        if payload.is_empty() {
            self.bytes.extend_from_slice(&[0]); // so that no two payloads have the same start
        }
        let (start, end) = (start as u32, end as u32);
        self.starts_and_offsets.push((start, block.offset(entry)));
        self.entries.push(RecordEntry { start, end, ..*entry });
    }

    /// Adds copies of all records of `block`. Returns false, and adds none, if the copies would
    /// be 4 GiB or more: several records may share their bytes, and copies do not.
    #[must_use]
    pub(crate) fn add_all(&mut self, block: &Block) -> bool {
        // An empty record takes a byte.
        let copied_len =
            |entry: &RecordEntry| u64::from((entry.end - entry.start).max(1));
        let added_len: u64 = block.entries().iter().map(copied_len).sum();
        let fits = self.bytes.len() as u64 + added_len < u64::from(u32::MAX);
        if fits {
            block.entries().iter().for_each(|entry| self.add(block, entry));
        }
        fits
    }

    /// Returns the number of copied bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of copied records.
    pub(crate) fn record_count(&self) -> usize {
        self.entries.len()
    }

    /// Moves the copies into `block`.
    pub(crate) fn finish(self, block: &mut Block) {
        block.reset_to(
            self.bytes.freeze(),
            BlockOrigin::Copied(self.starts_and_offsets),
        );
        block.entries = self.entries;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::model::{time::Timestamp, topic::TopicId};

    #[test]
    fn block_whose_copies_would_be_too_long_is_not_copied() {
        let mut block = Block::default();
        // Only the addresses are used: the zeros are not touched.
        let len = 3 << 29;
        block.reset(Bytes::from(vec![0; len]), 0);
        for topic in 0..3 {
            block.push(TopicId(topic), Timestamp::from_nanos(0), 0..len);
        }
        let mut copies = RecordCopies::default();
        assert!(!copies.add_all(&block));
        assert_eq!((copies.byte_len(), copies.record_count()), (0, 0));
        block.reset(Bytes::from_static(b"ab"), 0);
        block.push(TopicId(0), Timestamp::from_nanos(0), 0..2);
        block.push(TopicId(1), Timestamp::from_nanos(0), 2..2);
        assert!(copies.add_all(&block));
        assert_eq!((copies.byte_len(), copies.record_count()), (3, 2));
    }
}
