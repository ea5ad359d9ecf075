//! The trait of encoders of cells.

use arrow_array::ArrayRef;
use logtool_core::Result;

use crate::text::text_buffer::TextBuffer;

/// A function that writes the text that was appended so far, and clears it.
pub(super) type FlushText<'a> = &'a mut dyn FnMut(&mut TextBuffer) -> Result<()>;

/// An encoder of the cells of one column, row by row.
pub(super) trait Cell: Send {
    /// Sets the values of the next batch. `column` always has the type of the column.
    fn load(&mut self, column: &ArrayRef) -> Result<()>;

    /// Appends the cell of the row at index `row`, which must not be null, and the delimiter after
    /// it.
    fn write(&mut self, row: usize, text: &mut TextBuffer);

    /// Returns whether one cell can be longer than
    /// [`FLUSH_BYTES`](crate::row_formats::json::FLUSH_BYTES).
    fn can_be_long(&self) -> bool {
        false
    }

    /// Like [`write`](Self::write), but calls `flush` whenever `text` is long, even within the
    /// cell.
    fn write_in_chunks(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        _flush: FlushText<'_>,
    ) -> Result<()> {
        self.write(row, text);
        Ok(())
    }

    /// Clears the locations of the text of earlier cells, because the text was cleared.
    fn clear_text_ranges(&mut self) {}

    /// Releases the values.
    fn release_values(&mut self);
}
