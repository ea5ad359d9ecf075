//! The options for CSV files, and the quotes that cells need with them.

use logtool_core::Result;

use crate::{
    row_formats::{csv::cell::FlushText, json::PIECE_BYTES},
    text::text_buffer::TextBuffer,
};

/// Options for CSV files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether strings that spreadsheets evaluate as formulas are marked.
    marks_formulas: bool,
}

impl CsvOptions {
    /// Adds an apostrophe before each string that a spreadsheet would evaluate as a formula, because
    /// it starts with `=`, `+`, `-`, `@`, a tab or a line end. Numbers are not changed.
    #[must_use]
    pub fn with_marked_formulas(mut self) -> Self {
        self.marks_formulas = true;
        self
    }

    /// Returns `text` as a cell: in quotes if it contains something that would end the cell.
    ///
    /// ```
    /// let options = logtool_sinks::CsvOptions::default();
    /// assert_eq!(options.cell("a,b"), "\"a,b\"");
    /// assert_eq!(options.with_marked_formulas().cell("=1+2"), "'=1+2");
    /// ```
    pub fn cell(self, text: &str) -> String {
        let mut cell = TextBuffer::default();
        push_text(text.as_bytes(), self, &mut cell);
        String::from_utf8_lossy(cell.as_bytes()).into_owned()
    }

    /// Returns the options without marks of formulas.
    pub(super) fn without_marks(self) -> Self {
        Self::default()
    }
}

/// Appends `cell` to `text`, in quotes if it contains something that would end it.
pub(super) fn push_text(cell: &[u8], options: CsvOptions, text: &mut TextBuffer) {
    let is_quoted = needs_quotes(cell);
    push_start(cell, options, is_quoted, text);
    push_part(cell, is_quoted, text);
    if is_quoted {
        text.push(b'"');
    }
}

/// Like [`push_text`], but calls `flush` whenever `text` is long.
pub(super) fn push_long_text(
    cell: &[u8],
    options: CsvOptions,
    text: &mut TextBuffer,
    flush: FlushText<'_>,
) -> Result<()> {
    let is_quoted = needs_quotes(cell);
    push_start(cell, options, is_quoted, text);
    for piece in cell.chunks(PIECE_BYTES) {
        push_part(piece, is_quoted, text);
        if text.as_bytes().len() >= PIECE_BYTES {
            flush(text)?;
        }
    }
    if is_quoted {
        text.push(b'"');
    }
    Ok(())
}

/// Returns whether `cell` contains something that would end the cell.
pub(super) fn needs_quotes(cell: &[u8]) -> bool {
    let ends = |byte: &u8| matches!(byte, b'"' | b'\r' | b'\n' | b',');
    cell.iter().any(ends)
}

/// Appends the start of `cell`: a quote and the mark of a formula, if needed.
fn push_start(
    cell: &[u8],
    options: CsvOptions,
    is_quoted: bool,
    text: &mut TextBuffer,
) {
    if is_quoted {
        text.push(b'"');
    }
    if options.marks_formulas && is_formula(cell) {
        text.push(b'\'');
    }
}

/// Appends a part of the content of a cell, with its quotes doubled if the cell is quoted.
pub(super) fn push_part(part: &[u8], is_quoted: bool, text: &mut TextBuffer) {
    if !is_quoted {
        return text.extend(part);
    }
    for (i, unquoted) in part.split(|byte| *byte == b'"').enumerate() {
        if i > 0 {
            text.extend(b"\"\"");
        }
        text.extend(unquoted);
    }
}

/// Returns whether a spreadsheet would evaluate the string `cell` as a formula, because it
/// starts with a character of OWASP's list, or with a full-width form that some spreadsheets
/// accept.
fn is_formula(cell: &[u8]) -> bool {
    const STARTS: [&str; 11] = [
        "=", "+", "-", "@", "\t", "\r", "\n", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}",
        "\u{ff20}",
    ];
    STARTS.iter().any(|start| cell.starts_with(start.as_bytes()))
}
