//! A field of a tree, and the values that it has so far.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, ListArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{Field, Fields};

use crate::{
    decode::{
        columns::into_error,
        tree::{
            Shape,
            values::{Scalar, Values, offsets},
        },
    },
    error::Result,
};

/// The values of a field, one for each row that is closed.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Whether each is there.
    valid: Vec<bool>,
    kind: Kind,
    /// Whether a struct, or a list, is told of and not yet closed.
    is_open: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Scalars(Values),
    Struct(Vec<(String, Branch)>),
    List { ends: Vec<i32>, item: Box<Branch> },
}

impl Branch {
    /// No values of `shape`.
    pub fn new(shape: &Shape) -> Self {
        let kind = match shape {
            Shape::Struct(inner) => {
                let fields = inner.fields.iter();
                let field =
                    |(name, shape): &(String, Shape)| (name.clone(), Self::new(shape));
                Kind::Struct(fields.map(field).collect())
            }
            Shape::List(item) => {
                Kind::List { ends: Vec::new(), item: Box::new(Self::new(item)) }
            }
            // Whatever is none of the others is a scalar.
            scalar => match Values::new(scalar) {
                Some(values) => Kind::Scalars(values),
                None => Kind::Struct(Vec::new()),
            },
        };
        Self { valid: Vec::new(), kind, is_open: false }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }

    /// Adds a scalar; nothing if it is none, or of another type.
    #[inline]
    pub fn push(&mut self, value: Scalar<'_>) -> Option<()> {
        let Kind::Scalars(values) = &mut self.kind else { return None };
        values.push(value)?;
        self.valid.push(true);
        Some(())
    }

    /// Makes a scalar the value of the row `row`, the one that is not closed, whether it
    /// has one or not.
    #[inline]
    pub fn set(&mut self, row: usize, value: Scalar<'_>) -> Option<()> {
        if self.len() > row {
            self.truncate(row);
        }
        self.push(value)
    }

    /// Adds nothing.
    pub fn push_null(&mut self) {
        match &mut self.kind {
            Kind::Scalars(values) => values.push_default(),
            Kind::Struct(fields) => {
                fields.iter_mut().for_each(|(_, field)| field.push_null());
            }
            Kind::List { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
        }
        self.valid.push(false);
        self.is_open = false;
    }

    /// The field of a struct with the index `index`; what is put there is of the row that
    /// is closed next.
    #[inline]
    pub fn field(&mut self, index: usize) -> Option<&mut Self> {
        self.is_open = true;
        match &mut self.kind {
            Kind::Struct(fields) => fields.get_mut(index).map(|(_, field)| field),
            Kind::Scalars(_) | Kind::List { .. } => None,
        }
    }

    /// What a list is of; what is put there is of the list that is closed next.
    pub fn item(&mut self) -> Option<&mut Self> {
        self.is_open = true;
        match &mut self.kind {
            Kind::List { item, .. } => Some(item),
            Kind::Scalars(_) | Kind::Struct(_) => None,
        }
    }

    /// Opens a struct or a list, which may stay empty.
    pub fn open(&mut self) {
        self.is_open = true;
    }

    /// Whether something is told of the next struct or list.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Closes a struct or a list: its next row is there. Fields of which nothing was told
    /// are null, those that are open are closed.
    pub fn close(&mut self) {
        let row = self.len();
        match &mut self.kind {
            Kind::Scalars(_) => return,
            Kind::Struct(fields) => {
                for (_, field) in fields {
                    match field.len() > row {
                        true => {}
                        false if field.is_open => field.close(),
                        false => field.push_null(),
                    }
                }
            }
            Kind::List { ends, item } => {
                ends.push(i32::try_from(item.len()).unwrap_or(i32::MAX));
            }
        }
        self.valid.push(true);
        self.is_open = false;
    }

    /// Takes back all values but the first `len`, and what is not closed.
    pub fn truncate(&mut self, len: usize) {
        self.valid.truncate(len);
        self.is_open = false;
        match &mut self.kind {
            Kind::Scalars(values) => values.truncate(len),
            Kind::Struct(fields) => {
                fields.iter_mut().for_each(|(_, field)| field.truncate(len));
            }
            Kind::List { ends, item } => {
                ends.truncate(len);
                item.truncate(ends.last().map_or(0, |end| *end as usize));
            }
        }
    }

    /// Takes the values as an array.
    ///
    /// # Errors
    /// `Malformed` if they are no array, which cannot be.
    pub fn take(&mut self) -> Result<ArrayRef> {
        let valid = std::mem::take(&mut self.valid);
        let len = valid.len();
        let nulls = (!valid.iter().all(|valid| *valid))
            .then(|| NullBuffer::new(BooleanBuffer::from(valid)));
        Ok(match &mut self.kind {
            Kind::Scalars(values) => values.take(nulls),
            Kind::Struct(fields) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(len, nulls))
            }
            Kind::Struct(fields) => {
                let (mut named, mut arrays) = (Vec::new(), Vec::new());
                for (name, field) in fields {
                    let array = field.take()?;
                    named.push(Field::new(&*name, array.data_type().clone(), true));
                    arrays.push(array);
                }
                let made = StructArray::try_new(Fields::from(named), arrays, nulls);
                Arc::new(made.map_err(into_error)?)
            }
            Kind::List { ends, item } => {
                let (ends, items) = (std::mem::take(ends), item.take()?);
                let field = Field::new("item", items.data_type().clone(), true);
                let made =
                    ListArray::try_new(Arc::new(field), offsets(ends), items, nulls);
                Arc::new(made.map_err(into_error)?)
            }
        })
    }
}
