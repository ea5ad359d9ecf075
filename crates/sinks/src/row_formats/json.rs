//! Rows as JSON objects.
//!
//! JSON keeps everything that it can represent: 64-bit integers have all their digits, floats
//! have as many as are needed to read the same float back. NaN becomes `null`, and so do
//! [`Infinities`] by default. Times are integers in the unit of the log format, or ISO 8601 if
//! they are UTC. Labels are strings; byte strings are hexadecimal strings.

mod text;
mod value;

use arrow_array::RecordBatch;
use logtool_core::Result;

use crate::{
    row_formats::json::{
        text::JsonText,
        value::{JsonValues, key_text},
    },
    text::infinities::Infinities,
};

pub(crate) use crate::row_formats::json::{
    text::FLUSH_BYTES,
    value::{ByteValues, append_hex, byte_values},
};

/// The rows of a batch, prepared to be written as JSON.
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
    /// The text before each value, e.g. `,"x":`, and the values.
    columns: Vec<(Vec<u8>, JsonValues)>,
    rows: usize,
}

impl JsonRows {
    /// Prepares the rows of `batch`; infinities become `null`.
    ///
    /// # Errors
    /// `Unsupported` if a column has a type that logs do not contain.
    pub fn new(batch: &RecordBatch) -> Result<Self> {
        Self::with_infinities(batch, &Infinities::default())
    }

    /// Prepares the rows of `batch`, with infinities written as specified by `infinities`.
    ///
    /// # Errors
    /// `Unsupported` if a column has a type that logs do not contain.
    pub fn with_infinities(
        batch: &RecordBatch,
        infinities: &Infinities,
    ) -> Result<Self> {
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let key = key_text(field.name(), columns.is_empty());
            columns.push((key, JsonValues::new(field, column, infinities, 0)?));
        }
        Ok(Self { columns, rows: batch.num_rows() })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the row at index `row` to `json`, as one object in one line, without a line end.
    ///
    /// If `row` is out of range, all values are `null`.
    pub fn write_row(&self, row: usize, json: &mut Vec<u8>) {
        self.write_text(row, &mut JsonText::in_buffer(json));
    }

    /// Like [`write_row`](Self::write_row), but calls `flush` whenever `json` has at least 64 KiB,
    /// even within a value. `flush` writes the text and clears it. The last chunk stays in `json`.
    ///
    /// # Errors
    /// The first error of `flush`.
    pub fn write_row_in_chunks(
        &self,
        row: usize,
        json: &mut Vec<u8>,
        flush: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut text = JsonText::with_flush(json, flush);
        self.write_text(row, &mut text);
        text.finish()
    }

    fn write_text(&self, row: usize, json: &mut JsonText<'_>) {
        for (key, values) in &self.columns {
            json.extend_from_slice(key);
            values.write(row, json);
            json.flush_if_long();
        }
        if self.columns.is_empty() {
            json.push(b'{');
        }
        json.push(b'}');
    }
}

/// The values of one column as JSON, for use as a part of a larger document.
#[derive(Debug)]
pub struct JsonColumn(JsonValues);

impl JsonColumn {
    /// Prepares the values of `column`, which belongs to `field`, with infinities as large
    /// numbers.
    ///
    /// # Errors
    /// `Unsupported` if the column has a type that logs do not contain.
    pub fn new(
        field: &arrow_schema::Field,
        column: &arrow_array::ArrayRef,
    ) -> Result<Self> {
        Ok(Self(JsonValues::new(field, column, &Infinities::as_large_numbers(), 0)?))
    }

    /// Like [`new`](Self::new), but infinities are `inf` and `-inf`, for users.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn for_text(
        field: &arrow_schema::Field,
        column: &arrow_array::ArrayRef,
    ) -> Result<Self> {
        Ok(Self(JsonValues::new(field, column, &Infinities::as_words(), 0)?))
    }

    /// Appends the value at index `row` to `json`, or `null`.
    pub fn write(&self, row: usize, json: &mut Vec<u8>) {
        self.0.write(row, &mut JsonText::in_buffer(json));
    }

    /// Like [`write`](Self::write), but calls `flush` whenever `json` is long; see
    /// [`JsonRows::write_row_in_chunks`].
    ///
    /// # Errors
    /// The first error of `flush`.
    pub fn write_in_chunks(
        &self,
        row: usize,
        json: &mut Vec<u8>,
        flush: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut text = JsonText::with_flush(json, flush);
        self.0.write(row, &mut text);
        text.finish()
    }
}

#[cfg(test)]
mod tests;
