//! The rows of one topic that the table still needs.

use arrow_array::{
    Array, ArrayRef, RecordBatch, UInt32Array, cast::AsArray as _,
    types::TimestampNanosecondType,
};
use arrow_schema::DataType;
use arrow_select::{interleave::interleave, take::take};

use crate::{
    error::{Error, ErrorKind, Result},
    model::time::Timestamp,
    operations::asof::into_error,
};

/// The position of a value: the index of its chunk, and its row in the chunk.
pub(super) type RowPosition = (usize, usize);

/// A row of the topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct TopicRow {
    /// Nanoseconds on the log's clock.
    pub(super) time: i64,
    /// The first row of the table that it affects.
    pub(super) table_row: u32,
    /// The file offset of its part. Of rows with equal times, the one with the highest offset
    /// is used.
    part_offset: u64,
    position: RowPosition,
}

/// The rows of one topic in the order of time, with one row of the topic for each row of
/// the table.
#[derive(Debug, Default)]
pub(super) struct TopicRows {
    rows: Vec<TopicRow>,
    /// The columns of these rows without the time, which can also contain dropped rows.
    chunks: Vec<Vec<ArrayRef>>,
    bytes: usize,
}

impl TopicRows {
    /// Adds the rows of `batch`, which were read from the part at the file offset
    /// `part_offset`. `table_row_at` returns the first row of the table for a time, or `None`
    /// to drop the row.
    pub(super) fn add(
        &mut self,
        part_offset: u64,
        batch: &RecordBatch,
        mut table_row_at: impl FnMut(Timestamp) -> Option<u32>,
    ) -> Result<()> {
        let mut rows = Vec::new();
        for (index, time) in times(batch)?.enumerate() {
            if let Some(time) = time
                && let Some(table_row) = table_row_at(time)
            {
                rows.push(TopicRow {
                    time: time.as_nanos(),
                    table_row,
                    part_offset,
                    position: (0, index),
                });
            }
        }
        drop_overwritten(&mut rows);
        let indices: UInt32Array =
            rows.iter().map(|row| row.position.1 as u32).collect();
        let chunk = batch
            .columns()
            .iter()
            .skip(1)
            .map(|column| take(column, &indices, None))
            .collect::<Result<Vec<_>, _>>()
            .map_err(into_error)?;
        rows.iter_mut().enumerate().for_each(|(index, row)| row.position.1 = index);
        self.merge_with(Self {
            rows,
            bytes: memory_bytes(&chunk),
            chunks: vec![chunk],
        });
        Ok(())
    }

    /// Adds the rows of `other`. At equal times within one part, the rows of `other` are
    /// the later ones.
    pub(super) fn merge_with(&mut self, other: Self) {
        let Some(first) = other.rows.first() else { return };
        let is_later =
            self.rows.last().is_none_or(|last| last.table_row < first.table_row);
        let first_chunk = self.chunks.len();
        self.rows.extend(other.rows.into_iter().map(|mut row| {
            row.position.0 += first_chunk;
            row
        }));
        self.chunks.extend(other.chunks);
        self.bytes += other.bytes;
        if !is_later {
            drop_overwritten(&mut self.rows);
        }
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &[TopicRow] {
        &self.rows
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.rows.capacity() * size_of::<TopicRow>()
    }

    /// Returns the position and the time of the last row that affects the row `table_row` of
    /// the table. The search starts at the index `search_start`, which is set to the index of
    /// the result.
    pub(super) fn find(
        &self,
        table_row: u32,
        search_start: &mut usize,
    ) -> Option<(RowPosition, i64)> {
        let affects = |row: &&TopicRow| row.table_row <= table_row;
        while self.rows.get(*search_start + 1).is_some_and(|next| affects(&next)) {
            *search_start += 1;
        }
        let latest = self.rows.get(*search_start).filter(affects)?;
        Some((latest.position, latest.time))
    }

    /// Returns the column with this index, not counting the time, of the rows at
    /// `positions`. `None` becomes the single value of `null`.
    pub(super) fn column(
        &self,
        column: usize,
        null: &ArrayRef,
        positions: &[Option<RowPosition>],
    ) -> Result<ArrayRef> {
        let mut arrays: Vec<&dyn Array> = vec![&**null];
        arrays
            .extend(self.chunks.iter().filter_map(|chunk| Some(&**chunk.get(column)?)));
        // The first array is the null, and the chunks follow.
        let positions: Vec<RowPosition> = positions
            .iter()
            .map(|position| match position {
                Some((chunk, row)) => (chunk + 1, *row),
                None => (0, 0),
            })
            .collect();
        interleave(&arrays, &positions).map_err(into_error)
    }

    /// Returns the maximum size in bytes of this topic's values in a row of the table.
    pub(super) fn max_row_bytes(&self) -> usize {
        let chunk_row_bytes =
            |chunk: &Vec<ArrayRef>| chunk.iter().map(max_value_bytes).sum();
        self.chunks.iter().map(chunk_row_bytes).max().unwrap_or(0)
    }

    /// Drops the rows for rows of the table before `rows_done`, except the last one, whose
    /// values are carried into the following rows.
    pub(super) fn drop_before(&mut self, rows_done: u32) -> Result<()> {
        let done_count = self.rows.partition_point(|row| row.table_row < rows_done);
        self.rows.drain(..done_count.saturating_sub(1));
        if let Some(first) = self.rows.first_mut()
            && done_count > 0
        {
            first.table_row = rows_done;
        }
        drop_overwritten(&mut self.rows);
        self.compact()
    }

    /// Drops the rows that only affect rows of the table from `limit` on.
    pub(super) fn drop_from(&mut self, limit: u32) {
        let count = self.rows.partition_point(|row| row.table_row < limit);
        self.rows.truncate(count);
    }

    /// Frees the memory of the dropped rows.
    pub(super) fn compact(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            *self = Self::default();
            return Ok(());
        }
        let positions: Vec<RowPosition> =
            self.rows.iter().map(|row| row.position).collect();
        let column_count = self.chunks.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(column_count);
        for column in 0..column_count {
            let arrays: Vec<&dyn Array> = self
                .chunks
                .iter()
                .filter_map(|chunk| Some(&**chunk.get(column)?))
                .collect();
            columns.push(interleave(&arrays, &positions).map_err(into_error)?);
        }
        for (index, row) in self.rows.iter_mut().enumerate() {
            row.position = (0, index);
        }
        self.rows.shrink_to_fit();
        self.bytes = memory_bytes(&columns);
        self.chunks = vec![columns];
        Ok(())
    }
}

/// Sorts `rows` by time, and keeps only the last one for each row of the table.
fn drop_overwritten(rows: &mut Vec<TopicRow>) {
    rows.sort_by_key(|row| (row.time, row.part_offset));
    rows.dedup_by(|next, previous| {
        let overwrites_previous = next.table_row == previous.table_row;
        if overwrites_previous {
            *previous = *next;
        }
        overwrites_previous
    });
}

/// Iterates over the times of the rows of `batch`, with `None` for an unknown time.
fn times(batch: &RecordBatch) -> Result<impl Iterator<Item = Option<Timestamp>> + '_> {
    let first_column = batch.columns().first();
    let Some(times) = first_column
        .and_then(|column| column.as_primitive_opt::<TimestampNanosecondType>())
    else {
        let message = "the first column of the table is not a time";
        return Err(Error::new(ErrorKind::Malformed, message));
    };
    Ok(times.iter().map(|time| time.map(Timestamp::from_nanos)))
}

/// Returns the memory of `columns` in bytes.
fn memory_bytes(columns: &[ArrayRef]) -> usize {
    columns.iter().map(|column| column.get_array_memory_size()).sum()
}

/// Returns an upper bound of the size of a value of `array` in bytes.
fn max_value_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Boolean => 1,
        DataType::Utf8 => {
            let lengths = array.as_string::<i32>().offsets().lengths();
            size_of::<i32>() + lengths.max().unwrap_or(0)
        }
        DataType::Dictionary(key, _) => key.primitive_width().unwrap_or(8),
        other => {
            other.primitive_width().unwrap_or_else(|| array.get_array_memory_size())
        }
    }
}
