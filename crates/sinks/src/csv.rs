//! Tables as CSV, in the layout of pyulog's ulog2csv.
//!
//! A header line with the names of the columns is followed by a line for each row. Cells are quoted
//! as RFC 4180 requires, lines end in `\n`. Times are integers in the unit of the log format, or
//! ISO 8601 if they are UTC. Floats are the shortest text that reads back as the same float. Null
//! values are empty cells; nested values are JSON text in one cell.
//!
//! Differences to ulog2csv: it prints booleans as numbers (here `true`, `false`), never quotes, and
//! formats floats like numpy (`1e-05` for `1e-5`).

mod cell;

use std::{io::Write as _, sync::Arc};

use arrow_array::{Array as _, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{FieldRef, SchemaRef};
use logtool_core::{Error, ErrorKind, Result, TableSink, TableWriter, Topic};

use crate::{
    csv::cell::{Cell, cell_for, push_text},
    file_name::FileNames,
    json::PIECE_BYTES,
    parallel_rows::format_in_parallel,
    staged::{Outputs, StagedFile},
    text_buffer::TextBuffer,
};

/// Writes one CSV file for each topic.
#[derive(Clone, Debug)]
pub struct CsvSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    options: CsvOptions,
}

/// Options for CSV files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    delimiter: u8,
    /// Whether strings that spreadsheets evaluate as formulas are marked.
    is_safe: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', is_safe: false }
    }
}

impl CsvOptions {
    /// Separates cells by `delimiter` instead of a comma.
    ///
    /// # Errors
    /// The delimiter is not an ASCII character, occurs in numbers or times, or is a quote or a line
    /// end.
    pub fn with_delimiter(mut self, delimiter: char) -> Result<Self> {
        let in_cells =
            |c: char| c.is_ascii_alphanumeric() || "+-.:\"\r\n\0".contains(c);
        if !delimiter.is_ascii() || in_cells(delimiter) {
            let what = format!("{delimiter:?} cannot separate cells");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        self.delimiter = delimiter as u8;
        Ok(self)
    }

    /// Adds an apostrophe before each string that a spreadsheet would evaluate as a formula, because
    /// it starts with `=`, `+`, `-`, `@`, a tab or a line end. Numbers are not changed.
    #[must_use]
    pub fn without_formulas(mut self) -> Self {
        self.is_safe = true;
        self
    }

    /// Returns `text` as a cell: in quotes if it contains something that would end the cell.
    ///
    /// ```
    /// let options = logtool_sinks::CsvOptions::default();
    /// assert_eq!(options.cell("a,b"), "\"a,b\"");
    /// assert_eq!(options.without_formulas().cell("=1+2"), "'=1+2");
    /// ```
    pub fn cell(self, text: &str) -> String {
        let mut cell = TextBuffer::default();
        push_text(text.as_bytes(), self, &mut cell);
        String::from_utf8_lossy(cell.as_bytes()).into_owned()
    }
}

impl CsvSink {
    /// Creates a sink that writes files with `names` among `outputs`.
    pub fn new(outputs: Arc<Outputs>, names: FileNames, options: CsvOptions) -> Self {
        Self { outputs, names, options }
    }
}

impl TableSink for CsvSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "csv"))?;
        Ok(Box::new(CsvWriter::new(staged, schema, self.options)))
    }
}

/// Writes one CSV file.
struct CsvWriter {
    staged: StagedFile,
    schema: SchemaRef,
    options: CsvOptions,
    rows: CsvRows,
    /// The encoders of the slices of long batches.
    more: Vec<CsvRows>,
}

impl CsvWriter {
    fn new(staged: StagedFile, schema: &SchemaRef, options: CsvOptions) -> Self {
        let mut rows = CsvRows::new(schema, options);
        rows.header(schema, options);
        Self { staged, schema: schema.clone(), options, rows, more: Vec::new() }
    }
}

impl TableWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { staged, schema, options, rows, more } = self;
        let is_written = format_in_parallel(
            batch,
            more,
            || CsvRows::new(schema, *options),
            |rows, slice| rows.write(slice, None),
            |lines| {
                rows.hand_over(staged)?;
                lines.hand_over(staged)
            },
        )?;
        if is_written { Ok(()) } else { rows.write(batch, Some(staged)) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.rows.hand_over(&mut self.staged)?;
        self.staged.finish()
    }
}

/// An encoder of lines of a table.
struct CsvRows {
    columns: Vec<CsvColumn>,
    text: TextBuffer,
}

struct CsvColumn {
    cell: Box<dyn Cell>,
    nulls: Option<NullBuffer>,
    end: u8,
}

impl CsvRows {
    /// Creates an encoder for a table with the columns `schema`.
    fn new(schema: &SchemaRef, options: CsvOptions) -> Self {
        let last = schema.fields().len().saturating_sub(1);
        let column = |(i, field): (usize, &FieldRef)| {
            let end = if i == last { b'\n' } else { options.delimiter };
            let cell = cell_for(field, options, end);
            CsvColumn { cell, nulls: None, end }
        };
        let columns = schema.fields().iter().enumerate().map(column).collect();
        Self { columns, text: TextBuffer::default() }
    }

    /// Appends the header line.
    fn header(&mut self, schema: &SchemaRef, options: CsvOptions) {
        for (column, field) in self.columns.iter().zip(schema.fields()) {
            push_text(field.name().as_bytes(), options, &mut self.text);
            self.text.push(column.end);
        }
    }

    /// Appends the lines of `batch` to the text. With `staged`, long text is written there,
    /// also in the middle of a cell.
    fn write(
        &mut self,
        batch: &RecordBatch,
        mut staged: Option<&mut StagedFile>,
    ) -> Result<()> {
        for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
            column.nulls =
                values.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            column.cell.load(values)?;
        }
        for row in 0..batch.num_rows() {
            if let Some(staged) = &mut staged
                && self.text.as_bytes().len() >= PIECE_BYTES
            {
                self.hand_over(staged)?;
            }
            let mut is_passed_on = false;
            for column in &mut self.columns {
                if is_passed_on {
                    column.cell.forget();
                }
                let CsvColumn { cell, nulls, end } = column;
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    self.text.push(*end);
                } else if let Some(staged) = &mut staged
                    && cell.can_be_long()
                {
                    cell.write_in_pieces(row, &mut self.text, &mut |text| {
                        is_passed_on = true;
                        staged.write_all(text.as_bytes())?;
                        text.clear();
                        Ok(())
                    })?;
                } else {
                    cell.write(row, &mut self.text);
                }
            }
            if is_passed_on {
                self.columns.iter_mut().for_each(|column| column.cell.forget());
            }
        }
        self.columns.iter_mut().for_each(|column| column.cell.unload());
        Ok(())
    }

    /// Writes the text to `staged` and clears it.
    fn hand_over(&mut self, staged: &mut StagedFile) -> Result<()> {
        staged.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.columns.iter_mut().for_each(|column| column.cell.forget());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
