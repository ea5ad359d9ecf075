//! On which clock the times of a table are told.

use std::sync::Arc;

use arrow_array::{
    Array as _, RecordBatch, TimestampNanosecondArray, cast::AsArray as _,
    types::TimestampNanosecondType,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::error::{Error, ErrorKind, Result};

/// How to tell the times of a log: as they are, or moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBase {
    /// Nanoseconds to add to each time.
    pub offset_nanos: i64,
    /// Whether the times are then Unix time, so that columns say UTC.
    pub is_utc: bool,
}

impl TimeBase {
    /// `schema`, with the type that its time column then has.
    pub fn schema(&self, schema: &SchemaRef) -> SchemaRef {
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let Some(first) = fields.first_mut().filter(|_| self.is_utc) else {
            return schema.clone();
        };
        let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let field = Field::clone(first).with_data_type(utc);
        *first = Arc::new(field);
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// `batch`, its times moved; `schema` is what [`schema`](Self::schema) made of the
    /// batch's own. A time that cannot be told after that is null.
    pub fn apply(&self, batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        if *self == Self::default() {
            return Ok(batch);
        }
        let (_, mut columns, _) = batch.into_parts();
        let Some(first) = columns.first_mut() else {
            return Err(Error::new(ErrorKind::Malformed, "a table without columns"));
        };
        let moved: TimestampNanosecondArray = match first.is_empty() {
            true => TimestampNanosecondArray::from(Vec::<i64>::new()),
            false => first
                .as_primitive::<TimestampNanosecondType>()
                .unary_opt(|nanos| nanos.checked_add(self.offset_nanos)),
        };
        *first = match self.is_utc {
            true => Arc::new(moved.with_timezone("UTC")),
            false => Arc::new(moved),
        };
        RecordBatch::try_new(schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "columns that are no table")
                .from_source(err)
        })
    }
}
