//! How records are printed.

use std::sync::Arc;

use logtool::{
    read::{LogReader, MakeRows, RecordOrder},
    rows::{Label, PrintedRows},
    time::clock::ShownClock,
};
use logtool_core::{Columns, Labels, Log, Selection, Topic, TopicId, View};

use super::Lines;

/// How records are printed.
pub(super) struct RecordStyle {
    pub(super) make_rows: MakeRows,
    /// The width of the column of topics.
    pub(super) width: usize,
    /// The names of values.
    pub(super) labels: Option<Arc<Labels>>,
    pub(super) clock: ShownClock,
    pub(super) order: RecordOrder,
}

impl RecordStyle {
    /// Returns a reader that makes the lines of the records of `log` in `selection`.
    pub(super) fn reader<'l>(
        &self,
        log: &'l dyn Log,
        selection: Selection,
    ) -> LogReader<'l, Lines> {
        let label = |topic: &Topic| Label::new(&topic.label(), self.width);
        let print: Vec<Label> = log.manifest().topics.iter().map(label).collect();
        let clock = self.clock;
        let add_row =
            move |topic: TopicId, rows: &PrintedRows, row, lines: &mut Lines| {
                rows.write(row, &clock, Some(&print[topic.index()]), &mut lines.text);
                lines.ends.push(lines.text.len());
                lines.nulls.push(rows.take_null_infinities());
                lines.times.push(rows.time(row));
            };
        let columns =
            Columns { labels: self.labels.clone(), ..Columns::new(View::Nested) };
        LogReader::new(log, selection, self.order, columns, self.make_rows, add_row)
    }
}
