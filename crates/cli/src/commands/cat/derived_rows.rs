//! Rows of derived series between those of records.

use std::mem;

use logtool::{
    Result,
    arrow_array::RecordBatch,
    read::MakeRows,
    rows::{Label, PrintedRows},
    time::clock::ShownClock,
};
use logtool_core::Timestamp;

use super::Lines;

/// The number of rows after which lines are printed.
const MOST_LINES: usize = 1 << 13;

/// The rows of derived series that are not printed yet.
#[derive(Default)]
pub(super) struct DerivedRows {
    tables: Vec<TableRows>,
    clock: Option<ShownClock>,
}

/// The rows of one series, in the order of time.
struct TableRows {
    label: Label,
    /// Rows, and how many they are.
    batches: Vec<(PrintedRows, usize)>,
    /// The next batch, and the next row in it.
    next: (usize, usize),
}

impl TableRows {
    /// Returns the next row and its time.
    fn peek(&self) -> Option<(&PrintedRows, usize, Timestamp)> {
        let (batch, row) = self.next;
        let (rows, _) = self.batches.get(batch)?;
        Some((rows, row, rows.time(row)))
    }

    fn advance(&mut self) {
        let (batch, row) = self.next;
        let len = self.batches.get(batch).map_or(0, |(_, len)| *len);
        self.next = if row + 1 < len { (batch, row + 1) } else { (batch + 1, 0) };
    }
}

impl DerivedRows {
    /// Creates the rows of `tables`, which have these `labels`, converted by `make_rows`.
    pub(super) fn new(
        labels: impl Iterator<Item = Label>,
        tables: &[Vec<RecordBatch>],
        make_rows: MakeRows,
        clock: ShownClock,
    ) -> Result<Self> {
        let rows = |batch: &RecordBatch| Ok((make_rows(batch)?, batch.num_rows()));
        let table = |(label, batches): (Label, &Vec<RecordBatch>)| {
            let batches = batches.iter().map(rows).collect::<Result<_>>()?;
            Ok(TableRows { label, batches, next: (0, 0) })
        };
        let tables = labels.zip(tables).map(table).collect::<Result<_>>()?;
        Ok(Self { tables, clock: Some(clock) })
    }

    /// Adds the lines of rows earlier than `before`, in the order of time, to `lines`, until these
    /// are enough to be printed. Returns whether it added any.
    pub(super) fn add(&mut self, before: Option<Timestamp>, lines: &mut Lines) -> bool {
        let Some(clock) = &self.clock else { return false };
        let start = lines.ends.len();
        while lines.ends.len() - start < MOST_LINES {
            let next = |table: &TableRows| table.peek().map(|(.., time)| time);
            let times = self.tables.iter().enumerate();
            let times = times.filter_map(|(index, table)| Some((next(table)?, index)));
            let earliest = times.min();
            let Some((_, index)) =
                earliest.filter(|(time, _)| before.is_none_or(|before| *time < before))
            else {
                break;
            };
            let Some(table) = self.tables.get_mut(index) else { break };
            if let Some((rows, row, time)) = table.peek() {
                rows.write(row, clock, Some(&table.label), &mut lines.text);
                lines.ends.push(lines.text.len());
                lines.nulls.push(rows.take_null_infinities());
                lines.times.push(time);
            }
            table.advance();
        }
        lines.ends.len() > start
    }

    /// Inserts the lines of rows that are earlier than those of `lines`, which are in the order of
    /// time.
    pub(super) fn insert_by_time(&mut self, lines: &mut Lines) {
        let last = lines.times.last().copied();
        let has_earlier = self.tables.iter().any(|table| {
            table.peek().zip(last).is_some_and(|((.., time), last)| time < last)
        });
        if !has_earlier {
            return;
        }
        let records = mem::take(lines);
        let mut start = 0;
        for ((end, nulls), time) in
            records.ends.iter().zip(&records.nulls).zip(&records.times)
        {
            while self.add(Some(*time), lines) {}
            let line = records.text.get(start..*end).unwrap_or_default();
            lines.text.extend_from_slice(line);
            lines.ends.push(lines.text.len());
            lines.nulls.push(*nulls);
            lines.times.push(*time);
            start = *end;
        }
    }
}
