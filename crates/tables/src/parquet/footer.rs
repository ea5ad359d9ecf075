//! Reads the footer of a file, and checks that the row groups can be read safely.

use std::{
    io::{self, Read},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use logtool_core::{Error, ErrorKind, Result, Source};
use parquet::{
    arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
    errors::ParquetError,
    file::{
        metadata::{ColumnChunkMetaData, FileMetaData, ParquetMetaData},
        reader::{ChunkReader, Length},
    },
};

use crate::{
    flat_columns::MAX_COLUMNS,
    parquet::{error, schema::readable_schema},
};

/// The bytes at both ends of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// The bytes at both ends of a file with an encrypted footer.
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";

/// The number of rows that a file may have for each of its bytes, in addition to
/// [`MIN_ROW_LIMIT`].
///
/// A file with more rows is rejected as a decompression bomb.
const MAX_ROWS_PER_BYTE: u64 = 1_000;

/// The number of rows that a file of any size may have.
const MIN_ROW_LIMIT: u64 = 64 << 20;

/// A source as the crate `parquet` reads it.
#[derive(Clone)]
pub(super) struct SourceChunks(pub(super) Arc<dyn Source>);

/// Reads a source from an offset on.
pub(super) struct SourceReader {
    source: Arc<dyn Source>,
    offset: u64,
}

impl Length for SourceChunks {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for SourceChunks {
    type T = io::BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let reader = SourceReader { source: self.0.clone(), offset: start };
        Ok(io::BufReader::new(reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let external = |err: io::Error| ParquetError::External(Box::new(err));
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.len());
        let end =
            end.ok_or_else(|| ParquetError::EOF("the file is too short".into()))?;
        let bytes = self.0.read_at(start..end).map_err(external)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF("the file has become shorter".into()));
        }
        Ok(bytes)
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.offset.saturating_add(buffer.len() as u64);
        let bytes = self.source.read_at(self.offset..end)?;
        let len = bytes.len().min(buffer.len());
        if let (Some(target), Some(received)) =
            (buffer.get_mut(..len), bytes.get(..len))
        {
            target.copy_from_slice(received);
        }
        self.offset += len as u64;
        Ok(len)
    }
}

/// Reads and checks the footer of `source`.
///
/// # Errors
/// `Malformed` if the footer is missing or damaged; `Unsupported` if the file is encrypted; `Limit`
/// if the file has too many columns or rows; errors of the source.
pub(super) fn read(source: &Arc<dyn Source>) -> Result<ArrowReaderMetadata> {
    let len = source.len();
    let trailing_bytes = source.read_at(len.saturating_sub(4)..len)?;
    if *trailing_bytes == *ENCRYPTED_MAGIC {
        let message = "the Parquet file is encrypted";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if *trailing_bytes != *MAGIC || len < 12 {
        let message = "the Parquet file has no footer, which is at its end: it is cut, or was not \
                       finished, and cannot be recovered";
        return Err(Error::new(ErrorKind::Malformed, message).with_offset(len));
    }
    let chunks = SourceChunks(source.clone());
    let message = "the footer of the Parquet file";
    let (metadata, schema) = error::read(message, || {
        let options = ArrowReaderOptions::new();
        let metadata = ArrowReaderMetadata::load(&chunks, options)?;
        let schema = readable_schema(metadata.schema());
        Ok((metadata.metadata().clone(), schema))
    })?;
    check(&metadata, len)?;
    error::read(message, || {
        let options = ArrowReaderOptions::new().with_schema(schema);
        ArrowReaderMetadata::try_new(metadata, options)
    })
}

/// Checks that the row groups are in order, do not overlap, and are within the file.
fn check(metadata: &ParquetMetaData, len: u64) -> Result<()> {
    let malformed = |message: &'static str| Error::new(ErrorKind::Malformed, message);
    let columns = metadata.file_metadata().schema_descr().num_columns();
    if columns > MAX_COLUMNS {
        let message = "the table has more than 65,536 columns";
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let (mut rows, mut end) = (0_u64, 0);
    for group in metadata.row_groups() {
        let count = u64::try_from(group.num_rows());
        let count =
            count.map_err(|_| malformed("a row group with a negative count"))?;
        rows = rows.saturating_add(count);
        if group.columns().len() != columns {
            return Err(malformed("a row group without some of the columns"));
        }
        let mut sum = 0_u64;
        for column in group.columns() {
            let chunk = column_range(column, len)
                .ok_or_else(|| malformed("a column that is not in the file"))?;
            sum = sum.saturating_add(chunk.end - chunk.start);
        }
        let Some(range) = group_range(group.columns(), len) else { continue };
        if count == 0 {
            continue;
        }
        // Columns that share their bytes would make a small file as slow as a large one.
        if range.start < end || sum > range.end - range.start {
            return Err(malformed("row groups that overlap, or are not in order"));
        }
        end = range.end;
    }
    if rows > MIN_ROW_LIMIT.saturating_add(len.saturating_mul(MAX_ROWS_PER_BYTE)) {
        let message = format!("{rows} rows in a file of {len} bytes");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// Returns the byte range of a column of a row group, if it is within a file of `len` bytes.
fn column_range(column: &ColumnChunkMetaData, len: u64) -> Option<Range<u64>> {
    if column.file_path().is_some() {
        return None;
    }
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
    // The reader also uses this offset and this count.
    u64::try_from(column.data_page_offset()).ok()?;
    u64::try_from(column.num_values()).ok()?;
    (end <= len).then_some(start..end)
}

/// Returns the byte range of the `columns` of a row group. Returns `None` if there are no columns,
/// or if a column is not within the file.
fn group_range(columns: &[ColumnChunkMetaData], len: u64) -> Option<Range<u64>> {
    let ranges = columns.iter().map(|column| column_range(column, len));
    let cover = |range: Range<u64>, next: Range<u64>| {
        range.start.min(next.start)..range.end.max(next.end)
    };
    ranges.collect::<Option<Vec<_>>>()?.into_iter().reduce(cover)
}

/// A row group with rows.
#[derive(Clone, Debug)]
pub(super) struct RowGroup {
    /// The index in the footer.
    pub(super) index: usize,
    pub(super) bytes: Range<u64>,
    pub(super) rows: u64,
}

/// Returns the row groups with rows, in the order of the file.
pub(super) fn row_groups(metadata: &ParquetMetaData, len: u64) -> Vec<RowGroup> {
    let groups = metadata.row_groups().iter().enumerate();
    let groups = groups.filter_map(|(index, group)| {
        let bytes = group_range(group.columns(), len)?;
        let rows = u64::try_from(group.num_rows()).ok().filter(|rows| *rows > 0)?;
        Some(RowGroup { index, bytes, rows })
    });
    groups.collect()
}

/// Returns the column chunks of `group` with their byte ranges, including those of nested columns.
/// With `top_level_column`, returns only the column chunks of the top-level column with this index.
pub(super) fn chunks<'m>(
    metadata: &'m ParquetMetaData,
    group: &RowGroup,
    top_level_column: Option<usize>,
    len: u64,
) -> Vec<(&'m ColumnChunkMetaData, Range<u64>)> {
    let schema = metadata.file_metadata().schema_descr();
    let columns = metadata.row_groups().get(group.index).map(|group| group.columns());
    let columns = columns.unwrap_or_default().iter().enumerate();
    let selected = columns.filter(|(leaf, _)| {
        top_level_column.is_none_or(|top_level_column| {
            schema.get_column_root_idx(*leaf) == top_level_column
        })
    });
    selected
        .filter_map(|(_, column)| Some((column, column_range(column, len)?)))
        .collect()
}

/// Returns the footer of a file that contains only `group`.
pub(super) fn single_group_footer(
    footer: &ArrowReaderMetadata,
    group: &RowGroup,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let metadata = footer.metadata();
    let file = metadata.file_metadata();
    let rows = i64::try_from(group.rows).unwrap_or(i64::MAX);
    let schema = file.schema_descr_ptr();
    let file = FileMetaData::new(file.version(), rows, None, None, schema, None);
    let groups = metadata.row_groups().get(group.index).cloned();
    let metadata = ParquetMetaData::new(file, groups.into_iter().collect());
    let options = ArrowReaderOptions::new().with_schema(footer.schema().clone());
    ArrowReaderMetadata::try_new(Arc::new(metadata), options)
}
