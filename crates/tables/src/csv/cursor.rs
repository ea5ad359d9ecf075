//! Reads the rows of a range of bytes.

use std::{ops::Range, sync::Arc};

use logtool_core::{
    Block, Cursor, Damage, DamageKind, OpenOptions, RecordScanner, Result, ScanStep,
    Selection, Source, Timestamp, TopicId,
};

use crate::{
    csv::row_parser::{ParsedRow, RowParser},
    time_column::{TimeUnit, cell_nanos},
};

/// The only topic.
pub(super) const TOPIC: TopicId = TopicId(0);

/// The properties that all rows of a file share.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowLayout {
    pub(super) delimiter: u8,
    /// The number of cells of a row.
    pub(super) cells: usize,
    /// The index of the cell with the time, and its unit.
    pub(super) time: (usize, TimeUnit),
}

/// Reads the rows of a range of bytes.
pub(super) struct RowCursor {
    source: Arc<dyn Source>,
    scanner: RecordScanner,
    rows: RowReader,
    selection: Selection,
    end: u64,
}

impl RowCursor {
    /// Creates a cursor over the rows in `bytes` of `source`. The first row is in line number
    /// `line` of the file.
    pub(super) fn new(
        (source, bytes): (Arc<dyn Source>, Range<u64>),
        line: u64,
        layout: RowLayout,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let end = bytes.end;
        let scanner = RecordScanner::new(source.clone(), bytes, options);
        let rows = RowReader::new(layout, line, options);
        Self { source, scanner, rows, selection, end }
    }

    /// Refills `block` like [`Cursor::fill`], and calls `inspect` with the cells and the line
    /// number of each row.
    pub(super) fn fill_with(
        &mut self,
        block: &mut Block,
        mut inspect: impl FnMut(&RowParser, u64),
    ) -> Result<bool> {
        let Self { source, scanner, rows, selection, end } = self;
        let start = scanner.position();
        scanner.fill(block, |block, bytes, position| {
            let is_end = start + bytes.len() as u64 == *end;
            let remaining = bytes.get(position..).unwrap_or_default();
            match rows.next(remaining, is_end) {
                RowStep::Row { time, payload, len } => {
                    inspect(&rows.parser, rows.row_line);
                    if selection.contains(TOPIC, time) {
                        let payload = position + payload.start..position + payload.end;
                        block.push(TOPIC, time, payload);
                    }
                    ScanStep::Whole { len }
                }
                RowStep::Blank { len } => ScanStep::Whole { len },
                RowStep::Partial { len } => ScanStep::Partial { len },
                RowStep::Unreadable { len, kind, reason } => {
                    let offset = start + position as u64;
                    let ends_with_line = remaining.get(..len).is_some_and(ends_line);
                    let end_of_row = offset + len as u64;
                    let end_of_row = if ends_with_line {
                        end_of_row
                    } else {
                        line_end(source, end_of_row..*end)
                    };
                    rows.line += u64::from(!ends_with_line);
                    let damage = Damage::new(kind, offset..end_of_row)
                        .with_records(1, Some(TOPIC))
                        .with_reason(reason);
                    ScanStep::Damaged {
                        len: end_of_row - offset,
                        damage: Box::new(damage),
                    }
                }
            }
        })
    }

    /// Returns the file offset of the next row, and its line number.
    pub(super) fn position(&self) -> (u64, u64) {
        (self.scanner.position(), self.rows.line)
    }

    /// Returns whether the last row had no line end.
    pub(super) fn is_unterminated(&self) -> bool {
        self.rows.is_unterminated
    }
}

impl Cursor for RowCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.fill_with(block, |_, _| {})
    }
}

/// The first row of some bytes.
enum RowStep {
    Row { time: Timestamp, payload: Range<usize>, len: usize },
    Blank { len: usize },
    Partial { len: usize },
    Unreadable { len: usize, kind: DamageKind, reason: String },
}

/// Reads rows one after the other.
struct RowReader {
    parser: RowParser,
    layout: RowLayout,
    /// The line number of the next row, counted from 1.
    line: u64,
    /// The line number of the last row.
    row_line: u64,
    max_bytes: usize,
    is_unterminated: bool,
}

impl RowReader {
    fn new(layout: RowLayout, line: u64, options: OpenOptions) -> Self {
        let parser = RowParser::new(layout.delimiter);
        let max_bytes = options.record_bytes as usize;
        Self { parser, layout, line, row_line: line, max_bytes, is_unterminated: false }
    }

    /// Returns the first row of `bytes`. `is_end` is set if the file ends after them.
    fn next(&mut self, bytes: &[u8], is_end: bool) -> RowStep {
        let blank = bytes.iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
        self.row_line = self.line + newlines(blank);
        let step = match self.parser.parse(bytes, is_end) {
            ParsedRow::Row { payload, len, is_terminated } => {
                self.is_unterminated = !is_terminated;
                self.row(payload, len)
            }
            ParsedRow::Blank => RowStep::Blank { len: bytes.len() },
            ParsedRow::Partial if bytes.len() < self.max_bytes => {
                let len = bytes.len().saturating_mul(2).min(self.max_bytes);
                return RowStep::Partial { len };
            }
            ParsedRow::Partial => {
                let reason = format!("is over {} bytes long", self.max_bytes);
                self.unreadable(line_len(bytes), DamageKind::OverLimit, &reason)
            }
            ParsedRow::OpenQuotes => {
                let reason = "has quotes without an end";
                self.unreadable(line_len(bytes), DamageKind::Truncated, reason)
            }
            ParsedRow::TooManyCells => {
                let reason = "has more cells than a table may have";
                self.unreadable(line_len(bytes), DamageKind::OverLimit, reason)
            }
        };
        let (RowStep::Row { len, .. }
        | RowStep::Blank { len }
        | RowStep::Unreadable { len, .. }
        | RowStep::Partial { len }) = step;
        let read = bytes.get(..len).unwrap_or_default();
        self.line += newlines(read.iter());
        step
    }

    /// Checks the row of `len` bytes that was parsed.
    fn row(&self, payload: Range<usize>, len: usize) -> RowStep {
        let RowLayout { cells, time: (index, unit), .. } = self.layout;
        if self.parser.cells() != cells {
            let is_truncated = self.is_unterminated && self.parser.cells() < cells;
            let kind =
                if is_truncated { DamageKind::Truncated } else { DamageKind::Garbled };
            let count = self.parser.cells();
            return self.unreadable(
                len,
                kind,
                &format!("has the wrong number of cells: {count}, not {cells}"),
            );
        }
        let cell = self.parser.cell(index).unwrap_or_default();
        match cell_nanos(cell, unit) {
            Some(nanos) => {
                RowStep::Row { time: Timestamp::from_nanos(nanos), payload, len }
            }
            None => self.unreadable(len, DamageKind::Garbled, "has no time"),
        }
    }

    fn unreadable(&self, len: usize, kind: DamageKind, reason: &str) -> RowStep {
        let reason = format!("line {} {reason}", self.row_line);
        RowStep::Unreadable { len, kind, reason }
    }
}

/// Returns the offset of the end of the line that starts in `bytes` of `source`. Errors of the
/// source are ignored, because they occur again when the next row is read.
fn line_end(source: &Arc<dyn Source>, bytes: Range<u64>) -> u64 {
    const BLOCK_BYTES: u64 = 1 << 20;
    let mut start = bytes.start;
    while start < bytes.end {
        let block = source.read_at(start..bytes.end.min(start + BLOCK_BYTES));
        let Ok(block) = block else { return start };
        if block.is_empty() {
            return start;
        }
        if let Some(end) = block.iter().position(|byte| *byte == b'\n') {
            return start + end as u64 + 1;
        }
        start += block.len() as u64;
    }
    bytes.end
}

/// Returns whether `bytes` end with the end of a line.
fn ends_line(bytes: &[u8]) -> bool {
    bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Returns the number of line feeds in `bytes`.
fn newlines<'b>(bytes: impl Iterator<Item = &'b u8>) -> u64 {
    bytes.filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the length of the first line of `bytes` that is not empty, with its end.
fn line_len(bytes: &[u8]) -> usize {
    let start = bytes.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let line = bytes.get(start..).unwrap_or_default();
    let end = line.iter().position(|byte| *byte == b'\n');
    start + end.map_or(line.len(), |end| end + 1)
}
