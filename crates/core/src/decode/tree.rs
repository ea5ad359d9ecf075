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
        tree::{columns::SelectedColumns, values::WorstEncoding},
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
    /// A string, which is decoded by [`decode_text`](crate::decode_text).
    Text,
    Bytes,
    /// A timestamp: nanoseconds since 1970.
    Timestamp,
    /// A duration in nanoseconds.
    Duration,
    Struct(StructType),
    /// A list of values of one type.
    List(Box<ValueType>),
}

/// The fields of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructType {
    /// The name of the type, by which labels are found, or an empty string.
    pub type_name: String,
    /// The names and types of the fields.
    pub fields: Vec<(String, ValueType)>,
}

/// The maximum number of columns and nested fields of a struct type.
pub const MAX_STRUCT_FIELDS: usize = 4096;

/// The maximum depth of nested types.
const MAX_DEPTH: usize = 64;

/// The maximum number of pending values, and of pending bytes of strings.
const MAX_VALUES: u64 = 1 << 27;
const MAX_BYTES: u64 = i32::MAX as u64 / 3;

/// A parser that appends the values of records to branches.
pub trait TreeReader: Send {
    /// Appends the values of `payload` to the fields of the struct `row`, and closes it.
    /// Returns `None` if the payload is invalid. The caller then removes the values from
    /// `row`.
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
    /// The number of values that do not match their type and are null.
    pub type_mismatches: u64,
    /// The number of bytes that belong to no field.
    pub extra_bytes: usize,
}

/// A decoder of records that a [`TreeReader`] can parse.
pub struct TreeDecoder<R> {
    reader: R,
    plan: SelectedColumns,
    row: Branch,
    /// The worst encoding of the strings of a record.
    encoding: WorstEncoding,
    times: Vec<i64>,
    header_len: usize,
    /// The numbers of pending values and of pending bytes.
    pending_values: u64,
    pending_bytes: u64,
    /// The minimum number of values of a record.
    min_values: u64,
}

impl StructType {
    /// Returns the number of values of a record with empty lists, which is the minimum.
    fn min_values(&self) -> usize {
        self.fields.iter().map(|(_, value_type)| value_type.min_values()).sum()
    }

    /// Checks the number and the depth of the fields.
    ///
    /// # Errors
    /// `Limit` if there are more than [`MAX_STRUCT_FIELDS`], or they are nested too
    /// deeply.
    pub fn check(&self) -> Result<()> {
        let mut level_types: Vec<&ValueType> = self.field_types().collect();
        let mut field_count = 0;
        for _ in 0..MAX_DEPTH {
            field_count += level_types.len();
            if field_count > MAX_STRUCT_FIELDS {
                break;
            }
            if level_types.is_empty() {
                return Ok(());
            }
            let mut next_level = Vec::new();
            for value_type in level_types {
                match value_type {
                    ValueType::Struct(inner) => next_level.extend(inner.field_types()),
                    ValueType::List(item) => next_level.push(&**item),
                    _ => {}
                }
            }
            level_types = next_level;
        }
        let name = &self.type_name;
        let message = format!(
            "the type {name:?} has over {MAX_STRUCT_FIELDS} fields, or is nested too deeply"
        );
        Err(Error::new(ErrorKind::Limit, message))
    }

    fn field_types(&self) -> impl Iterator<Item = &ValueType> {
        self.fields.iter().map(|(_, value_type)| value_type)
    }
}

impl ValueType {
    /// Returns the number of values of one value with empty lists, which is the minimum: a
    /// struct counts as one, and so does each of its fields.
    pub fn min_values(&self) -> usize {
        match self {
            Self::Struct(inner) => 1 + inner.min_values(),
            _ => 1,
        }
    }
}

impl<R: TreeReader> TreeDecoder<R> {
    /// Creates a decoder for the selected `columns` of records of the type `record_type`.
    /// `reader` parses the payloads without their first `header_len` bytes.
    ///
    /// # Errors
    /// `Limit` if the type has too many fields, and `NoSuch` if a selected column does not
    /// exist.
    pub fn new(
        record_type: &StructType,
        reader: R,
        header_len: u32,
        columns: &Columns,
    ) -> Result<Self> {
        record_type.check()?;
        let encoding = WorstEncoding::default();
        let row_type = ValueType::Struct(record_type.clone());
        Ok(Self {
            reader,
            plan: SelectedColumns::new(record_type, columns)?,
            row: Branch::with_encoding(&row_type, &encoding),
            encoding,
            times: Vec::new(),
            header_len: header_len as usize,
            pending_values: 0,
            pending_bytes: 0,
            min_values: record_type.min_values() as u64,
        })
    }

    /// Adds a record, and returns the summary of its values.
    fn add(&mut self, payload: &[u8]) -> std::result::Result<RowSummary, DamageKind> {
        let len = payload.len() as u64;
        let max_items =
            MAX_VALUES.saturating_sub(self.pending_values + self.min_values);
        if max_items == 0 || self.pending_bytes + len > MAX_BYTES {
            return Err(DamageKind::OverLimit);
        }
        let old_len = self.row.len();
        let Some(summary) = self.reader.read(payload, &mut self.row, max_items) else {
            self.row.truncate(old_len);
            return Err(DamageKind::Undecodable);
        };
        if summary.items > max_items {
            self.row.truncate(old_len);
            return Err(DamageKind::OverLimit);
        }
        self.pending_values += self.min_values + summary.items;
        self.pending_bytes += len;
        Ok(summary)
    }
}

impl<R: TreeReader> Decoder for TreeDecoder<R> {
    fn schema(&self) -> &SchemaRef {
        self.plan.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            let payload = record.payload.get(self.header_len..).unwrap_or_default();
            let added = self.add(payload);
            let encoding = self.encoding.take();
            match added {
                Ok(summary) => {
                    if let Some(kind) = encoding.damage_kind() {
                        record.undecodable_damage().with_kind(kind).add_to(damage);
                    }
                    self.times.push(record.time.as_nanos());
                    if summary.type_mismatches > 0 {
                        let mismatch = record
                            .undecodable_damage()
                            .with_kind(DamageKind::TypeMismatch);
                        mismatch.add_to(damage);
                    }
                    if summary.extra_bytes > 0 {
                        record.extra_bytes_damage(summary.extra_bytes).add_to(damage);
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
        (self.pending_values, self.pending_bytes) = (0, 0);
        let mut columns = vec![time_array(std::mem::take(&mut self.times))];
        columns.extend(self.plan.columns(self.row.take()?)?);
        RecordBatch::try_new(self.plan.schema().clone(), columns).map_err(into_error)
    }
}

/// Returns the schema of `fields` with the time column before them.
fn schema_with_time(
    fields: impl IntoIterator<Item = arrow_schema::FieldRef>,
) -> SchemaRef {
    let mut columns = vec![Arc::new(time_field("time", "ns"))];
    columns.extend(fields);
    Arc::new(Schema::new(columns))
}

impl<R> std::fmt::Debug for TreeDecoder<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeDecoder")
            .field("rows", &self.times.len())
            .finish_non_exhaustive()
    }
}
