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
            values::{Scalar, ValueBuffer, WorstEncoding, offsets},
        },
    },
    error::Result,
};

/// The values of a field, one for each closed row.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Whether each value is not null.
    validity: Vec<bool>,
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
    /// Creates an empty branch of values of the type `value_type`.
    pub fn new(value_type: &ValueType) -> Self {
        Self::with_encoding(value_type, &WorstEncoding::default())
    }

    /// Creates an empty branch, which adds the encodings of its strings to `encoding`.
    pub(super) fn with_encoding(
        value_type: &ValueType,
        encoding: &WorstEncoding,
    ) -> Self {
        let branch = |value_type| Self::with_encoding(value_type, encoding);
        let kind = match value_type {
            ValueType::Struct(inner) => BranchKind::Struct(
                inner
                    .fields
                    .iter()
                    .map(|(name, field_type)| (name.clone(), branch(field_type)))
                    .collect(),
            ),
            ValueType::List(item) => {
                BranchKind::List { ends: Vec::new(), item: Box::new(branch(item)) }
            }
            // All other types are scalars.
            scalar => match ValueBuffer::new(scalar, encoding) {
                Some(values) => BranchKind::Scalars(values),
                None => BranchKind::Struct(Vec::new()),
            },
        };
        Self { validity: Vec::new(), kind, is_open: false }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.validity.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.validity.is_empty()
    }

    /// Appends a scalar. Returns `None` and appends nothing if its type does not match.
    #[inline]
    pub fn push(&mut self, value: Scalar<'_>) -> Option<()> {
        let BranchKind::Scalars(values) = &mut self.kind else { return None };
        values.push(value)?;
        self.validity.push(true);
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
        self.validity.push(false);
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
                    if field.len() > row {
                        continue;
                    }
                    if field.is_open {
                        field.close();
                    } else {
                        field.push_null();
                    }
                }
            }
            BranchKind::List { ends, item } => {
                ends.push(i32::try_from(item.len()).unwrap_or(i32::MAX));
            }
        }
        self.validity.push(true);
        self.is_open = false;
    }

    /// Removes all values after the first `len`, and the open row.
    pub fn truncate(&mut self, len: usize) {
        self.validity.truncate(len);
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
        let validity = std::mem::take(&mut self.validity);
        let len = validity.len();
        let nulls = if validity.iter().all(|is_valid| *is_valid) {
            None
        } else {
            Some(NullBuffer::new(BooleanBuffer::from(validity)))
        };
        Ok(match &mut self.kind {
            BranchKind::Scalars(values) => values.take(nulls),
            BranchKind::Struct(fields) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(len, nulls))
            }
            BranchKind::Struct(fields) => {
                let (mut arrow_fields, mut arrays) = (Vec::new(), Vec::new());
                for (name, branch) in fields {
                    let array = branch.take()?;
                    let data_type = array.data_type().clone();
                    arrow_fields.push(Field::new(&*name, data_type, true));
                    arrays.push(array);
                }
                let arrow_fields = Fields::from(arrow_fields);
                let array = StructArray::try_new(arrow_fields, arrays, nulls);
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
