//! The tree of arrays from which a batch is built.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, ListArray, StructArray, UInt32Array,
    cast::AsArray as _, types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{FieldRef, Fields};

use crate::{
    decode::columns::{into_error, value_names::ValueNames},
    error::Result,
};

/// An array to build.
#[derive(Debug)]
pub(super) enum Node {
    /// The leaf with this index.
    Leaf(usize),
    /// The labels of the values of the leaf with this index.
    Label(usize, ValueNames),
    /// Fixed-size lists of this length.
    FixedList(FieldRef, i32, Box<Node>),
    /// Lists whose ends are the leaf with this index.
    List(FieldRef, usize, Box<Node>),
    /// The number of elements of an array whose elements have no bytes, which is the same
    /// in all rows.
    Count(u32),
    /// A struct of arrays.
    Struct(Fields, Vec<Node>),
}

impl Node {
    /// Builds the array of `rows` values from `leaves`.
    pub(super) fn build(&self, leaves: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(match self {
            Self::Leaf(leaf) => leaves[*leaf].clone(),
            Self::Label(leaf, names) => names.labels(&leaves[*leaf])?,
            Self::FixedList(field, len, node) => {
                let elements = usize::try_from(*len).unwrap_or(0);
                let values = node.build(leaves, rows.saturating_mul(elements))?;
                let list =
                    FixedSizeListArray::try_new(field.clone(), *len, values, None);
                Arc::new(list.map_err(into_error)?)
            }
            Self::List(field, ends, node) => {
                let ends = leaves[*ends].as_primitive::<Int32Type>().values().clone();
                let offsets = OffsetBuffer::new(ends);
                let elements = offsets.last().copied().unwrap_or(0);
                let values =
                    node.build(leaves, usize::try_from(elements).unwrap_or(0))?;
                let list = ListArray::try_new(field.clone(), offsets, values, None);
                Arc::new(list.map_err(into_error)?)
            }
            Self::Count(count) => Arc::new(UInt32Array::from_value(*count, rows)),
            Self::Struct(fields, nodes) => {
                let columns = nodes.iter().map(|node| node.build(leaves, rows));
                let columns = columns.collect::<Result<_>>()?;
                let array = StructArray::try_new(fields.clone(), columns, None);
                Arc::new(array.map_err(into_error)?)
            }
        })
    }
}
