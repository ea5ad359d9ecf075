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
    pub(super) row: u32,
    /// The file offset of its part, which decides between rows with equal times: the
    /// highest wins.
    order: u64,
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
    /// `order`. `row_from` returns the row of the table for a time, or `None` to drop the
    /// row.
    pub(super) fn add(
        &mut self,
        order: u64,
        batch: &RecordBatch,
        mut row_from: impl FnMut(Timestamp) -> Option<u32>,
    ) -> Result<()> {
        let mut rows = Vec::new();
        for (index, time) in times(batch)?.enumerate() {
            let row = time.and_then(|time| Some((time, row_from(time)?)));
            if let Some((time, row)) = row {
                rows.push(TopicRow {
                    time: time.as_nanos(),
                    row,
                    order,
                    position: (0, index),
                });
            }
        }
        drop_overwritten(&mut rows);
        let indices: UInt32Array =
            rows.iter().map(|row| row.position.1 as u32).collect();
        let columns = batch.columns().iter().skip(1);
        let chunk = columns.map(|column| take(column, &indices, None));
        let chunk = chunk.collect::<Result<Vec<_>, _>>().map_err(into_error)?;
        rows.iter_mut().enumerate().for_each(|(index, row)| row.position.1 = index);
        self.merge_with(Self { rows, bytes: bytes(&chunk), chunks: vec![chunk] });
        Ok(())
    }

    /// Adds the rows of `other`. At equal times within one part, the rows of `other` are
    /// the later ones.
    pub(super) fn merge_with(&mut self, other: Self) {
        let Some(first) = other.rows.first() else { return };
        let is_later = self.rows.last().is_none_or(|last| last.row < first.row);
        let before = self.chunks.len();
        self.rows.extend(other.rows.into_iter().map(|mut row| {
            row.position.0 += before;
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

    /// Returns the position and the time of the last row that affects `row` of the table.
    /// The search starts at the index `search_start`, which is set to the index of the result.
    pub(super) fn find(
        &self,
        row: u32,
        search_start: &mut usize,
    ) -> Option<(RowPosition, i64)> {
        while self.rows.get(*search_start + 1).is_some_and(|next| next.row <= row) {
            *search_start += 1;
        }
        let latest = self.rows.get(*search_start).filter(|latest| latest.row <= row)?;
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
        let position = |position: &Option<RowPosition>| {
            position.map_or((0, 0), |(c, i)| (c + 1, i))
        };
        let positions: Vec<RowPosition> = positions.iter().map(position).collect();
        interleave(&arrays, &positions).map_err(into_error)
    }

    /// Returns the maximum size in bytes of this topic's values in a row of the table.
    pub(super) fn max_row_bytes(&self) -> usize {
        let width = |chunk: &Vec<ArrayRef>| chunk.iter().map(max_row_bytes).sum();
        self.chunks.iter().map(width).max().unwrap_or(0)
    }

    /// Drops the rows for rows of the table before `rows_done`, except the last one, whose
    /// values are carried on.
    pub(super) fn forget_before(&mut self, rows_done: u32) -> Result<()> {
        let past = self.rows.partition_point(|row| row.row < rows_done);
        self.rows.drain(..past.saturating_sub(1));
        if let Some(first) = self.rows.first_mut().filter(|_| past > 0) {
            first.row = rows_done;
        }
        drop_overwritten(&mut self.rows);
        self.compact()
    }

    /// Drops the rows that apply to rows of the table from `limit` on.
    pub(super) fn forget_from(&mut self, limit: u32) {
        let count = self.rows.partition_point(|row| row.row < limit);
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
        let width = self.chunks.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for column in 0..width {
            let arrays: Vec<&dyn Array> =
                self.chunks.iter().filter_map(|c| Some(&**c.get(column)?)).collect();
            columns.push(interleave(&arrays, &positions).map_err(into_error)?);
        }
        self.rows.iter_mut().enumerate().for_each(|(i, row)| row.position = (0, i));
        self.rows.shrink_to_fit();
        self.bytes = bytes(&columns);
        self.chunks = vec![columns];
        Ok(())
    }
}

/// Sorts `rows` by time, and keeps only the last one for each row of the table.
fn drop_overwritten(rows: &mut Vec<TopicRow>) {
    rows.sort_by_key(|row| (row.time, row.order));
    rows.dedup_by(|next, previous| {
        let is_same = next.row == previous.row;
        if is_same {
            *previous = *next;
        }
        is_same
    });
}

/// Iterates over the times of the rows of `batch`, with `None` for an unknown time.
fn times(batch: &RecordBatch) -> Result<impl Iterator<Item = Option<Timestamp>> + '_> {
    let first = batch.columns().first();
    let times = first.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
    let times = times.ok_or_else(|| {
        Error::new(ErrorKind::Malformed, "the first column of the table is not a time")
    })?;
    Ok(times.iter().map(|time| time.map(Timestamp::from_nanos)))
}

fn bytes(columns: &[ArrayRef]) -> usize {
    columns.iter().map(|column| column.get_array_memory_size()).sum()
}

/// Returns an upper bound of the size of a value of `array` in bytes.
fn max_row_bytes(array: &ArrayRef) -> usize {
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
