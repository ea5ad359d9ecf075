//! Columns of values that come in any order, or not at all: of encodings that name their
//! fields in every record, as protocol buffers and JSON do.
//!
//! What values look like is a [`Shape`]; a [`TreeReader`] puts those of a record into the
//! [`Branch`]es of the shape, one branch a field, and what it puts nothing into is null.
//! A record that turns out to be broken leaves nothing behind.

mod branch;
mod columns;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use crate::{
    decode::{
        columns::{into_error, time_array, time_field},
        tree::columns::Plan,
    },
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder},
    model::damage::{Damage, DamageKind},
    record::block::Run,
};

pub use self::{branch::Branch, values::Scalar};

/// What values look like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // they say it themselves
pub enum Shape {
    Bool,
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
    /// Text; bytes that are no UTF-8 become U+FFFD.
    Text,
    Bytes,
    /// A moment: nanoseconds since 1970.
    Time,
    /// A time between moments, in nanoseconds.
    Span,
    Struct(StructShape),
    /// Any number of one shape.
    List(Box<Shape>),
}

/// Named values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructShape {
    /// The name of the type, where types have names: what labels go by.
    pub type_name: String,
    /// The fields.
    pub fields: Vec<(String, Shape)>,
}

/// The most columns, and fields of what is in them, that a shape may have.
pub const MAX_SHAPE_FIELDS: usize = 4096;

/// Shapes are no deeper in each other.
const MAX_DEPTH: usize = 64;

/// How many values may wait to be taken, and how many bytes of texts.
const MAX_VALUES: u64 = 1 << 27;
const MAX_BYTES: u64 = i32::MAX as u64 / 3;

/// Reads records into branches.
pub trait TreeReader: Send {
    /// Puts the values of `payload` into the fields of `row`, which is a struct, and closes
    /// it. Nothing if the payload is not what it should be: `row` is then put back.
    ///
    /// `most` is how many elements of lists, weighed by how many values each is, it may add.
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        most: u64,
    ) -> Option<RowSummary>;
}

/// What a record came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSummary {
    /// How many elements of lists were added, at most, weighed by how many values each is.
    pub items: u64,
    /// How many values were not what the shape says, and are null.
    pub misfits: u64,
    /// The number of bytes that are in no field of the shape.
    pub surplus: usize,
}

/// Decodes records that a [`TreeReader`] can read.
pub struct TreeDecoder<R> {
    reader: R,
    plan: Plan,
    row: Branch,
    times: Vec<i64>,
    envelope: usize,
    /// How many values wait, and bytes.
    values: u64,
    bytes: u64,
    width: u64,
}

impl StructShape {
    /// How many values a record has at least, lists being empty.
    fn width(&self) -> usize {
        self.fields.iter().map(|(_, shape)| shape.width()).sum()
    }

    /// Checks that it is not too large, and not too deep.
    ///
    /// # Errors
    /// `Limit` if it is.
    pub fn check(&self) -> Result<()> {
        let fields =
            |shape: &Self| shape.fields.iter().map(|(_, s)| s.clone()).collect();
        let (mut level, mut seen): (Vec<Shape>, usize) = (fields(self), 0);
        for _ in 0..MAX_DEPTH {
            seen += level.len();
            if level.is_empty() && seen <= MAX_SHAPE_FIELDS {
                return Ok(());
            }
            if seen > MAX_SHAPE_FIELDS {
                break;
            }
            let inner = level.iter().flat_map(|shape| match shape {
                Shape::Struct(inner) => fields(inner),
                Shape::List(item) => vec![(**item).clone()],
                _ => vec![],
            });
            level = inner.collect();
        }
        let name = &self.type_name;
        let what =
            format!("the type {name:?} has over {MAX_SHAPE_FIELDS} fields, or is deep");
        Err(Error::new(ErrorKind::Limit, what))
    }
}

impl Shape {
    /// How many values one of it is at least, lists being empty.
    pub fn width(&self) -> usize {
        match self {
            Self::Struct(inner) => 1 + inner.width(),
            _ => 1,
        }
    }
}

impl<R: TreeReader> TreeDecoder<R> {
    /// A decoder of the `columns` of records of `shape`, which `reader` reads, behind
    /// `envelope` bytes.
    ///
    /// # Errors
    /// `Limit` if the shape is too large; `NoSuch` if a column is wanted that is not there.
    pub fn new(
        shape: &StructShape,
        reader: R,
        envelope: u32,
        columns: &Columns,
    ) -> Result<Self> {
        shape.check()?;
        let row = Branch::new(&Shape::Struct(shape.clone()));
        let plan = Plan::new(shape, columns)?;
        let (times, envelope) = (Vec::new(), envelope as usize);
        let width = shape.width() as u64;
        Ok(Self { reader, plan, row, times, envelope, values: 0, bytes: 0, width })
    }

    /// Adds a record; returns the numbers of values and of surplus bytes.
    fn add(&mut self, payload: &[u8]) -> std::result::Result<RowSummary, DamageKind> {
        let len = payload.len() as u64;
        let left = MAX_VALUES.saturating_sub(self.values + self.width);
        if left == 0 || self.bytes + len > MAX_BYTES {
            return Err(DamageKind::OverLimit);
        }
        let before = self.row.len();
        match self.reader.read(payload, &mut self.row, left) {
            Some(more) if more.items <= left => {
                self.values += self.width + more.items;
                self.bytes += len;
                Ok(more)
            }
            read => {
                self.row.truncate(before);
                let over = read.map(|_| DamageKind::OverLimit);
                Err(over.unwrap_or(DamageKind::Undecodable))
            }
        }
    }
}

impl<R: TreeReader> Decoder for TreeDecoder<R> {
    fn schema(&self) -> &SchemaRef {
        self.plan.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            let payload = record.payload.get(self.envelope..).unwrap_or_default();
            match self.add(payload) {
                Ok(added) => {
                    self.times.push(record.time.as_nanos());
                    if added.misfits > 0 {
                        let misfit = record.undecodable().with_kind(DamageKind::Misfit);
                        misfit.add_to(damage);
                    }
                    if added.surplus > 0 {
                        record.surplus(added.surplus).add_to(damage);
                    }
                }
                Err(kind) => Damage { kind, ..record.undecodable() }.add_to(damage),
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        (self.values, self.bytes) = (0, 0);
        let mut columns = vec![time_array(std::mem::take(&mut self.times))];
        columns.extend(self.plan.columns(self.row.take()?)?);
        RecordBatch::try_new(self.plan.schema().clone(), columns).map_err(into_error)
    }
}

/// The columns of records of `fields`, after the time.
fn schema_of(fields: impl IntoIterator<Item = arrow_schema::FieldRef>) -> SchemaRef {
    let time = Arc::new(time_field("time", "ns"));
    Arc::new(Schema::new([time].into_iter().chain(fields).collect::<Vec<_>>()))
}

impl<R> std::fmt::Debug for TreeDecoder<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeDecoder")
            .field("rows", &self.times.len())
            .finish_non_exhaustive()
    }
}
