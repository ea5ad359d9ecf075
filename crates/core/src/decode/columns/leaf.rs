//! What is read from the payloads: one primitive at one or more offsets, or a text.

use std::fmt::Debug;

use arrow_array::ArrayRef;

use crate::decode::columns::{
    gather::{Pieces, Places, Values},
    program::{Table, Tables},
    strings::{Binaries, Chars, Ends, Strings},
};

/// The values of one primitive of a type, of all records gathered so far.
pub(super) struct Leaf {
    source: Source,
    /// Where in each piece they are: one or more places.
    places: Places,
    values: Box<dyn Values>,
}

/// In what a leaf's values are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// In whole payloads.
    Payloads,
    /// In the pieces of this table.
    Pieces(Table),
    /// In the pieces of this table, each being elements of so many bytes.
    Elements { table: Table, stride: usize },
}

impl Leaf {
    /// A leaf of `values`, `size` bytes each, at `offsets`, one or more of them.
    pub(super) fn new(
        source: Source,
        size: u32,
        values: Box<dyn Values>,
        offsets: Vec<u32>,
    ) -> Self {
        let size = size as usize;
        match source {
            Source::Elements { table, stride } if stride == size => {
                Self { source: Source::Pieces(table), places: Places::All, values }
            }
            _ => Self { source, places: Places::new(size, offsets), values },
        }
    }

    /// A leaf of texts of `len` characters at `offsets`.
    pub(super) fn chars(source: Source, len: usize, offsets: Vec<u32>) -> Self {
        let values = Box::new(Chars::new(len));
        Self { source, places: Places::Many(offsets), values }
    }

    /// A leaf of the pieces of `table`, which are texts.
    pub(super) fn texts(table: Table) -> Self {
        Self::of_pieces(table, Box::new(Strings::default()))
    }

    /// A leaf of the pieces of `table` as they are.
    pub(super) fn bytes(table: Table) -> Self {
        Self::of_pieces(table, Box::new(Binaries::default()))
    }

    /// A leaf of the ends of lists: the pieces of `table` are their elements, of so
    /// many bytes each.
    pub(super) fn ends_of_elements(table: Table, stride: usize) -> Self {
        let len = move |piece: &[u8]| piece.len() / stride;
        Self::of_pieces(table, Box::new(Ends::new(len)))
    }

    /// A leaf of the ends of lists: the pieces of `table` say how many elements each
    /// has.
    pub(super) fn ends_of_counts(table: Table) -> Self {
        let len = |piece: &[u8]| -> usize {
            let bytes = piece.first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        Self::of_pieces(table, Box::new(Ends::new(len)))
    }

    fn of_pieces(table: Table, values: Box<dyn Values>) -> Self {
        Self { source: Source::Pieces(table), places: Places::All, values }
    }

    /// Adds the values of `rows`: payloads of `stride` bytes, one behind the other.
    pub(super) fn gather(&mut self, rows: &[u8], stride: usize) {
        self.values.gather(Pieces::Rows(rows, stride), &self.places);
    }

    /// Adds the values in the pieces of `bytes` that were found.
    pub(super) fn gather_from(&mut self, bytes: &[u8], tables: &Tables) {
        let pieces = match self.source {
            Source::Payloads => return, // it has no part in this
            Source::Pieces(table) => Pieces::Found(bytes, tables.get(table)),
            Source::Elements { table, stride } => {
                Pieces::Elements(bytes, tables.get(table), stride)
            }
        };
        self.values.gather(pieces, &self.places);
    }

    /// Takes the values gathered so far.
    pub(super) fn take(&mut self) -> ArrayRef {
        self.values.take()
    }
}

impl Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {:?}", self.places, self.source)
    }
}
