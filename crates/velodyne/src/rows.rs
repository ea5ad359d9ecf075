//! Decoders of records whose columns are known in advance.
//!
//! [`RowBuilders`] convert a record to rows. [`RowsDecoder`] adds the time and the selection
//! of columns, which all topics share.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, DamageKind, Decoder, Error, ErrorKind, Record, Result, Run,
    discard_times, time_array, time_field,
};

/// Builders of the columns of some records, without the time.
pub(crate) trait RowBuilders: Send {
    /// Appends the rows of `record` to every selected column, and returns the number of
    /// rows, or the reason if the record cannot be decoded.
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind>;

    /// Returns the columns and resets them: one entry per field, `None` if it is not
    /// selected.
    fn finish(&mut self) -> Vec<Option<ArrayRef>>;
}

/// A decoder that combines [`RowBuilders`] with the times of the rows.
pub(crate) struct RowsDecoder<R> {
    schema: SchemaRef,
    times: Vec<i64>,
    rows: R,
}

/// Returns the schema with the time and then `fields`.
pub(crate) fn schema(fields: Vec<Field>) -> SchemaRef {
    let mut fields_with_time = vec![time_field("time", "ns")];
    fields_with_time.extend(fields);
    Arc::new(Schema::new(fields_with_time))
}

/// Returns a flag for each column of `schema` except the time: whether it is selected.
pub(crate) fn selected_columns(
    schema: &Schema,
    columns: &Columns,
) -> Result<Vec<bool>> {
    let count = schema.fields().len();
    let selected = columns.indices.as_deref();
    let missing = selected.and_then(|selected| selected.iter().find(|n| **n >= count));
    if let Some(index) = missing {
        let message =
            format!("there is no column {index}: the topic has {count} columns");
        return Err(Error::new(ErrorKind::NoSuch, message));
    }
    let is_selected = |index| selected.is_none_or(|selected| selected.contains(&index));
    Ok((1..count).map(is_selected).collect())
}

impl<R: RowBuilders + 'static> RowsDecoder<R> {
    /// Returns a decoder of the columns of `schema` that are selected in `is_selected`.
    pub(crate) fn decoder(
        schema: &SchemaRef,
        is_selected: &[bool],
        rows: R,
    ) -> Box<dyn Decoder> {
        let is_wanted = |index: &usize| {
            *index == 0 || is_selected.get(index - 1).copied().unwrap_or(false)
        };
        let indices = (0..schema.fields().len()).filter(is_wanted);
        let fields: Vec<Field> =
            indices.map(|index| schema.field(index).clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        Box::new(Self { schema, times: Vec::new(), rows })
    }
}

impl<R: RowBuilders> Decoder for RowsDecoder<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            match self.rows.append(record) {
                Ok(count) => {
                    let time = record.time.as_nanos();
                    self.times.extend(std::iter::repeat_n(time, count));
                }
                Err(kind) => {
                    record.undecodable_damage().with_kind(kind).add_to(damage);
                }
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let mut columns = vec![time_array(std::mem::take(&mut self.times))];
        columns.extend(self.rows.finish().into_iter().flatten());
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }

    fn discard_rows(&mut self) -> Result<()> {
        discard_times(&mut self.times);
        drop(self.rows.finish());
        Ok(())
    }
}
