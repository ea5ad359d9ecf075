//! The clock of the times in a table.

use std::sync::Arc;

use arrow_array::{
    Array as _, RecordBatch, TimestampNanosecondArray, cast::AsArray as _,
    types::TimestampNanosecondType,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::error::{Error, ErrorKind, Result};

/// The clock of the times in a table: that of the log, or one with an offset to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBase {
    /// Nanoseconds to add to each time.
    pub offset_nanos: i64,
    /// Whether the times are then Unix time, so that the time column has the time zone
    /// UTC.
    pub is_utc: bool,
}

impl TimeBase {
    /// Returns `schema` with the resulting type of the time column.
    pub fn schema(&self, schema: &SchemaRef) -> SchemaRef {
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let Some(time_field) = fields.first_mut().filter(|_| self.is_utc) else {
            return schema.clone();
        };
        let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        *time_field = Arc::new(Field::clone(time_field).with_data_type(utc));
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// Applies the offset to the times of `batch`. `schema` is the result of
    /// [`schema`](Self::schema) for the schema of the batch. A time that overflows
    /// becomes null.
    ///
    /// # Errors
    /// `Malformed` if the batch has no columns.
    pub fn apply(&self, batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        if *self == Self::default() {
            return Ok(batch);
        }
        let (_, mut columns, _) = batch.into_parts();
        let Some(time_column) = columns.first_mut() else {
            return Err(Error::new(ErrorKind::Malformed, "a table without columns"));
        };
        let shifted: TimestampNanosecondArray = if time_column.is_empty() {
            TimestampNanosecondArray::from(Vec::<i64>::new())
        } else {
            time_column
                .as_primitive::<TimestampNanosecondType>()
                .unary_opt(|nanos| nanos.checked_add(self.offset_nanos))
        };
        *time_column = if self.is_utc {
            Arc::new(shifted.with_timezone("UTC"))
        } else {
            Arc::new(shifted)
        };
        RecordBatch::try_new(schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }
}
