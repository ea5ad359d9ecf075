//! Building a [`Program`] while a layout is planned.

use crate::{
    decode::columns::program::{Program, RepeatCount, Step, TableIndex},
    model::layout::TrailingBytes,
};

/// A program under construction.
#[derive(Debug)]
pub(super) struct ProgramBuilder {
    /// The enclosing repetitions, the outermost first. The first is the payload.
    outer: Vec<RepetitionScope>,
    /// The current repetition.
    inner: RepetitionScope,
    table_count: usize,
}

/// The steps of a repetition so far, and the fixed-size range at their end.
#[derive(Debug, Default)]
struct RepetitionScope {
    steps: Vec<Step>,
    /// The length of the fixed-size range so far, and its table if there is one.
    len: u32,
    table: Option<TableIndex>,
}

impl ProgramBuilder {
    pub(super) fn new() -> Self {
        Self { outer: vec![], inner: RepetitionScope::default(), table_count: 0 }
    }

    /// Returns the offset of the current position in the current fixed-size range.
    pub(super) fn offset(&self) -> u32 {
        self.inner.len
    }

    /// Returns the table of the current fixed-size range, and creates it if necessary.
    pub(super) fn fixed_size_table(&mut self) -> TableIndex {
        let table_count = &mut self.table_count;
        *self.inner.table.get_or_insert_with(|| new_table(table_count))
    }

    /// Creates a table.
    pub(super) fn table(&mut self) -> TableIndex {
        new_table(&mut self.table_count)
    }

    /// Skips `len` bytes. (The limits of layouts keep the sum within a `u32`.)
    pub(super) fn skip(&mut self, len: u32) {
        self.inner.len = self.inner.len.saturating_add(len);
    }

    /// Adds a number and as many elements of `stride` bytes.
    pub(super) fn elements(&mut self, stride: u32, table: Option<TableIndex>) {
        self.inner.push(Step::Elements { stride, is_text: false, table });
    }

    /// Adds a string.
    pub(super) fn text(&mut self, table: Option<TableIndex>) {
        self.inner.push(Step::Elements { stride: 1, is_text: true, table });
    }

    /// Starts a repetition, which ends at [`close`](Self::close).
    pub(super) fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.inner));
    }

    /// Ends a repetition of `count` elements of at least `min_element_len` bytes each.
    pub(super) fn close(&mut self, count: RepeatCount, min_element_len: u32) {
        let body = std::mem::take(&mut self.inner).finish();
        self.inner = self.outer.pop().unwrap_or_default();
        self.inner.push(Step::Repeat { count, min_element_len, body });
    }

    pub(super) fn finish(self, trailing_bytes: TrailingBytes) -> Program {
        let steps = self.inner.finish();
        Program { steps, table_count: self.table_count, trailing_bytes }
    }
}

impl RepetitionScope {
    fn push(&mut self, step: Step) {
        self.end_fixed_range();
        self.steps.push(step);
    }

    fn finish(mut self) -> Vec<Step> {
        self.end_fixed_range();
        self.steps
    }

    fn end_fixed_range(&mut self) {
        let (len, table) = (std::mem::take(&mut self.len), self.table.take());
        if len > 0 {
            self.steps.push(Step::FixedSize { len, table });
        }
    }
}

/// Creates a table, and returns its index.
fn new_table(table_count: &mut usize) -> TableIndex {
    *table_count += 1;
    *table_count - 1
}
