//! Columns of strings, binary data and list ends decoded from pieces of payloads.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};

use crate::{
    decode::columns::{
        gather::{GatherValues, ValueOffsets, take},
        up_to_nul,
    },
    io::decode_text::decode_text,
};

/// A column of strings of fixed length, each up to its first NUL.
///
/// They are decoded by [`decode_text`].
pub(super) struct FixedStringColumn {
    len: usize,
    strings: StringColumn,
}

/// A column of strings, which are decoded by [`decode_text`].
pub(super) struct StringColumn {
    /// The concatenated strings. The first of the ends is 0.
    text: String,
    ends: Vec<i32>,
}

/// A column of binary data.
pub(super) struct BinaryColumn {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

/// The ends of lists. The function `len` returns the length of the list from a piece.
pub(super) struct ListEnds<F> {
    len: F,
    ends: Vec<i32>,
}

impl FixedStringColumn {
    pub(super) fn new(len: usize) -> Self {
        Self { len, strings: StringColumn::default() }
    }

    fn add(&mut self, piece: &[u8], offset: usize) {
        let chars = piece.get(offset..offset + self.len).unwrap_or_default();
        self.strings.add(up_to_nul(chars));
    }
}

impl GatherValues for FixedStringColumn {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        value_offsets: &ValueOffsets,
    ) {
        for piece in pieces {
            match value_offsets {
                ValueOffsets::One(offset) => self.add(piece, *offset),
                ValueOffsets::Adjacent { start, count } => {
                    (*start..start + count).for_each(|offset| self.add(piece, offset));
                }
                ValueOffsets::Scattered(offsets) => {
                    offsets.iter().for_each(|offset| self.add(piece, *offset as usize));
                }
                ValueOffsets::WholePiece => self.add(piece, 0),
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        GatherValues::take(&mut self.strings)
    }
}

impl StringColumn {
    fn add(&mut self, bytes: &[u8]) {
        self.text.push_str(&decode_text(bytes));
        self.ends.push(arrow_offset(self.text.len()));
    }
}

impl Default for StringColumn {
    fn default() -> Self {
        Self { text: String::new(), ends: vec![0] }
    }
}

impl GatherValues for StringColumn {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        _: &ValueOffsets,
    ) {
        pieces.for_each(|piece| self.add(piece));
    }

    fn take(&mut self) -> ArrayRef {
        let next_text = String::with_capacity(self.text.len());
        let text = std::mem::replace(&mut self.text, next_text).into_bytes();
        let ends = take_ends(&mut self.ends);
        Arc::new(StringArray::new(ends, text.into(), None))
    }
}

impl Default for BinaryColumn {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}

impl GatherValues for BinaryColumn {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        _: &ValueOffsets,
    ) {
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
            self.ends.push(arrow_offset(self.bytes.len()));
        }
    }

    fn take(&mut self) -> ArrayRef {
        let bytes = std::mem::take(&mut self.bytes);
        let ends = take_ends(&mut self.ends);
        Arc::new(BinaryArray::new(ends, bytes.into(), None))
    }
}

impl<F: Fn(&[u8]) -> usize> ListEnds<F> {
    pub(super) fn new(len: F) -> Self {
        Self { len, ends: vec![0] }
    }
}

impl<F: Fn(&[u8]) -> usize + Send> GatherValues for ListEnds<F> {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        _: &ValueOffsets,
    ) {
        let mut end = self.ends.last().copied().unwrap_or(0);
        self.ends.extend(pieces.map(|piece| {
            end = end.saturating_add(arrow_offset((self.len)(piece)));
            end
        }));
    }

    /// Returns offsets, so one more than there are lists.
    fn take(&mut self) -> ArrayRef {
        Arc::new(Int32Array::new(take_ends(&mut self.ends).into_inner(), None))
    }
}

/// Converts an end to the type of Arrow. It does not overflow, because the decoder limits
/// the size of a batch before decoding.
fn arrow_offset(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// Takes the ends as the offsets of an Arrow array, and leaves the first 0.
fn take_ends(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let taken_ends = take(ends);
    ends.push(0);
    OffsetBuffer::new(ScalarBuffer::from(taken_ends))
}
