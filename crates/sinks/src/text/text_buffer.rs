//! A buffer of text that grows at the end.

use std::ops::Range;

use crate::text::number_format::NumberBuffer;

/// A buffer of text that grows at the end and reuses its memory.
///
/// Numbers and other short texts are formatted directly after the end of the text.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    /// The text, followed by unspecified bytes.
    bytes: Vec<u8>,
    len: usize,
}

impl TextBuffer {
    /// Reserves capacity for `additional` more bytes.
    #[inline]
    pub(crate) fn reserve(&mut self, additional: usize) {
        if self.bytes.len() < self.len + additional {
            self.grow(additional);
        }
    }

    #[cold]
    fn grow(&mut self, additional: usize) {
        self.bytes.resize((self.len + additional).next_power_of_two(), 0);
    }

    /// Appends the text that `write_to` writes into its buffer, and then `delimiter`. `write_to`
    /// returns the length of its text. Returns the range of the text and the delimiter.
    #[inline(always)]
    pub(crate) fn append_with(
        &mut self,
        delimiter: u8,
        write_to: impl FnOnce(&mut NumberBuffer) -> usize,
    ) -> Range<usize> {
        self.reserve(size_of::<NumberBuffer>());
        let start = self.len;
        if let Some(target) = self.bytes[start..].first_chunk_mut::<32>() {
            let len = write_to(target) & 31;
            target[len] = delimiter;
            self.len += len + 1;
        }
        start..self.len
    }

    /// Appends a copy of the text at `range`, which must not be longer than a number.
    #[inline(always)]
    pub(crate) fn append_copy(&mut self, range: &Range<usize>) {
        self.reserve(size_of::<NumberBuffer>());
        let text = self.bytes.get(range.start..).and_then(|text| text.first_chunk());
        let Some(text) = text.copied() else { return };
        if let Some(target) = self.bytes[self.len..].first_chunk_mut::<32>() {
            *target = text;
            self.len += range.len();
        }
    }

    /// Appends a text of any length.
    pub(crate) fn append(&mut self, text: &[u8]) {
        self.reserve(text.len());
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.append(&[byte]);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
