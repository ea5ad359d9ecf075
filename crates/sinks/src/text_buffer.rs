//! Text that grows at the end.

use std::ops::Range;

use crate::digits::Place;

/// Text that grows at the end, in memory that is used again and again.
///
/// Short pieces are made in place, behind the end, where there is always room for one.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    /// The text, and whatever bytes behind it.
    bytes: Vec<u8>,
    len: usize,
}

impl TextBuffer {
    /// Makes room for `bytes` more.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() < self.len + bytes {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        self.bytes.resize((self.len + bytes).next_power_of_two(), 0);
    }

    /// Adds what `put` writes to the beginning of a place and says the length of, and
    /// then `end`. Says where that is.
    #[inline(always)]
    pub(crate) fn put(
        &mut self,
        end: u8,
        put: impl FnOnce(&mut Place) -> usize,
    ) -> Range<usize> {
        self.reserve(size_of::<Place>());
        let start = self.len;
        if let Some(place) = self.bytes[start..].first_chunk_mut::<32>() {
            let len = put(place) & 31;
            place[len] = end;
            self.len += len + 1;
        }
        start..self.len
    }

    /// Adds what is at `range` already, and not longer than a place.
    #[inline(always)]
    pub(crate) fn repeat(&mut self, range: &Range<usize>) {
        self.reserve(size_of::<Place>());
        let text = self.bytes.get(range.start..).and_then(|text| text.first_chunk());
        let Some(text) = text.copied() else { return };
        if let Some(place) = self.bytes[self.len..].first_chunk_mut::<32>() {
            *place = text;
            self.len += range.len();
        }
    }

    /// Adds a text of any length.
    pub(crate) fn extend(&mut self, text: &[u8]) {
        self.reserve(text.len());
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
