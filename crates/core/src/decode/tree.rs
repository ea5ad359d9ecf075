//! Columns of values in any order: for encodings whose records name their fields, such as
//! protobuf and JSON.
//!
//! A [`ValueType`] describes the values. A [`TreeReader`] appends the values of a record to
//! the [`Branch`]es of the type, one branch per field. Missing values are null. A record
//! that turns out to be invalid leaves no values behind.

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
        tree::columns::SelectedColumns,
    },
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder},
    model::damage::{Damage, DamageKind},
    record::block::Run,
};

pub use self::{branch::Branch, values::Scalar};

/// The type of values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are self-explanatory
pub enum ValueType {
    Bool,
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
    /// A string. Invalid UTF-8 is replaced by U+FFFD.
    Text,
    Bytes,
    /// A timestamp: nanoseconds since 1970.
    Timestamp,
    /// A duration in nanoseconds.
    Duration,
    Struct(StructType),
    /// A list of values of one shape.
    List(Box<ValueType>),
}

/// The fields of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructType {
    /// The name of the type, by which labels are found, or an empty string.
    pub type_name: String,
    /// The names and shapes of the fields.
    pub fields: Vec<(String, ValueType)>,
}

/// The maximum number of columns and nested fields of a shape.
pub const MAX_STRUCT_FIELDS: usize = 4096;

/// The maximum depth of nested shapes.
const MAX_DEPTH: usize = 64;

/// The maximum number of pending values, and of pending bytes of strings.
const MAX_VALUES: u64 = 1 << 27;
const MAX_BYTES: u64 = i32::MAX as u64 / 3;

/// A parser that appends the values of records to branches.
pub trait TreeReader: Send {
    /// Appends the values of `payload` to the fields of the struct `row`, and closes it.
    /// Returns `None` if the payload is invalid; the caller then restores `row`.
    ///
    /// `max_items` is the maximum number of list elements to add, each weighted by its number
    /// of values.
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        max_items: u64,
    ) -> Option<RowSummary>;
}

/// A summary of the values of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSummary {
    /// An upper bound of the number of list elements, each weighted by its number of
    /// values.
    pub items: u64,
    /// The number of values that do not match the shape and are null.
    pub type_mismatches: u64,
    /// The number of bytes that belong to no field of the shape.
    pub extra_bytes: usize,
}

/// A decoder of records that a [`TreeReader`] can parse.
pub struct TreeDecoder<R> {
    reader: R,
    plan: SelectedColumns,
    row: Branch,
    times: Vec<i64>,
    header_len: usize,
    /// The numbers of pending values and bytes.
    values: u64,
    bytes: u64,
    width: u64,
}

impl StructType {
    /// Returns the minimum number of values of a record, with empty lists.
    fn width(&self) -> usize {
        self.fields.iter().map(|(_, struct_type)| struct_type.width()).sum()
    }

    /// Checks the number and the depth of the fields.
    ///
    /// # Errors
    /// `Limit` if there are more than [`MAX_STRUCT_FIELDS`], or they are nested too
    /// deeply.
    pub fn check(&self) -> Result<()> {
        let fields =
            |shape: &Self| shape.fields.iter().map(|(_, s)| s.clone()).collect();
        let (mut level, mut total): (Vec<ValueType>, usize) = (fields(self), 0);
        for _ in 0..MAX_DEPTH {
            total += level.len();
            if level.is_empty() && total <= MAX_STRUCT_FIELDS {
                return Ok(());
            }
            if total > MAX_STRUCT_FIELDS {
                break;
            }
            let inner = level.iter().flat_map(|shape| match shape {
                ValueType::Struct(inner) => fields(inner),
                ValueType::List(item) => vec![(**item).clone()],
                _ => vec![],
            });
            level = inner.collect();
        }
        let name = &self.type_name;
        let message = format!(
            "the type {name:?} has over {MAX_STRUCT_FIELDS} fields, or is nested too deeply"
        );
        Err(Error::new(ErrorKind::Limit, message))
    }
}

impl ValueType {
    /// Returns the minimum number of values, with empty lists.
    pub fn width(&self) -> usize {
        match self {
            Self::Struct(inner) => 1 + inner.width(),
            _ => 1,
        }
    }
}

impl<R: TreeReader> TreeDecoder<R> {
    /// Creates a decoder for the selected `columns` of records with this `shape`.
    /// `reader` parses the payloads without their first `header_len` bytes.
    ///
    /// # Errors
    /// `Limit` if the shape is too large, and `NoSuch` if a selected column does not
    /// exist.
    pub fn new(
        shape: &StructType,
        reader: R,
        header_len: u32,
        columns: &Columns,
    ) -> Result<Self> {
        shape.check()?;
        let row = Branch::new(&ValueType::Struct(shape.clone()));
        let plan = SelectedColumns::new(shape, columns)?;
        let (times, header_len) = (Vec::new(), header_len as usize);
        let width = shape.width() as u64;
        Ok(Self { reader, plan, row, times, header_len, values: 0, bytes: 0, width })
    }

    /// Adds a record, and returns the summary of its values.
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
            let payload = record.payload.get(self.header_len..).unwrap_or_default();
            match self.add(payload) {
                Ok(added) => {
                    self.times.push(record.time.as_nanos());
                    if added.type_mismatches > 0 {
                        let mismatch = record
                            .undecodable_damage()
                            .with_kind(DamageKind::TypeMismatch);
                        mismatch.add_to(damage);
                    }
                    if added.extra_bytes > 0 {
                        record.extra_bytes_damage(added.extra_bytes).add_to(damage);
                    }
                }
                Err(kind) => {
                    Damage { kind, ..record.undecodable_damage() }.add_to(damage)
                }
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

/// Returns the schema of `fields` with the time column before them.
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
