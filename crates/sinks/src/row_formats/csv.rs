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
mod options;
mod scalar_cells;
mod text_cells;

use std::{io::Write as _, sync::Arc};

use arrow_array::{Array as _, RecordBatch, types::*};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use logtool_core::{Result, TableSink, TableWriter, Topic};

use crate::{
    files::{
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    row_formats::{
        csv::{
            cell::Cell,
            options::push_text,
            scalar_cells::{BoolCell, NumberCell, TimeCell},
            text_cells::{BytesCell, JsonCell, LabelCell, TextCell},
        },
        json::PIECE_BYTES,
    },
    text::{
        parallel_rows::format_in_parallel, text_buffer::TextBuffer, time_text::TimeForm,
    },
};

pub use crate::row_formats::csv::options::CsvOptions;

/// Writes one CSV file for each topic.
#[derive(Clone, Debug)]
pub struct CsvSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    options: CsvOptions,
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
    slice_rows: Vec<CsvRows>,
}

impl CsvWriter {
    fn new(staged: StagedFile, schema: &SchemaRef, options: CsvOptions) -> Self {
        let mut rows = CsvRows::new(schema, options);
        rows.header(schema, options);
        Self { staged, schema: schema.clone(), options, rows, slice_rows: Vec::new() }
    }
}

impl TableWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { staged, schema, options, rows, slice_rows } = self;
        let is_written = format_in_parallel(
            batch,
            slice_rows,
            || CsvRows::new(schema, *options),
            |rows, slice| rows.write(slice, None),
            |lines| {
                rows.flush_text(staged)?;
                lines.flush_text(staged)
            },
        )?;
        if is_written { Ok(()) } else { rows.write(batch, Some(staged)) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.rows.flush_text(&mut self.staged)?;
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
    /// Whether one cell can be so long that it is written in pieces.
    can_be_long: bool,
    nulls: Option<NullBuffer>,
    end: u8,
}

impl CsvRows {
    /// Creates an encoder for a table with the columns `schema`.
    fn new(schema: &SchemaRef, options: CsvOptions) -> Self {
        let last = schema.fields().len().saturating_sub(1);
        let column = |(i, field): (usize, &FieldRef)| {
            let end = if i == last { b'\n' } else { b',' };
            let cell = cell_for(field, options, end);
            CsvColumn { can_be_long: cell.can_be_long(), cell, nulls: None, end }
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
                self.flush_text(staged)?;
            }
            for index in 0..self.columns.len() {
                let column = &mut self.columns[index];
                if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    self.text.push(column.end);
                } else if column.can_be_long
                    && let Some(staged) = &mut staged
                {
                    self.write_long_cell(index, row, staged)?;
                } else {
                    column.cell.write(row, &mut self.text);
                }
            }
        }
        self.columns.iter_mut().for_each(|column| column.cell.release_values());
        Ok(())
    }

    /// Appends the cell of row `row` in the column at `index`, and writes the text to `staged`
    /// whenever it is long.
    fn write_long_cell(
        &mut self,
        index: usize,
        row: usize,
        staged: &mut StagedFile,
    ) -> Result<()> {
        let mut is_text_cleared = false;
        let cell = &mut self.columns[index].cell;
        cell.write_in_pieces(row, &mut self.text, &mut |text| {
            is_text_cleared = true;
            staged.write_all(text.as_bytes())?;
            text.clear();
            Ok(())
        })?;
        if is_text_cleared {
            self.columns.iter_mut().for_each(|column| column.cell.forget_positions());
        }
        Ok(())
    }

    /// Writes the text to `staged` and clears it.
    fn flush_text(&mut self, staged: &mut StagedFile) -> Result<()> {
        staged.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.columns.iter_mut().for_each(|column| column.cell.forget_positions());
        Ok(())
    }
}

/// Creates the cells of the column `field`, each followed by `end`.
fn cell_for(field: &Field, options: CsvOptions, end: u8) -> Box<dyn Cell> {
    macro_rules! number {
        ($type:ty) => {
            Box::new(NumberCell::<$type>::new(end))
        };
    }
    match field.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => Box::new(BoolCell::new(end)),
        DataType::Utf8 => Box::new(TextCell::<i32>::new(options, end)),
        DataType::LargeUtf8 => Box::new(TextCell::<i64>::new(options, end)),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            Box::new(BytesCell::new(end))
        }
        DataType::Dictionary(_, names) if **names == DataType::Utf8 => {
            Box::new(LabelCell::new(options, end))
        }
        _ => match TimeForm::for_field(field) {
            Some(form) => Box::new(TimeCell::new(form, end)),
            None => Box::new(JsonCell::new(field, options, end)),
        },
    }
}

#[cfg(test)]
mod tests;
