//! The options for CSV files, and the quotes that cells need with them.

use logtool_core::Result;

use crate::{
    row_formats::{csv::cell::FlushText, json::FLUSH_BYTES},
    text::{number::SpecialFloats, text_buffer::TextBuffer},
};

/// Options for CSV files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether strings that spreadsheets evaluate as formulas are marked.
    marks_formulas: bool,
    /// Whether infinities are written for Apache Spark.
    is_for_spark: bool,
}

impl CsvOptions {
    /// Adds an apostrophe before each string that a spreadsheet would evaluate as a formula,
    /// because it starts with `=`, `+`, `-`, `@`, a tab or a line end. Numbers are not changed.
    #[must_use]
    pub fn with_marked_formulas(mut self) -> Self {
        self.marks_formulas = true;
        self
    }

    /// Writes infinities as `Infinity` and `-Infinity`, which Apache Spark reads, instead of `inf`
    /// and `-inf`.
    #[must_use]
    pub fn for_spark(mut self) -> Self {
        self.is_for_spark = true;
        self
    }

    /// Returns the texts of floats that are not numbers.
    pub(super) fn special_floats(self) -> &'static SpecialFloats {
        if self.is_for_spark { &SpecialFloats::SPARK } else { &SpecialFloats::CSV }
    }

    /// Returns `text` as a cell: in quotes if it contains a character that would end the cell.
    ///
    /// ```
    /// let options = logtool_sinks::CsvOptions::default();
    /// assert_eq!(options.cell("a,b"), "\"a,b\"");
    /// assert_eq!(options.with_marked_formulas().cell("=1+2"), "'=1+2");
    /// ```
    pub fn cell(self, text: &str) -> String {
        let mut cell = TextBuffer::default();
        append_cell(text.as_bytes(), self, &mut cell);
        String::from_utf8_lossy(cell.as_bytes()).into_owned()
    }

    /// Returns the options without marks of formulas.
    pub(super) fn without_marked_formulas(self) -> Self {
        Self { marks_formulas: false, ..self }
    }
}

/// Appends `cell` to `text`, in quotes if it contains a character that would end the cell.
pub(super) fn append_cell(cell: &[u8], options: CsvOptions, text: &mut TextBuffer) {
    let is_quoted = needs_quotes(cell);
    append_start(cell, options, is_quoted, text);
    append_part(cell, is_quoted, text);
    if is_quoted {
        text.push(b'"');
    }
}

/// Like [`append_cell`], but calls `flush` whenever `text` is long.
pub(super) fn append_long_cell(
    cell: &[u8],
    options: CsvOptions,
    text: &mut TextBuffer,
    flush: FlushText<'_>,
) -> Result<()> {
    let is_quoted = needs_quotes(cell);
    append_start(cell, options, is_quoted, text);
    for chunk in cell.chunks(FLUSH_BYTES) {
        append_part(chunk, is_quoted, text);
        if text.as_bytes().len() >= FLUSH_BYTES {
            flush(text)?;
        }
    }
    if is_quoted {
        text.push(b'"');
    }
    Ok(())
}

/// Returns whether `cell` must be in quotes: it contains a comma, a line end or a quote.
pub(super) fn needs_quotes(cell: &[u8]) -> bool {
    cell.iter().any(|byte| matches!(byte, b'"' | b'\r' | b'\n' | b','))
}

/// Appends what precedes the content of `cell`: a quote and the mark of a formula, if needed.
fn append_start(
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
pub(super) fn append_part(part: &[u8], is_quoted: bool, text: &mut TextBuffer) {
    if !is_quoted {
        return text.append(part);
    }
    for (i, unquoted) in part.split(|byte| *byte == b'"').enumerate() {
        if i > 0 {
            text.append(b"\"\"");
        }
        text.append(unquoted);
    }
}

/// Returns whether a spreadsheet would evaluate the string `cell` as a formula, because it
/// starts with a character of OWASP's list, or with a full-width form that some spreadsheets
/// accept.
fn is_formula(cell: &[u8]) -> bool {
    const FORMULA_STARTS: [&str; 11] = [
        "=", "+", "-", "@", "\t", "\r", "\n", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}",
        "\u{ff20}",
    ];
    FORMULA_STARTS.iter().any(|start| cell.starts_with(start.as_bytes()))
}
