//! Rows as JSON objects.
//!
//! Nothing is lost but what JSON does not have: integers of 64 bits have all their
//! digits, floats as many as it takes to read the same float back; NaN becomes `null`,
//! and so do [`Infinities`], if nothing else is asked for. Times are
//! integers in the unit of the log's format, or ISO 8601 where they are UTC, labels are
//! strings, bytes are text in hexadecimal.

mod infinities;
mod value;

use arrow_array::RecordBatch;
use logtool_core::Result;

pub use crate::json::infinities::Infinities;
use crate::json::value::{Values, quote};

/// The rows of a batch, ready to be written as JSON.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float32Array, RecordBatch, StringArray};
///
/// let batch = RecordBatch::try_from_iter([
///     ("x", Arc::new(Float32Array::from(vec![0.1])) as _),
///     ("s", Arc::new(StringArray::from(vec!["say \"hi\""])) as _),
/// ])?;
/// let mut json = Vec::new();
/// logtool_sinks::JsonRows::new(&batch)?.write_row(0, &mut json);
/// assert_eq!(json, br#"{"x":0.1,"s":"say \"hi\""}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JsonRows {
    /// What stands before each value, as `,"x":`, and the values.
    columns: Vec<(Vec<u8>, Values)>,
    rows: usize,
}

impl JsonRows {
    /// The rows of `batch`. It is an error if a column is of a type that no log has.
    pub fn new(batch: &RecordBatch) -> Result<Self> {
        Self::with_infinities(batch, &Infinities::default())
    }

    /// The rows of `batch`, with `infinities` as they say.
    ///
    /// # Errors
    /// `Unsupported` if a column is of a type that no log has.
    pub fn with_infinities(
        batch: &RecordBatch,
        infinities: &Infinities,
    ) -> Result<Self> {
        let schema = batch.schema();
        let fields = schema.fields().iter();
        let columns = fields
            .zip(batch.columns())
            .enumerate()
            .map(|(i, (field, column))| {
                let mut key = vec![if i == 0 { b'{' } else { b',' }];
                quote(field.name(), &mut key);
                key.push(b':');
                Ok((key, Values::new(field, column, infinities, 0)?))
            })
            .collect::<Result<_>>()?;
        Ok(Self { columns, rows: batch.num_rows() })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds row number `row` to `json`, as one object in one line, without a line end.
    ///
    /// A row that there is not is all null.
    pub fn write_row(&self, row: usize, json: &mut Vec<u8>) {
        for (key, values) in &self.columns {
            json.extend_from_slice(key);
            values.write(row, json);
        }
        if self.columns.is_empty() {
            json.push(b'{');
        }
        json.push(b'}');
    }
}

/// The values of one column as JSON, for where they are only a part of a row.
#[derive(Debug)]
pub struct JsonColumn(Values);

impl JsonColumn {
    /// The values of `column`, which is `field` of a table, with infinities as large
    /// numbers. It is an error if it is of a type that no log has.
    pub fn new(
        field: &arrow_schema::Field,
        column: &arrow_array::ArrayRef,
    ) -> Result<Self> {
        Ok(Self(Values::new(field, column, &Infinities::as_large_numbers(), 0)?))
    }

    /// Adds value number `row` to `json`, or null if there is none.
    pub fn write(&self, row: usize, json: &mut Vec<u8>) {
        self.0.write(row, json);
    }
}

#[cfg(test)]
mod tests;
