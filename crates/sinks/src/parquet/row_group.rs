//! Encoding a row group, some columns side by side.

use std::{io::Write, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use logtool_core::Result;
use parquet::{
    arrow::{
        ArrowSchemaConverter,
        arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves},
    },
    errors::Result as ParquetResult,
    file::{properties::WriterPropertiesPtr, writer::SerializedFileWriter},
};
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use crate::{error::from_parquet, measure::bits};

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
    ) -> ParquetResult<Vec<ArrowColumnChunk>> {
        let mut encoders = self.encoders.create_column_writers(group)?;
        let leaves = compute_leaves(&self.field, rows.column(at))?;
        for (encoder, leaf) in encoders.iter_mut().zip(&leaves) {
            encoder.write(leaf)?;
        }
        encoders.into_iter().map(|encoder| encoder.close()).collect()
    }
}

/// A row group that is smaller is encoded by one thread: others have other tables.
const SHARED_BITS: u64 = 16 << 20;

/// Writes `rows` as one row group of `file`, of which the columns are `fields`.
///
/// What is encoded waits for what comes before it: so as many fields are encoded at a time
/// as keep all threads busy.
pub(super) fn write_row_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    fields: &[FieldEncoder],
    rows: &RecordBatch,
) -> Result<()> {
    let index = file.flushed_row_groups().len();
    let mut group = file.next_row_group().map_err(from_parquet)?;
    let threads = rayon::current_num_threads();
    let is_short = bits(rows, 0..rows.num_rows()) < SHARED_BITS;
    let width = if threads == 1 || is_short { 1 } else { 4 * threads };
    let fields: Vec<(usize, &FieldEncoder)> = fields.iter().enumerate().collect();
    for some in fields.chunks(width) {
        let encode =
            |(at, field): &(usize, &FieldEncoder)| field.encode(index, rows, *at);
        let columns: Vec<_> = some.par_iter().with_max_len(1).map(encode).collect();
        for columns in columns {
            for column in columns.map_err(from_parquet)? {
                column.append_to_row_group(&mut group).map_err(from_parquet)?;
            }
        }
    }
    group.close().map_err(from_parquet)?;
    Ok(())
}
