//! How a [`Program`] comes to be: step by step, as a layout is planned.

use crate::{
    decode::columns::program::{Count, Program, Step, Table},
    model::layout::Tail,
};

/// A program in the making.
#[derive(Debug)]
pub(super) struct Script {
    /// What is being repeated, each inside the one before; the payload is the first.
    outer: Vec<Scope>,
    inner: Scope,
    tables: usize,
}

/// The steps so far of something, and the stretch at their end.
#[derive(Debug, Default)]
struct Scope {
    steps: Vec<Step>,
    len: u32,
    table: Option<Table>,
}

impl Script {
    pub(super) fn new() -> Self {
        Self { outer: vec![], inner: Scope::default(), tables: 0 }
    }

    /// How many bytes into the present stretch the script is.
    pub(super) fn at(&self) -> u32 {
        self.inner.len
    }

    /// The table of the present stretch, which thereby has one.
    pub(super) fn stretch(&mut self) -> Table {
        let tables = &mut self.tables;
        *self.inner.table.get_or_insert_with(|| new_table(tables))
    }

    /// A new table.
    pub(super) fn table(&mut self) -> Table {
        new_table(&mut self.tables)
    }

    /// Goes on by `len` bytes. (Layouts are so small that their sum is a `u32`.)
    pub(super) fn pass(&mut self, len: u32) {
        self.inner.len = self.inner.len.saturating_add(len);
    }

    /// Goes on by a number and as many elements of `stride` bytes.
    pub(super) fn elements(&mut self, stride: u32, table: Option<Table>) {
        self.inner.push(Step::Elements { stride, is_text: false, table });
    }

    /// Goes on by a text.
    pub(super) fn text(&mut self, table: Option<Table>) {
        self.inner.push(Step::Elements { stride: 1, is_text: true, table });
    }

    /// What comes from here on is repeated, up to [`close`](Self::close).
    pub(super) fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.inner));
    }

    /// Ends what is repeated `count` times and takes at least `least` bytes each.
    pub(super) fn close(&mut self, count: Count, least: u32) {
        let body = std::mem::take(&mut self.inner).finish();
        self.inner = self.outer.pop().unwrap_or_default();
        self.inner.push(Step::Each { count, least, body });
    }

    pub(super) fn finish(self, tail: Tail) -> Program {
        Program { steps: self.inner.finish(), tables: self.tables, tail }
    }
}

impl Scope {
    fn push(&mut self, step: Step) {
        self.end_stretch();
        self.steps.push(step);
    }

    fn finish(mut self) -> Vec<Step> {
        self.end_stretch();
        self.steps
    }

    fn end_stretch(&mut self) {
        let (len, table) = (std::mem::take(&mut self.len), self.table.take());
        if len > 0 {
            self.steps.push(Step::Stretch { len, table });
        }
    }
}

fn new_table(tables: &mut usize) -> Table {
    *tables += 1;
    *tables - 1
}
