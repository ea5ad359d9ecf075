//! Decodes payloads into columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_row::RowConverter;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, DamageKind, Decoder, Error, ErrorKind, Result, Run, View,
    time_array, time_field,
};

use crate::{
    flat_columns::{self, ColumnPath},
    parquet::open_file::row_converter,
};

/// The maximum size of the payloads of a batch in bytes, which must fit into an `i32`.
const MAX_BATCH_BYTES: usize = i32::MAX as usize;

/// The size of pending rows in bytes from which on the batch is full.
const FULL_BATCH_BYTES: usize = 64 << 20;

/// Decodes payloads into the selected columns.
pub(super) struct RowDecoder {
    schema: SchemaRef,
    columns: Vec<ColumnPath>,
    converter: Option<RowConverter>,
    times: Vec<i64>,
    payloads: Vec<u8>,
    ends: Vec<usize>,
}

/// Returns the columns of the nested view of a file with the time column and `fields`.
pub(super) fn schema(fields: &[FieldRef]) -> SchemaRef {
    schema_of(fields.iter().cloned())
}

fn schema_of(fields: impl Iterator<Item = FieldRef>) -> SchemaRef {
    let time: FieldRef = Arc::new(time_field("time", "ns"));
    Arc::new(Schema::new(std::iter::once(time).chain(fields).collect::<Vec<_>>()))
}

impl RowDecoder {
    /// Creates a decoder of the selected `columns` of a topic with the schema `topic_schema`.
    ///
    /// # Errors
    /// `NoSuch` if a selected column does not exist.
    pub(super) fn new(topic_schema: &Schema, columns: &Columns) -> Result<Self> {
        let fields: Vec<FieldRef> =
            topic_schema.fields().iter().skip(1).cloned().collect();
        let converter =
            if fields.is_empty() { None } else { Some(row_converter(&fields)?) };
        let mut paths = match columns.view {
            View::Nested => flat_columns::nested_paths(&fields),
            View::Flat => flat_columns::flat_paths(&fields),
        };
        if let Some(indices) = &columns.indices {
            let count = paths.len() + 1;
            if indices.iter().any(|index| *index >= count) {
                let message = format!("no such column: the table has {count} columns");
                return Err(Error::new(ErrorKind::NoSuch, message));
            }
            let mut index = 0;
            paths.retain(|_| {
                index += 1;
                indices.contains(&index)
            });
        }
        let schema = schema_of(paths.iter().map(|path| path.field.clone()));
        Ok(Self {
            schema,
            columns: paths,
            converter,
            times: Vec::new(),
            payloads: Vec::new(),
            ends: Vec::new(),
        })
    }
}

impl Decoder for RowDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            if self.payloads.len() + record.payload.len() > MAX_BATCH_BYTES {
                let over_limit =
                    record.undecodable_damage().with_kind(DamageKind::OverLimit);
                over_limit.add_to(damage);
                continue;
            }
            self.times.push(record.time.as_nanos());
            self.payloads.extend_from_slice(record.payload);
            self.ends.push(self.payloads.len());
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn is_full(&self) -> bool {
        self.payloads.len() > FULL_BATCH_BYTES
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let inconsistent = |err: arrow_schema::ArrowError| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        };
        let mut arrays = vec![time_array(std::mem::take(&mut self.times))];
        if let Some(converter) = &self.converter {
            let parser = converter.parser();
            let mut start = 0;
            let rows = self.ends.iter().map(|end| {
                let payload = self.payloads.get(start..*end).unwrap_or_default();
                start = *end;
                parser.parse(payload)
            });
            let table = converter.convert_rows(rows).map_err(inconsistent)?;
            for path in &self.columns {
                arrays.push(path.values(&table)?);
            }
        }
        self.payloads.clear();
        self.ends.clear();
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(inconsistent)
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.times.clear();
        self.payloads.clear();
        self.ends.clear();
        Ok(())
    }
}
