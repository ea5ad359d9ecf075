//! Rows of a CSV file: bytes to cells.

use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::flat_columns::MAX_COLUMNS;

/// The first row of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedRow {
    /// There are only ends of lines.
    Blank,
    /// A row, whose cells the parser has.
    Row {
        /// Its bytes without the end of the line.
        payload: Range<usize>,
        /// The number of bytes up to the next row.
        len: usize,
        /// Whether the row has an end of its line, or the bytes end with it.
        is_terminated: bool,
    },
    /// The bytes are the start of a longer row.
    Partial,
    /// The file ends in a cell with quotes.
    OpenQuotes,
    /// The row has more cells than a table may have.
    TooManyCells,
}

/// A parser of rows, which reuses its memory.
pub(super) struct RowParser {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    cells: usize,
}

impl RowParser {
    /// Creates a parser of rows whose cells are separated by `delimiter`.
    pub(super) fn new(delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Self { reader, text: vec![0; 256], ends: vec![0; 16], cells: 0 }
    }

    /// Parses the first row of `bytes`. `is_end` states that nothing follows them.
    pub(super) fn parse(&mut self, bytes: &[u8], is_end: bool) -> ParsedRow {
        let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let start = bytes.iter().take_while(|byte| is_line_end(byte)).count();
        if start == bytes.len() {
            return ParsedRow::Blank;
        }
        self.reader.reset();
        let (mut read, mut written, mut ends) = (start, 0, 0);
        let mut is_terminated = true;
        loop {
            let input = bytes.get(read..).unwrap_or_default();
            // A newline after the last row ends it, unless quotes are open.
            let input = if is_terminated { input } else { b"\n" };
            let (result, nin, nout, nend) = self.reader.read_record(
                input,
                self.text.get_mut(written..).unwrap_or_default(),
                self.ends.get_mut(ends..).unwrap_or_default(),
            );
            (written, ends) = (written + nout, ends + nend);
            if is_terminated {
                read += nin;
            }
            match result {
                ReadRecordResult::OutputFull => {
                    self.text.resize(self.text.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull if ends > MAX_COLUMNS => {
                    return ParsedRow::TooManyCells;
                }
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                ReadRecordResult::InputEmpty if !is_terminated => {
                    return ParsedRow::OpenQuotes;
                }
                ReadRecordResult::InputEmpty if is_end => is_terminated = false,
                ReadRecordResult::InputEmpty => return ParsedRow::Partial,
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        self.cells = ends;
        if ends > MAX_COLUMNS {
            return ParsedRow::TooManyCells;
        }
        let row = bytes.get(start..read).unwrap_or_default();
        let line_end =
            usize::from(is_terminated && row.last().is_some_and(is_line_end));
        let payload = start..read.saturating_sub(line_end).max(start);
        if row.last() == Some(&b'\r') && bytes.get(read) == Some(&b'\n') {
            read += 1;
        }
        ParsedRow::Row { payload, len: read, is_terminated }
    }

    /// Returns the number of cells of the last row.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the cell at `index` of the last row, without its quotes.
    pub(super) fn cell(&self, index: usize) -> Option<&[u8]> {
        let ends = self.ends.get(..self.cells)?;
        let end = *ends.get(index)?;
        let start = match index {
            0 => 0,
            _ => *ends.get(index - 1)?,
        };
        self.text.get(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(parser: &RowParser) -> Vec<String> {
        let cells = (0..parser.cells()).filter_map(|index| parser.cell(index));
        cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    }

    #[test]
    fn rows_have_cells_with_and_without_quotes() {
        // The rules of RFC 4180, section 2.
        let text = b"\r\naaa,\"b \r\nbb\",\"c\"\"c\",\r\nnext";
        let mut parser = RowParser::new(b',');
        let row = parser.parse(text, false);
        let ParsedRow::Row { payload, len, is_terminated: true } = row else {
            panic!("{row:?}")
        };
        assert_eq!(cells(&parser), ["aaa", "b \r\nbb", "c\"c", ""]);
        assert_eq!(&text[payload], b"aaa,\"b \r\nbb\",\"c\"\"c\",");
        assert_eq!(&text[len..], b"next");
        assert_eq!(parser.parse(&text[len..], false), ParsedRow::Partial);
        let row = parser.parse(&text[len..], true);
        assert_eq!(row, ParsedRow::Row { payload: 0..4, len: 4, is_terminated: false });
        assert_eq!(cells(&parser), ["next"]);
    }

    #[test]
    fn open_quotes_at_the_end_are_no_row() {
        let mut parser = RowParser::new(b',');
        assert_eq!(parser.parse(b"1,\"open\n", true), ParsedRow::OpenQuotes);
        assert_eq!(parser.parse(b"1,\"open\n", false), ParsedRow::Partial);
        let row = ParsedRow::Row { payload: 0..10, len: 10, is_terminated: false };
        assert_eq!(parser.parse(b"1,\"closed\"", true), row);
        assert_eq!(parser.parse(b"\r\n\n", true), ParsedRow::Blank);
    }

    #[test]
    fn cells_of_a_row_are_limited() {
        let mut parser = RowParser::new(b';');
        let fits = ";".repeat(MAX_COLUMNS - 1) + "\n";
        assert!(matches!(parser.parse(fits.as_bytes(), true), ParsedRow::Row { .. }));
        assert_eq!(parser.cells(), MAX_COLUMNS);
        let many = ";".repeat(4 * MAX_COLUMNS) + "\n";
        assert_eq!(parser.parse(many.as_bytes(), true), ParsedRow::TooManyCells);
    }
}
