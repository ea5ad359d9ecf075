//! How values are gathered from pieces of payloads.

use arrow_array::ArrayRef;

use crate::decode::columns::program::Piece;

/// The offsets of a leaf's values in a piece.
#[derive(Debug)]
pub(super) enum Places {
    /// One.
    One(usize),
    /// Several, one behind the other.
    Row { start: usize, count: usize },
    /// Several, anywhere.
    Many(Vec<u32>),
    /// The piece is nothing but values.
    All,
}

impl Places {
    /// The `offsets`, one or more, of values of `size` bytes.
    pub(super) fn new(size: usize, offsets: Vec<u32>) -> Self {
        let next_to = |pair: &[u32]| pair[0] as usize + size == pair[1] as usize;
        match offsets[..] {
            [one] => Self::One(one as usize),
            [start, ..] if offsets.windows(2).all(next_to) => {
                Self::Row { start: start as usize, count: offsets.len() }
            }
            _ => Self::Many(offsets),
        }
    }
}

/// What values are gathered from.
pub(super) enum Pieces<'p> {
    /// These bytes, being payloads of so many bytes each.
    Rows(&'p [u8], usize),
    /// Pieces of these bytes.
    Found(&'p [u8], &'p [Piece]),
    /// Pieces of these bytes, each being elements of so many bytes.
    Elements(&'p [u8], &'p [Piece], usize),
}

/// Values of one type. Behind a `dyn` so that the type is looked at once for many of them.
pub(super) trait Values: Send {
    fn gather(&mut self, pieces: Pieces<'_>, places: &Places);
    fn take(&mut self) -> ArrayRef;
}

/// The same, whatever the pieces are.
pub(super) trait Gather: Send {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        places: &Places,
    );
    fn take(&mut self) -> ArrayRef;
}

impl<G: Gather> Values for G {
    fn gather(&mut self, pieces: Pieces<'_>, places: &Places) {
        match pieces {
            Pieces::Rows(rows, stride) => {
                Gather::gather(self, rows.chunks_exact(stride), places);
            }
            Pieces::Found(bytes, pieces) => {
                let piece = |piece: &Piece| cut(bytes, *piece);
                Gather::gather(self, pieces.iter().map(piece), places);
            }
            Pieces::Elements(bytes, pieces, stride) => {
                for piece in pieces {
                    let elements = cut(bytes, *piece).chunks_exact(stride);
                    Gather::gather(self, elements, places);
                }
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        Gather::take(self)
    }
}

#[inline(always)]
fn cut(bytes: &[u8], (start, end): Piece) -> &[u8] {
    bytes.get(start as usize..end as usize).unwrap_or_default()
}

/// Takes all of `values`, and makes room for as many again: batches of one topic are
/// about equally long, and growing step by step costs more than the gathering.
pub(super) fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let again = Vec::with_capacity(values.len() + values.len() / 8);
    std::mem::replace(values, again)
}
