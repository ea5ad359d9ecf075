//! Encoding row groups, their columns side by side.

use std::{io::Write, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use logtool_core::{Queue, Result};
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

use crate::{error::from_parquet, memory_size::bits};

/// So many rows of a column are encoded at a time: eight bytes for each of them, which say where
/// they are, stay in the cache. It is a multiple of the rows after which a page may end.
const SLICE: usize = 1 << 14;

/// Makes encoders of the columns of one field: several, if it is nested.
///
/// An encoder holds buffers and a compressor. To have those of all columns at a time is
/// what [`ArrowWriter`](parquet::arrow::ArrowWriter) does.
pub(super) struct FieldEncoder {
    field: FieldRef,
    encoders: ArrowRowGroupWriterFactory,
}

impl FieldEncoder {
    /// Encoders for `field`, which is encoded as `properties` say.
    pub(super) fn new(
        field: &FieldRef,
        properties: &WriterPropertiesPtr,
    ) -> Result<Self> {
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let columns =
            ArrowSchemaConverter::new().convert(&schema).map_err(from_parquet)?;
        let (root, properties) = (columns.root_schema_ptr(), properties.clone());
        // The encoders ask a file for its columns; so they get one that is nowhere.
        let nowhere = SerializedFileWriter::new(std::io::sink(), root, properties);
        let nowhere = nowhere.map_err(from_parquet)?;
        let encoders = ArrowRowGroupWriterFactory::new(&nowhere, schema);
        Ok(Self { field: field.clone(), encoders })
    }

    /// The columns of the field, which is the one with the index `at` of `rows`, in the
    /// row group with the index `group`.
    fn encode(
        &self,
        group: usize,
        rows: &RecordBatch,
        at: usize,
    ) -> Result<Vec<ArrowColumnChunk>> {
        let encoded = || {
            let mut encoders = self.encoders.create_column_writers(group)?;
            for from in (0..rows.num_rows()).step_by(SLICE) {
                let length = SLICE.min(rows.num_rows() - from);
                let some = rows.column(at).slice(from, length);
                let leaves = compute_leaves(&self.field, &some)?;
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

/// A row group that is smaller is encoded by one thread: others have other tables.
const SHARED_BITS: u64 = 16 << 20;

/// The row groups of one file: their columns are encoded side by side, those of the next while
/// the last ones of the one before are still under way.
pub(super) struct RowGroups {
    fields: Arc<[FieldEncoder]>,
    /// How many row groups are begun.
    begun: usize,
    /// The fields that are being encoded: of two row groups at most, as their rows stay until then.
    queue: Queue<Result<Vec<ArrowColumnChunk>>>,
    /// The first fields of the first row group that is not written: they wait for the others.
    encoded: Vec<Vec<ArrowColumnChunk>>,
}

impl RowGroups {
    /// Row groups with these columns.
    pub(super) fn new(fields: Vec<FieldEncoder>) -> Self {
        let width = fields.len().min(4 * rayon::current_num_threads());
        Self {
            fields: fields.into(),
            begun: 0,
            queue: Queue::of(width),
            encoded: Vec::new(),
        }
    }

    /// Writes `rows` as one row group of `file`, now or later.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
        rows: &RecordBatch,
    ) -> Result<()> {
        let group = self.begun;
        self.begun += 1;
        let is_short = bits(rows, 0..rows.num_rows()) < SHARED_BITS;
        if is_short || rayon::current_num_threads() == 1 {
            self.write_rest(file)?;
            let mut group_of_file = file.next_row_group().map_err(from_parquet)?;
            for (at, field) in self.fields.iter().enumerate() {
                append(&mut group_of_file, field.encode(group, rows, at)?)?;
            }
            return group_of_file.close().map(drop).map_err(from_parquet);
        }
        for at in 0..self.fields.len() {
            let (fields, rows) = (self.fields.clone(), rows.clone());
            self.queue.push(move || fields[at].encode(group, &rows, at));
            while let Some(columns) = self.queue.next() {
                self.encoded.push(columns?);
                self.write_encoded(file)?;
            }
        }
        Ok(())
    }

    /// Writes what is still under way.
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

    /// Writes the first row group, if all of it is encoded.
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

/// Adds the columns of a field to a row group.
fn append<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    columns: Vec<ArrowColumnChunk>,
) -> Result<()> {
    columns
        .into_iter()
        .try_for_each(|column| column.append_to_row_group(group).map_err(from_parquet))
}
