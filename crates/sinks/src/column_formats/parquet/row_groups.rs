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

use crate::{error::from_parquet, row_buffers::memory_size::size_bits};

/// The number of rows of a column that are encoded at a time. It is so small that their definition
/// and repetition levels (eight bytes for each row) stay in the cache, and it is a multiple of the
/// number of rows after which a page may end.
const SLICE_ROWS: usize = 1 << 14;

/// Creates encoders for the columns of one field; a nested field has several columns.
///
/// An encoder owns buffers and a compressor. [`ArrowWriter`](parquet::arrow::ArrowWriter) has the
/// encoders of all columns at the same time, which takes far more memory.
pub(super) struct FieldEncoder {
    field: FieldRef,
    factory: ArrowRowGroupWriterFactory,
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
        // Encoders can only be created from a file writer. This one writes nothing.
        let unused_file = SerializedFileWriter::new(std::io::sink(), root, properties)
            .map_err(from_parquet)?;
        let factory = ArrowRowGroupWriterFactory::new(&unused_file, schema);
        Ok(Self { field: field.clone(), factory })
    }

    /// Encodes the columns of the field at `column_index` of `rows`, for the row group at index
    /// `group_index`.
    fn encode(
        &self,
        group_index: usize,
        rows: &RecordBatch,
        column_index: usize,
    ) -> Result<Vec<ArrowColumnChunk>> {
        let encode_columns = || {
            let mut encoders = self.factory.create_column_writers(group_index)?;
            for start_row in (0..rows.num_rows()).step_by(SLICE_ROWS) {
                let row_count = SLICE_ROWS.min(rows.num_rows() - start_row);
                let slice = rows.column(column_index).slice(start_row, row_count);
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
        encode_columns().map_err(from_parquet)
    }
}

/// Smaller row groups are encoded by one thread, because other tables occupy the other threads.
const MIN_PARALLEL_BITS: u64 = 16 << 20;

/// The row groups of one file. Columns are encoded in parallel, and the first columns of the next
/// row group are encoded together with the last columns of the previous row group.
pub(super) struct RowGroups {
    encoders: Arc<[FieldEncoder]>,
    /// The number of row groups that were started.
    started_groups: usize,
    /// The fields that are being encoded. The queue is so short that they belong to at most two
    /// row groups, because the rows of these stay in memory.
    queue: TaskQueue<Result<Vec<ArrowColumnChunk>>>,
    /// The encoded fields of the first row group that is not complete.
    encoded: Vec<Vec<ArrowColumnChunk>>,
}

impl RowGroups {
    /// Creates row groups whose columns are encoded by `encoders`.
    pub(super) fn new(encoders: Vec<FieldEncoder>) -> Self {
        let width = encoders.len().min(4 * rayon::current_num_threads());
        Self {
            encoders: encoders.into(),
            started_groups: 0,
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
        let group_index = self.started_groups;
        self.started_groups += 1;
        let is_short = size_bits(rows, 0..rows.num_rows()) < MIN_PARALLEL_BITS;
        if is_short || rayon::current_num_threads() == 1 {
            self.write_remaining(file)?;
            let mut group_writer = file.next_row_group().map_err(from_parquet)?;
            for (column_index, encoder) in self.encoders.iter().enumerate() {
                append(
                    &mut group_writer,
                    encoder.encode(group_index, rows, column_index)?,
                )?;
            }
            return group_writer.close().map(drop).map_err(from_parquet);
        }
        for column_index in 0..self.encoders.len() {
            let (encoders, rows) = (self.encoders.clone(), rows.clone());
            self.queue.push(move || {
                encoders[column_index].encode(group_index, &rows, column_index)
            });
            while let Some(columns) = self.queue.next() {
                self.encoded.push(columns?);
                self.write_encoded(file)?;
            }
        }
        Ok(())
    }

    /// Writes the row groups that are still being encoded.
    pub(super) fn write_remaining<W: Write + Send>(
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
        if self.encoded.len() < self.encoders.len() {
            return Ok(());
        }
        let mut group_writer = file.next_row_group().map_err(from_parquet)?;
        for columns in self.encoded.drain(..) {
            append(&mut group_writer, columns)?;
        }
        group_writer.close().map(drop).map_err(from_parquet)
    }
}

/// Appends the columns of a field to a row group.
fn append<W: Write + Send>(
    group_writer: &mut SerializedRowGroupWriter<'_, W>,
    columns: Vec<ArrowColumnChunk>,
) -> Result<()> {
    columns.into_iter().try_for_each(|column| {
        column.append_to_row_group(group_writer).map_err(from_parquet)
    })
}
