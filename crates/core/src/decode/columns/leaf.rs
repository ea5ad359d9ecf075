//! Leaves: columns of primitives or strings read from payloads.

use std::fmt::Debug;

use arrow_array::ArrayRef;

use crate::decode::columns::{
    gather::{ValueBytes, ValueColumn, ValueOffsets},
    program::{TableIndex, Tables},
    strings::{BinaryColumn, FixedStringColumn, ListEnds, StringColumn},
};

/// A column of primitives of one type, with the values decoded so far.
pub(super) struct Leaf {
    source: LeafSource,
    /// The offsets of the values in each piece: at least one.
    value_offsets: ValueOffsets,
    values: Box<dyn ValueColumn>,
}

/// The bytes in which the values of a leaf are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafSource {
    /// Whole payloads.
    Payloads,
    /// The pieces in this table.
    Pieces(TableIndex),
    /// The pieces in this table, which consist of elements of `stride` bytes.
    Elements { table: TableIndex, stride: usize },
}

impl Leaf {
    /// Creates a leaf of `values` of `size` bytes at `offsets`, of which there is at
    /// least one.
    pub(super) fn new(
        source: LeafSource,
        size: u32,
        values: Box<dyn ValueColumn>,
        offsets: Vec<u32>,
    ) -> Self {
        let size = size as usize;
        match source {
            LeafSource::Elements { table, stride } if stride == size => Self {
                source: LeafSource::Pieces(table),
                value_offsets: ValueOffsets::WholePiece,
                values,
            },
            _ => {
                Self { source, value_offsets: ValueOffsets::new(size, offsets), values }
            }
        }
    }

    /// Creates a leaf of fixed-size strings of `len` characters at `offsets`.
    pub(super) fn chars(source: LeafSource, len: usize, offsets: Vec<u32>) -> Self {
        let values = Box::new(FixedStringColumn::new(len));
        Self { source, value_offsets: ValueOffsets::Scattered(offsets), values }
    }

    /// Creates a leaf of the pieces in `table` as strings.
    pub(super) fn strings(table: TableIndex) -> Self {
        Self::from_pieces(table, Box::new(StringColumn::default()))
    }

    /// Creates a leaf of the pieces in `table` as binary data.
    pub(super) fn bytes(table: TableIndex) -> Self {
        Self::from_pieces(table, Box::new(BinaryColumn::default()))
    }

    /// Creates a leaf of the ends of lists. The pieces in `table` consist of elements of
    /// `stride` bytes.
    pub(super) fn list_ends_by_size(table: TableIndex, stride: usize) -> Self {
        let len = move |piece: &[u8]| piece.len() / stride;
        Self::from_pieces(table, Box::new(ListEnds::new(len)))
    }

    /// Creates a leaf of the ends of lists. The pieces in `table` are the numbers of
    /// elements.
    pub(super) fn list_ends_by_count(table: TableIndex) -> Self {
        let len = |piece: &[u8]| -> usize {
            let bytes = piece.first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        Self::from_pieces(table, Box::new(ListEnds::new(len)))
    }

    fn from_pieces(table: TableIndex, values: Box<dyn ValueColumn>) -> Self {
        Self {
            source: LeafSource::Pieces(table),
            value_offsets: ValueOffsets::WholePiece,
            values,
        }
    }

    /// Decodes the values of `payloads`, which have `stride` bytes each.
    pub(super) fn decode_payloads(&mut self, payloads: &[u8], stride: usize) {
        let payloads = ValueBytes::Payloads(payloads, stride);
        self.values.gather(payloads, &self.value_offsets);
    }

    /// Decodes the values from the pieces of `bytes` in `tables`.
    pub(super) fn decode_pieces(&mut self, bytes: &[u8], tables: &Tables) {
        let pieces = match self.source {
            LeafSource::Payloads => return, // such a leaf has no pieces
            LeafSource::Pieces(table) => ValueBytes::Pieces(bytes, tables.get(table)),
            LeafSource::Elements { table, stride } => {
                ValueBytes::Elements(bytes, tables.get(table), stride)
            }
        };
        self.values.gather(pieces, &self.value_offsets);
    }

    /// Takes the decoded values.
    pub(super) fn take(&mut self) -> ArrayRef {
        self.values.take()
    }
}

impl Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {:?}", self.value_offsets, self.source)
    }
}
