//! Blocks of records copied from other blocks.

use std::mem;

use bytes::BytesMut;

use crate::record::block::{Block, BlockOrigin, RecordEntry};

/// Collects copies of records of several blocks into one block.
#[derive(Debug, Default)]
pub(crate) struct RecordCopies {
    bytes: BytesMut,
    entries: Vec<RecordEntry>,
    places: Vec<(u32, u64)>,
}

impl RecordCopies {
    /// Creates a collection that reuses the buffers of `block`.
    pub(crate) fn new(block: &mut Block) -> Self {
        let Block { bytes, origin, entries, .. } = mem::take(block);
        let places = match origin {
            BlockOrigin::Gathered(places) => places,
            BlockOrigin::Plain(_) | BlockOrigin::Unpacked(_) => Vec::new(),
        };
        let bytes = bytes.try_into_mut().unwrap_or_default();
        let mut gather = Self { bytes, entries, places };
        gather.bytes.clear();
        gather.entries.clear();
        gather.places.clear();
        gather
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
        self.places.push((start, block.offset(entry)));
        self.entries.push(RecordEntry { start, end, ..*entry });
    }

    /// Adds copies of all records of `block`.
    ///
    /// # Panics
    /// Panics if the copies would be 4 GiB or more.
    pub(crate) fn add_all(&mut self, block: &Block) {
        block.entries().iter().for_each(|entry| self.add(block, entry));
    }

    /// Returns the number of copied bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of copied records.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Moves the copies into `block`.
    pub(crate) fn finish(self, block: &mut Block) {
        block.start_over(self.bytes.freeze(), BlockOrigin::Gathered(self.places));
        block.entries = self.entries;
    }
}
