//! Encoding a row group, one column at a time.

use std::{io::Write, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use logtool_core::Result;
use parquet::{
    arrow::{
        ArrowSchemaConverter,
        arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves},
    },
    errors::Result as ParquetResult,
    file::{properties::WriterPropertiesPtr, writer::SerializedFileWriter},
};

use crate::error::from_parquet;

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
}

/// Writes `batches` as one row group of `file`, of which the columns are `fields`.
pub(super) fn write_row_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    fields: &[FieldEncoder],
    batches: Vec<RecordBatch>,
) -> ParquetResult<()> {
    let index = file.flushed_row_groups().len();
    let mut group = file.next_row_group()?;
    for (i, FieldEncoder { field, encoders }) in fields.iter().enumerate() {
        let mut encoders = encoders.create_column_writers(index)?;
        for batch in &batches {
            let leaves = compute_leaves(field, batch.column(i))?;
            for (encoder, leaf) in encoders.iter_mut().zip(&leaves) {
                encoder.write(leaf)?;
            }
        }
        for encoder in encoders {
            encoder.close()?.append_to_row_group(&mut group)?;
        }
    }
    group.close()?;
    Ok(())
}
