//! Decoding values from pieces of payloads.

use arrow_array::ArrayRef;

use crate::decode::columns::program::ByteRange;

/// The offsets of a leaf's values in a piece.
#[derive(Debug)]
pub(super) enum ValueOffsets {
    /// One value.
    One(usize),
    /// Several adjacent values.
    Adjacent { start: usize, count: usize },
    /// Several values at any offsets.
    Scattered(Vec<u32>),
    /// The piece consists of values only.
    WholePiece,
}

impl ValueOffsets {
    /// Creates the offsets of values of `size` bytes. There must be at least one.
    pub(super) fn new(size: usize, offsets: Vec<u32>) -> Self {
        let are_adjacent = |pair: &[u32]| pair[0] as usize + size == pair[1] as usize;
        match offsets[..] {
            [offset] => Self::One(offset as usize),
            [start, ..] if offsets.windows(2).all(are_adjacent) => {
                Self::Adjacent { start: start as usize, count: offsets.len() }
            }
            _ => Self::Scattered(offsets),
        }
    }
}

/// The pieces from which values are decoded.
pub(super) enum ValueBytes<'p> {
    /// Payloads of fixed size, with their total bytes and the size of each.
    Payloads(&'p [u8], usize),
    /// Pieces of these bytes.
    Pieces(&'p [u8], &'p [ByteRange]),
    /// Pieces of these bytes that consist of elements of the given size.
    Elements(&'p [u8], &'p [ByteRange], usize),
}

/// A column of values of one type. It is used as `dyn`, so that the type is inspected
/// once for many values.
pub(super) trait ValueColumn: Send {
    fn gather(&mut self, pieces: ValueBytes<'_>, offsets: &ValueOffsets);
    fn take(&mut self) -> ArrayRef;
}

/// A column of values of one type, for any iterator over pieces.
pub(super) trait GatherValues: Send {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        offsets: &ValueOffsets,
    );
    fn take(&mut self) -> ArrayRef;
}

impl<G: GatherValues> ValueColumn for G {
    fn gather(&mut self, pieces: ValueBytes<'_>, offsets: &ValueOffsets) {
        match pieces {
            ValueBytes::Payloads(payloads, stride) => {
                GatherValues::gather(self, payloads.chunks_exact(stride), offsets);
            }
            ValueBytes::Pieces(bytes, ranges) => {
                let pieces = ranges.iter().map(|range| slice(bytes, *range));
                GatherValues::gather(self, pieces, offsets);
            }
            ValueBytes::Elements(bytes, ranges, stride) => {
                for range in ranges {
                    let elements = slice(bytes, *range).chunks_exact(stride);
                    GatherValues::gather(self, elements, offsets);
                }
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        GatherValues::take(self)
    }
}

#[inline(always)]
fn slice(bytes: &[u8], (start, end): ByteRange) -> &[u8] {
    bytes.get(start as usize..end as usize).unwrap_or_default()
}

/// Takes all of `values` and reserves the same capacity again. Batches of one topic have
/// similar lengths, and growing the vector step by step costs more than decoding.
pub(super) fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let next_values = Vec::with_capacity(values.len() + values.len() / 8);
    std::mem::replace(values, next_values)
}
