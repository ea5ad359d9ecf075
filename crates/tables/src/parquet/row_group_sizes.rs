//! The memory that the values of a row group take, which is known before they are decoded.

use std::sync::Arc;

use logtool_core::{Error, ErrorKind, OpenOptions, Result};
use parquet::{
    basic::Type as PhysicalType,
    column::page::PageReader as _,
    file::{metadata::ColumnChunkMetaData, serialized_reader::SerializedPageReader},
    schema::types::ColumnDescriptor,
};

use crate::parquet::{
    error,
    footer::SourceChunks,
    pages::ChunkPages,
    value_sizes::{MaxLevels, ValueSizeSum, ValueSizes},
};

/// The values of a row group may take this number of times its bytes in the file in addition to
/// the share that each row group has.
const MAX_RATIO: u64 = 2_000;

/// The number of bytes that all row groups of a file share, unless the limit for records was raised.
const SHARED_BYTES: u64 = 64 << 20;

/// The number of bytes that a row takes besides its values: its time and the range of its payload.
const ROW_BYTES: u64 = 24;

/// The approximate size in bytes of the rows that are read at once, their maximum size, as far as
/// it is known, and their maximum number.
const BATCH_BYTES: u64 = 4 << 20;
const MAX_BATCH_BYTES: u64 = 64 << 20;
const BATCH_ROWS: u64 = 1_024;

/// Returns the maximum size of the values of a row group with `in_file` bytes, in a file with this
/// number of row `groups`.
pub(super) fn limit(options: OpenOptions, groups: usize, in_file: u64) -> u64 {
    let is_raised = options.record_bytes > OpenOptions::default().record_bytes;
    let shared = if is_raised { options.record_bytes.into() } else { SHARED_BYTES };
    let share = shared / (groups as u64).max(1);
    share.saturating_add(in_file.saturating_mul(MAX_RATIO))
}

/// The sizes of the values of some columns of a row group.
pub(super) struct RowGroupSizes {
    rows: u64,
    /// The sum of all values, and of the rows.
    total: u64,
    /// The sum of the longest values of each column.
    largest_row: u64,
    limit: u64,
}

impl RowGroupSizes {
    /// Starts to sum the columns of a row group of `rows` rows, whose values may take up to `limit`
    /// bytes.
    ///
    /// # Errors
    /// `Limit` if the rows take more.
    pub(super) fn new(rows: u64, limit: u64) -> Result<Self> {
        let mut sizes = Self { rows, total: 0, largest_row: 0, limit };
        sizes.add(ValueSizes {
            total: rows.saturating_mul(ROW_BYTES),
            longest: ROW_BYTES,
        })?;
        Ok(sizes)
    }

    fn add(&mut self, sizes: ValueSizes) -> Result<()> {
        self.total = self.total.saturating_add(sizes.total);
        self.largest_row = self.largest_row.saturating_add(sizes.longest);
        if self.total > self.limit {
            let (total, limit) = (self.total, self.limit);
            let message = format!(
                "the values of a row group take {total} bytes, and may take {limit}"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }

    /// Adds the column `column`, whose page headers have the sums `pages`.
    ///
    /// # Errors
    /// `Limit` if the values take too much memory; `Malformed` if a page is damaged; errors of the
    /// source.
    pub(super) fn add_column(
        &mut self,
        column: &ColumnChunkMetaData,
        pages: &ChunkPages,
        chunks: &SourceChunks,
    ) -> Result<()> {
        let descriptor = column.column_descr();
        let width = match column.column_type() {
            PhysicalType::BOOLEAN => 1,
            PhysicalType::INT32 | PhysicalType::FLOAT => 4,
            PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
            PhysicalType::INT96 => 12,
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                u64::try_from(descriptor.type_length()).unwrap_or_default()
            }
            PhysicalType::BYTE_ARRAY => {
                return self.add_byte_arrays(column, pages, chunks);
            }
        };
        let total = pages.values.saturating_mul(width);
        self.add(ValueSizes {
            total,
            longest: longest_in_row(descriptor, width, total),
        })
    }

    /// Adds a column of byte arrays. Its pages are read only if their headers do not show that the
    /// values are short enough.
    fn add_byte_arrays(
        &mut self,
        column: &ColumnChunkMetaData,
        pages: &ChunkPages,
        chunks: &SourceChunks,
    ) -> Result<()> {
        let by_dictionary = pages.dictionary_values.saturating_mul(pages.dictionary);
        let total = pages.uncompressed.saturating_add(by_dictionary);
        if total <= MAX_BATCH_BYTES && !pages.has_delta_lengths {
            return self.add(ValueSizes { total, longest: 0 });
        }
        let sizes = self.read_pages(column, chunks)?;
        let longest = longest_in_row(column.column_descr(), sizes.longest, sizes.total);
        self.add(ValueSizes { longest, ..sizes })
    }

    fn read_pages(
        &self,
        column: &ColumnChunkMetaData,
        chunks: &SourceChunks,
    ) -> Result<ValueSizes> {
        let descriptor = column.column_descr();
        let levels = MaxLevels {
            definition: descriptor.max_def_level(),
            repetition: descriptor.max_rep_level(),
        };
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let mut sum = ValueSizeSum::default();
        let is_sound = error::read("a row group", || {
            let source = Arc::new(chunks.clone());
            let mut pages = SerializedPageReader::new(source, column, rows, None)?;
            while let Some(page) = pages.get_next_page()? {
                if sum.add(&page, levels).is_none() {
                    return Ok(false);
                }
                if sum.sizes.total > self.limit {
                    break;
                }
            }
            Ok(true)
        })?;
        if is_sound {
            Ok(sum.sizes)
        } else {
            let message = "a page of a row group contradicts its header";
            Err(Error::new(ErrorKind::Malformed, message))
        }
    }

    /// Returns the number of rows to read at once.
    pub(super) fn batch_rows(&self) -> u64 {
        let average = (self.total / self.rows.max(1)).max(1);
        let by_largest = MAX_BATCH_BYTES / self.largest_row.max(1);
        (BATCH_BYTES / average).min(by_largest).clamp(1, BATCH_ROWS)
    }
}

/// Returns the maximum size of the values of a column in a row, if a value has up to `longest`
/// bytes and all values have `total` bytes. A row of a list can have many values.
fn longest_in_row(column: &ColumnDescriptor, longest: u64, total: u64) -> u64 {
    if column.max_rep_level() == 0 {
        longest
    } else if total > MAX_BATCH_BYTES && longest > BATCH_BYTES / BATCH_ROWS {
        total
    } else {
        0
    }
}
