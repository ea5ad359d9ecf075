//! The tree of arrays that a batch is built of.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, FixedSizeListArray, ListArray, StructArray,
    builder::StringDictionaryBuilder, cast::AsArray as _, types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, FieldRef, Fields};

use crate::{columns::into_error, error::Result, labels::FieldLabels};

/// An array to be built.
#[derive(Debug)]
pub(super) enum Node {
    /// The leaf with this index.
    Leaf(usize),
    /// The names of the values of the leaf with this index.
    Label(usize, FieldLabels),
    /// Lists of so many of something.
    FixedList(FieldRef, i32, Box<Node>),
    /// Lists of something that end where the leaf with this index says.
    List(FieldRef, usize, Box<Node>),
    /// Some things side by side.
    Struct(Fields, Vec<Node>),
}

impl Node {
    /// Builds the array out of `leaves`.
    pub(super) fn build(&self, leaves: &[ArrayRef]) -> Result<ArrayRef> {
        Ok(match self {
            Self::Leaf(leaf) => leaves[*leaf].clone(),
            Self::Label(leaf, labels) => named(&leaves[*leaf], labels)?,
            Self::FixedList(field, len, node) => {
                let values = node.build(leaves)?;
                let list =
                    FixedSizeListArray::try_new(field.clone(), *len, values, None);
                Arc::new(list.map_err(into_error)?)
            }
            Self::List(field, ends, node) => {
                let ends = leaves[*ends].as_primitive::<Int32Type>().values().clone();
                let (ends, values) = (OffsetBuffer::new(ends), node.build(leaves)?);
                let list = ListArray::try_new(field.clone(), ends, values, None);
                Arc::new(list.map_err(into_error)?)
            }
            Self::Struct(fields, nodes) => {
                let build = |node: &Self| node.build(leaves);
                let columns = nodes.iter().map(build).collect::<Result<_>>()?;
                let made = StructArray::try_new(fields.clone(), columns, None);
                Arc::new(made.map_err(into_error)?)
            }
        })
    }
}

/// The names of the integers of `values`; null where one has none.
fn named(values: &ArrayRef, labels: &FieldLabels) -> Result<ArrayRef> {
    let mut names = StringDictionaryBuilder::<Int32Type>::new();
    for value in integers(values) {
        names.append_option(value.and_then(|value| labels.get(&value)));
    }
    Ok(Arc::new(names.finish()))
}

/// The values of an array of integers of any size.
fn integers(values: &ArrayRef) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    use arrow_array::types::*;
    macro_rules! each {
        ($type:ty) => {
            Box::new(
                values
                    .as_primitive::<$type>()
                    .values()
                    .iter()
                    .map(|v| i64::try_from(*v).ok()),
            )
        };
    }
    match values.data_type() {
        DataType::Int8 => each!(Int8Type),
        DataType::Int16 => each!(Int16Type),
        DataType::Int32 => each!(Int32Type),
        DataType::Int64 => each!(Int64Type),
        DataType::UInt8 => each!(UInt8Type),
        DataType::UInt16 => each!(UInt16Type),
        DataType::UInt32 => each!(UInt32Type),
        DataType::UInt64 => each!(UInt64Type),
        DataType::Boolean => {
            Box::new(values.as_boolean().iter().map(|v| v.map(i64::from)))
        }
        _ => Box::new(std::iter::repeat_n(None, values.len())),
    }
}
