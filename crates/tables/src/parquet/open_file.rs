//! An open Parquet file: its columns and row groups.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use logtool_core::{Error, ErrorKind, OpenOptions, Result, Source};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    file::metadata::ParquetMetaData,
};

use crate::parquet::{
    error,
    footer::{self, RowGroup, SourceChunks},
    pages,
    row_group_sizes::{self, RowGroupSizes},
};

/// A file whose footer is read when it is needed.
pub(super) struct OpenFile {
    source: Arc<dyn Source>,
    metadata: OnceLock<ArrowReaderMetadata>,
    /// The row groups with rows.
    groups: OnceLock<Vec<RowGroup>>,
    options: OpenOptions,
}

impl OpenFile {
    pub(super) fn new(source: Arc<dyn Source>, options: OpenOptions) -> Self {
        Self { source, metadata: OnceLock::new(), groups: OnceLock::new(), options }
    }

    pub(super) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// Returns the footer.
    ///
    /// # Errors
    /// Those of [`footer::read`].
    pub(super) fn metadata(&self) -> Result<&ArrowReaderMetadata> {
        if let Some(metadata) = self.metadata.get() {
            return Ok(metadata);
        }
        let metadata = footer::read(&self.source)?;
        Ok(self.metadata.get_or_init(|| metadata))
    }

    /// Returns the columns of the file.
    ///
    /// # Errors
    /// Those of [`metadata`](Self::metadata).
    pub(super) fn schema(&self) -> Result<&SchemaRef> {
        Ok(self.metadata()?.schema())
    }

    /// Returns the row groups with rows.
    ///
    /// # Errors
    /// Those of [`metadata`](Self::metadata).
    pub(super) fn row_groups(&self) -> Result<&[RowGroup]> {
        let metadata = self.metadata()?.metadata();
        let groups = || footer::row_groups(metadata, self.source.len());
        Ok(self.groups.get_or_init(groups))
    }

    /// Starts to read the rows of `group`: only the top-level column with this index, or all
    /// columns.
    ///
    /// # Errors
    /// `Malformed` if the crate `parquet` cannot read them, and `Limit` if they would take too much
    /// memory.
    pub(super) fn batches(
        &self,
        group: &RowGroup,
        top_level_column: Option<usize>,
    ) -> Result<RowBatches> {
        let metadata = self.metadata()?.clone();
        let rows = self.batch_rows(metadata.metadata(), group, top_level_column)?;
        let reader = error::read("a row group", || {
            let columns = metadata.parquet_schema();
            let mask = match top_level_column {
                Some(index) => ProjectionMask::roots(columns, [index]),
                None => ProjectionMask::all(),
            };
            let chunks = SourceChunks(self.source.clone());
            // The time to create a reader is proportional to the number of row groups in the
            // footer.
            let footer = footer::single_group_footer(&metadata, group)?;
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, footer)
                .with_batch_size(usize::try_from(rows).unwrap_or(1))
                .with_projection(mask)
                .build()
        })?;
        Ok(RowBatches { reader, remaining: group.rows })
    }

    /// Checks that `group` can be read in bounded memory, and returns the number of rows to read at
    /// once.
    fn batch_rows(
        &self,
        metadata: &ParquetMetaData,
        group: &RowGroup,
        top_level_column: Option<usize>,
    ) -> Result<u64> {
        let columns =
            footer::chunks(metadata, group, top_level_column, self.source.len());
        let ranges = columns.iter().map(|(_, range)| range.clone());
        let max_page = u64::from(self.options.record_bytes);
        let all_pages = pages::check(&*self.source, ranges, max_page)?;
        let in_file = group.bytes.end - group.bytes.start;
        let groups = metadata.num_row_groups();
        let limit = row_group_sizes::limit(self.options, groups, in_file);
        let mut sizes = RowGroupSizes::new(group.rows, limit)?;
        let chunks = SourceChunks(self.source.clone());
        for ((column, _), pages) in columns.iter().zip(&all_pages) {
            sizes.add_column(column, pages, &chunks)?;
        }
        Ok(sizes.batch_rows())
    }
}

/// Reads the rows of a row group in batches.
pub(super) struct RowBatches {
    reader: ParquetRecordBatchReader,
    remaining: u64,
}

impl RowBatches {
    /// Returns the number of rows that have not been read yet.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns the next rows, or `None` after the last one.
    ///
    /// # Errors
    /// `Malformed` if the remaining rows cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Self { reader, remaining } = self;
        let batch = error::read("a row group", || {
            reader.next().transpose().map_err(|err| match err {
                arrow_schema::ArrowError::ParquetError(text) => {
                    parquet::errors::ParquetError::General(text)
                }
                other => parquet::errors::ParquetError::External(Box::new(other)),
            })
        })?;
        let Some(batch) = batch else { return Ok(None) };
        let rows = batch.num_rows() as u64;
        if rows == 0 || rows > *remaining {
            let message =
                "a row group with another number of rows than the footer states";
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        *remaining -= rows;
        Ok(Some(batch))
    }
}

/// Returns the columns of `schema` without the time column.
pub(super) fn data_fields(schema: &Schema, time: usize) -> Vec<FieldRef> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(index, _)| *index != time).map(|(_, field)| field.clone()).collect()
}

/// Returns a converter between the columns `fields` and payloads.
///
/// # Errors
/// `Unsupported` if the row format has no such column.
pub(super) fn row_converter(fields: &[FieldRef]) -> Result<RowConverter> {
    let sort = |field: &FieldRef| SortField::new(field.data_type().clone());
    RowConverter::new(fields.iter().map(sort).collect()).map_err(|err| {
        let message = "a column has a type that rows cannot hold";
        Error::new(ErrorKind::Unsupported, message).with_source(err)
    })
}
