//! A field of a tree, with its values so far.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, ListArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{Field, Fields};

use crate::{
    decode::{
        columns::into_error,
        tree::{
            ValueType,
            values::{Scalar, ValueBuffer, offsets},
        },
    },
    error::Result,
};

/// The values of a field, one for each closed row.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Whether each value is not null.
    valid: Vec<bool>,
    kind: BranchKind,
    /// Whether the next struct or list is started and not yet closed.
    is_open: bool,
}

#[derive(Clone, Debug)]
enum BranchKind {
    Scalars(ValueBuffer),
    Struct(Vec<(String, Branch)>),
    List { ends: Vec<i32>, item: Box<Branch> },
}

impl Branch {
    /// Creates an empty branch of `shape`.
    pub fn new(shape: &ValueType) -> Self {
        let kind = match shape {
            ValueType::Struct(inner) => {
                let fields = inner.fields.iter();
                let field = |(name, shape): &(String, ValueType)| {
                    (name.clone(), Self::new(shape))
                };
                BranchKind::Struct(fields.map(field).collect())
            }
            ValueType::List(item) => {
                BranchKind::List { ends: Vec::new(), item: Box::new(Self::new(item)) }
            }
            // All other shapes are scalars.
            scalar => match ValueBuffer::new(scalar) {
                Some(values) => BranchKind::Scalars(values),
                None => BranchKind::Struct(Vec::new()),
            },
        };
        Self { valid: Vec::new(), kind, is_open: false }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }

    /// Appends a scalar. Returns `None` and appends nothing if its type does not match.
    #[inline]
    pub fn push(&mut self, value: Scalar<'_>) -> Option<()> {
        let BranchKind::Scalars(values) = &mut self.kind else { return None };
        values.push(value)?;
        self.valid.push(true);
        Some(())
    }

    /// Sets the scalar of the open row `row`, replacing an earlier value.
    #[inline]
    pub fn set(&mut self, row: usize, value: Scalar<'_>) -> Option<()> {
        if self.len() > row {
            self.truncate(row);
        }
        self.push(value)
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        match &mut self.kind {
            BranchKind::Scalars(values) => values.push_default(),
            BranchKind::Struct(fields) => {
                fields.iter_mut().for_each(|(_, field)| field.push_null());
            }
            BranchKind::List { ends, .. } => {
                ends.push(ends.last().copied().unwrap_or(0))
            }
        }
        self.valid.push(false);
        self.is_open = false;
    }

    /// Returns the field of a struct with this `index`. A value that is appended there
    /// belongs to the row that is closed next.
    #[inline]
    pub fn field(&mut self, index: usize) -> Option<&mut Self> {
        self.is_open = true;
        match &mut self.kind {
            BranchKind::Struct(fields) => fields.get_mut(index).map(|(_, field)| field),
            BranchKind::Scalars(_) | BranchKind::List { .. } => None,
        }
    }

    /// Returns the elements of a list. A value that is appended there belongs to the list
    /// that is closed next.
    pub fn item(&mut self) -> Option<&mut Self> {
        self.is_open = true;
        match &mut self.kind {
            BranchKind::List { item, .. } => Some(item),
            BranchKind::Scalars(_) | BranchKind::Struct(_) => None,
        }
    }

    /// Starts a struct or a list, which can stay empty.
    pub fn open(&mut self) {
        self.is_open = true;
    }

    /// Returns whether the next struct or list is started.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Closes a struct or a list, which completes its row. Open fields are closed, and
    /// missing fields are null.
    pub fn close(&mut self) {
        let row = self.len();
        match &mut self.kind {
            BranchKind::Scalars(_) => return,
            BranchKind::Struct(fields) => {
                for (_, field) in fields {
                    match field.len() > row {
                        true => {}
                        false if field.is_open => field.close(),
                        false => field.push_null(),
                    }
                }
            }
            BranchKind::List { ends, item } => {
                ends.push(i32::try_from(item.len()).unwrap_or(i32::MAX));
            }
        }
        self.valid.push(true);
        self.is_open = false;
    }

    /// Removes all values after the first `len`, and the open row.
    pub fn truncate(&mut self, len: usize) {
        self.valid.truncate(len);
        self.is_open = false;
        match &mut self.kind {
            BranchKind::Scalars(values) => values.truncate(len),
            BranchKind::Struct(fields) => {
                fields.iter_mut().for_each(|(_, field)| field.truncate(len));
            }
            BranchKind::List { ends, item } => {
                ends.truncate(len);
                item.truncate(ends.last().map_or(0, |end| *end as usize));
            }
        }
    }

    /// Takes the values as an array.
    ///
    /// # Errors
    /// `Malformed` if they are inconsistent, which cannot happen.
    pub fn take(&mut self) -> Result<ArrayRef> {
        let valid = std::mem::take(&mut self.valid);
        let len = valid.len();
        let nulls = (!valid.iter().all(|valid| *valid))
            .then(|| NullBuffer::new(BooleanBuffer::from(valid)));
        Ok(match &mut self.kind {
            BranchKind::Scalars(values) => values.take(nulls),
            BranchKind::Struct(fields) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(len, nulls))
            }
            BranchKind::Struct(fields) => {
                let (mut named, mut arrays) = (Vec::new(), Vec::new());
                for (name, field) in fields {
                    let array = field.take()?;
                    named.push(Field::new(&*name, array.data_type().clone(), true));
                    arrays.push(array);
                }
                let array = StructArray::try_new(Fields::from(named), arrays, nulls);
                Arc::new(array.map_err(into_error)?)
            }
            BranchKind::List { ends, item } => {
                let (ends, items) = (std::mem::take(ends), item.take()?);
                let field = Field::new("item", items.data_type().clone(), true);
                let array =
                    ListArray::try_new(Arc::new(field), offsets(ends), items, nulls);
                Arc::new(array.map_err(into_error)?)
            }
        })
    }
}
