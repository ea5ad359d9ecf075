//! Writing the cells of one column.

use arrow_array::ArrayRef;
use logtool_core::Result;

use crate::text::text_buffer::TextBuffer;

/// Accepts the text so far and clears it.
pub(super) type FlushText<'a> = &'a mut dyn FnMut(&mut TextBuffer) -> Result<()>;

/// Writes the cells of one column, row by row.
pub(super) trait Cell: Send {
    /// Sets the values of the next batch, which always have the type of the column.
    fn load(&mut self, column: &ArrayRef) -> Result<()>;

    /// Appends the cell of the row at index `row`, which must not be null, and the delimiter after
    /// it.
    fn write(&mut self, row: usize, text: &mut TextBuffer);

    /// Returns whether one cell can be longer than [`PIECE_BYTES`](crate::row_formats::json::PIECE_BYTES).
    fn can_be_long(&self) -> bool {
        false
    }

    /// Like [`write`](Self::write), but calls `flush` whenever `text` is long. `flush`
    /// takes the text and clears it.
    fn write_in_pieces(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        _pass_on: FlushText<'_>,
    ) -> Result<()> {
        self.write(row, text);
        Ok(())
    }

    /// Forgets where earlier cells are, because the text so far was cleared.
    fn forget_positions(&mut self) {}

    /// Releases the values.
    fn release_values(&mut self);
}
