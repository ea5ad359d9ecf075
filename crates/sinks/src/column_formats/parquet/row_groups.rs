//! Encodes the columns of row groups in parallel.

use std::{io::Write, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use logtool_core::{Result, TaskQueue};
use parquet::{
    arrow::{
        ArrowSchemaConverter,
        arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves},
    },
    file::{
        properties::WriterPropertiesPtr,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
};

use crate::{error::from_parquet, row_buffers::memory_size::bits};

/// The number of rows of a column that are encoded at a time, so that their levels (eight bytes
/// each) stay in the cache. It is a multiple of the rows after which a page may end.
const SLICE: usize = 1 << 14;

/// Creates encoders for the columns of one field; a nested field has several columns.
///
/// An encoder owns buffers and a compressor. [`ArrowWriter`](parquet::arrow::ArrowWriter) has the
/// encoders of all columns at the same time, which takes far more memory.
pub(super) struct FieldEncoder {
    field: FieldRef,
    encoders: ArrowRowGroupWriterFactory,
}

impl FieldEncoder {
    /// Creates a factory of encoders for `field` with `properties`.
    pub(super) fn new(
        field: &FieldRef,
        properties: &WriterPropertiesPtr,
    ) -> Result<Self> {
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let columns =
            ArrowSchemaConverter::new().convert(&schema).map_err(from_parquet)?;
        let (root, properties) = (columns.root_schema_ptr(), properties.clone());
        // Encoders are created from a file writer, so this one writes to a sink.
        let nowhere = SerializedFileWriter::new(std::io::sink(), root, properties);
        let nowhere = nowhere.map_err(from_parquet)?;
        let encoders = ArrowRowGroupWriterFactory::new(&nowhere, schema);
        Ok(Self { field: field.clone(), encoders })
    }

    /// Encodes the columns of the field at `column_index` of `rows`, for the row group at index
    /// `group`.
    fn encode(
        &self,
        group: usize,
        rows: &RecordBatch,
        column_index: usize,
    ) -> Result<Vec<ArrowColumnChunk>> {
        let encoded = || {
            let mut encoders = self.encoders.create_column_writers(group)?;
            for start in (0..rows.num_rows()).step_by(SLICE) {
                let length = SLICE.min(rows.num_rows() - start);
                let slice = rows.column(column_index).slice(start, length);
                let leaves = compute_leaves(&self.field, &slice)?;
                for (encoder, leaf) in encoders.iter_mut().zip(&leaves) {
                    encoder.write(leaf)?;
                }
            }
            encoders
                .into_iter()
                .map(|encoder| encoder.close())
                .collect::<Result<_, _>>()
        };
        encoded().map_err(from_parquet)
    }
}

/// Smaller row groups are encoded by one thread; other tables occupy the other threads.
const SHARED_BITS: u64 = 16 << 20;

/// The row groups of one file. Columns are encoded in parallel, and the first columns of the next
/// row group are encoded together with the last ones of the previous.
pub(super) struct RowGroups {
    fields: Arc<[FieldEncoder]>,
    /// The number of row groups that were started.
    started: usize,
    /// The fields that are being encoded. They belong to at most two row groups, because their
    /// rows stay in memory until then.
    queue: TaskQueue<Result<Vec<ArrowColumnChunk>>>,
    /// The encoded fields of the first row group that is not complete.
    encoded: Vec<Vec<ArrowColumnChunk>>,
}

impl RowGroups {
    /// Creates row groups with the columns of `fields`.
    pub(super) fn new(fields: Vec<FieldEncoder>) -> Self {
        let width = fields.len().min(4 * rayon::current_num_threads());
        Self {
            fields: fields.into(),
            started: 0,
            queue: TaskQueue::with_width(width),
            encoded: Vec::new(),
        }
    }

    /// Writes `rows` as one row group of `file`, immediately or during a later call.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
        rows: &RecordBatch,
    ) -> Result<()> {
        let group = self.started;
        self.started += 1;
        let is_short = bits(rows, 0..rows.num_rows()) < SHARED_BITS;
        if is_short || rayon::current_num_threads() == 1 {
            self.write_rest(file)?;
            let mut group_of_file = file.next_row_group().map_err(from_parquet)?;
            for (column_index, field) in self.fields.iter().enumerate() {
                append(&mut group_of_file, field.encode(group, rows, column_index)?)?;
            }
            return group_of_file.close().map(drop).map_err(from_parquet);
        }
        for column_index in 0..self.fields.len() {
            let (fields, rows) = (self.fields.clone(), rows.clone());
            self.queue
                .push(move || fields[column_index].encode(group, &rows, column_index));
            while let Some(columns) = self.queue.next() {
                self.encoded.push(columns?);
                self.write_encoded(file)?;
            }
        }
        Ok(())
    }

    /// Writes the row groups that are still being encoded.
    pub(super) fn write_rest<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<()> {
        while let Some(columns) = self.queue.wait() {
            self.encoded.push(columns?);
            self.write_encoded(file)?;
        }
        Ok(())
    }

    /// Writes the first row group if it is encoded completely.
    fn write_encoded<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<()> {
        if self.encoded.len() < self.fields.len() {
            return Ok(());
        }
        let mut group = file.next_row_group().map_err(from_parquet)?;
        for columns in self.encoded.drain(..) {
            append(&mut group, columns)?;
        }
        group.close().map(drop).map_err(from_parquet)
    }
}

/// Appends the columns of a field to a row group.
fn append<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    columns: Vec<ArrowColumnChunk>,
) -> Result<()> {
    columns
        .into_iter()
        .try_for_each(|column| column.append_to_row_group(group).map_err(from_parquet))
}
