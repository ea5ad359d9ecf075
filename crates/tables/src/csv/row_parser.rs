//! Parses the bytes of rows to cells.

use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::flat_columns::MAX_COLUMNS;

/// The result of parsing the first row of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedRow {
    /// The bytes contain only line ends.
    Blank,
    /// A row. Its cells are in the parser.
    Row {
        /// The bytes of the row without the line end.
        payload: Range<usize>,
        /// The number of bytes before the next row.
        len: usize,
        /// Whether the row has a line end.
        is_terminated: bool,
    },
    /// The bytes are the start of a longer row.
    Partial,
    /// The file ends within a quoted cell.
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

    /// Parses the first row of `bytes`. `is_end` is set if the file ends after them.
    pub(super) fn parse(&mut self, bytes: &[u8], is_end: bool) -> ParsedRow {
        let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let start = bytes.iter().take_while(|byte| is_line_end(byte)).count();
        if start == bytes.len() {
            return ParsedRow::Blank;
        }
        self.reader.reset();
        let (mut position, mut text_len, mut cell_count) = (start, 0, 0);
        let mut is_terminated = true;
        loop {
            let input = bytes.get(position..).unwrap_or_default();
            // A line feed ends the last row of a file, unless a quoted cell is open.
            let input = if is_terminated { input } else { b"\n" };
            let (result, read_len, written_len, end_count) = self.reader.read_record(
                input,
                self.text.get_mut(text_len..).unwrap_or_default(),
                self.ends.get_mut(cell_count..).unwrap_or_default(),
            );
            (text_len, cell_count) = (text_len + written_len, cell_count + end_count);
            if is_terminated {
                position += read_len;
            }
            match result {
                ReadRecordResult::OutputFull => {
                    self.text.resize(self.text.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull if cell_count > MAX_COLUMNS => {
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
        self.cells = cell_count;
        if cell_count > MAX_COLUMNS {
            return ParsedRow::TooManyCells;
        }
        let row = bytes.get(start..position).unwrap_or_default();
        let line_end_len =
            usize::from(is_terminated && row.last().is_some_and(is_line_end));
        let payload = start..position.saturating_sub(line_end_len).max(start);
        if row.last() == Some(&b'\r') && bytes.get(position) == Some(&b'\n') {
            position += 1;
        }
        ParsedRow::Row { payload, len: position, is_terminated }
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
        // By the rules of RFC 4180, section 2.
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
    fn text_with_open_quotes_at_the_end_is_not_a_row() {
        let mut parser = RowParser::new(b',');
        assert_eq!(parser.parse(b"1,\"open\n", true), ParsedRow::OpenQuotes);
        assert_eq!(parser.parse(b"1,\"open\n", false), ParsedRow::Partial);
        let row = ParsedRow::Row { payload: 0..10, len: 10, is_terminated: false };
        assert_eq!(parser.parse(b"1,\"closed\"", true), row);
        assert_eq!(parser.parse(b"\r\n\n", true), ParsedRow::Blank);
    }

    #[test]
    fn number_of_cells_in_a_row_is_limited() {
        let mut parser = RowParser::new(b';');
        let fits = ";".repeat(MAX_COLUMNS - 1) + "\n";
        assert!(matches!(parser.parse(fits.as_bytes(), true), ParsedRow::Row { .. }));
        assert_eq!(parser.cells(), MAX_COLUMNS);
        let many = ";".repeat(4 * MAX_COLUMNS) + "\n";
        assert_eq!(parser.parse(many.as_bytes(), true), ParsedRow::TooManyCells);
    }
}
