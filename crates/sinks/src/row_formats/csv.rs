//! Tables as CSV, in the layout of pyulog's ulog2csv.
//!
//! A header line with the names of the columns is followed by a line for each row. Cells are quoted
//! as RFC 4180 requires, lines delimiter in `\n`. Times are integers in the unit of the log format,
//! or ISO 8601 if they are UTC. Floats are the shortest text that reads back as the same float, `NaN`,
//! `inf` or `-inf`.
//! Null values are empty cells; nested values are JSON text in one cell.
//!
//! ulog2csv is different: it prints booleans as numbers instead of `true` and `false`, never
//! quotes, and formats floats like numpy (`1e-05` instead of `1e-5`, `nan` instead of `NaN`).

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
            options::append_cell,
            scalar_cells::{BoolCell, NumberCell, TimeCell},
            text_cells::{BytesCell, JsonCell, LabelCell, TextCell},
        },
        json::FLUSH_BYTES,
    },
    text::{
        parallel_rows::format_in_parallel, text_buffer::TextBuffer,
        time_text::TimeFormat,
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
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let file = self.outputs.create(&self.names.file_name(topic, "csv"))?;
        Ok(Box::new(CsvWriter::new(file, schema, self.options)))
    }
}

/// Writes one CSV file.
struct CsvWriter {
    file: StagedFile,
    schema: SchemaRef,
    options: CsvOptions,
    encoder: CsvEncoder,
    /// The encoders of the slices of long batches.
    slice_encoders: Vec<CsvEncoder>,
}

impl CsvWriter {
    fn new(file: StagedFile, schema: &SchemaRef, options: CsvOptions) -> Self {
        let mut encoder = CsvEncoder::new(schema, options);
        encoder.append_header(schema, options);
        Self {
            file,
            schema: schema.clone(),
            options,
            encoder,
            slice_encoders: Vec::new(),
        }
    }
}

impl TableWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { file, schema, options, encoder, slice_encoders } = self;
        let is_written = format_in_parallel(
            batch,
            slice_encoders,
            || CsvEncoder::new(schema, *options),
            |slice_encoder, slice| slice_encoder.write(slice, None),
            |slice_encoder| {
                encoder.flush_text(file)?;
                slice_encoder.flush_text(file)
            },
        )?;
        if is_written { Ok(()) } else { encoder.write(batch, Some(file)) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.encoder.flush_text(&mut self.file)?;
        self.file.finish()
    }
}

/// Encodes the rows of a table as lines of text.
struct CsvEncoder {
    columns: Vec<CsvColumn>,
    text: TextBuffer,
}

struct CsvColumn {
    cell: Box<dyn Cell>,
    /// Whether a cell can be too long for one chunk.
    can_be_long: bool,
    nulls: Option<NullBuffer>,
    /// The byte after each cell: a comma, or a line end after the last column.
    delimiter: u8,
}

impl CsvEncoder {
    /// Creates an encoder for a table with the columns `schema`.
    fn new(schema: &SchemaRef, options: CsvOptions) -> Self {
        let last_index = schema.fields().len().saturating_sub(1);
        let new_column = |(index, field): (usize, &FieldRef)| {
            let delimiter = if index == last_index { b'\n' } else { b',' };
            let cell = cell_for(field, options, delimiter);
            CsvColumn { can_be_long: cell.can_be_long(), cell, nulls: None, delimiter }
        };
        let columns = schema.fields().iter().enumerate().map(new_column).collect();
        Self { columns, text: TextBuffer::default() }
    }

    /// Appends the header line.
    fn append_header(&mut self, schema: &SchemaRef, options: CsvOptions) {
        for (column, field) in self.columns.iter().zip(schema.fields()) {
            append_cell(field.name().as_bytes(), options, &mut self.text);
            self.text.push(column.delimiter);
        }
    }

    /// Appends the lines of `batch` to the text. If there is a `file`, long text is written to it,
    /// even in the middle of a cell.
    fn write(
        &mut self,
        batch: &RecordBatch,
        mut file: Option<&mut StagedFile>,
    ) -> Result<()> {
        for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
            column.nulls =
                values.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            column.cell.load(values)?;
        }
        for row in 0..batch.num_rows() {
            if let Some(file) = &mut file
                && self.text.as_bytes().len() >= FLUSH_BYTES
            {
                self.flush_text(file)?;
            }
            for column_index in 0..self.columns.len() {
                let column = &mut self.columns[column_index];
                if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    self.text.push(column.delimiter);
                } else if column.can_be_long
                    && let Some(file) = &mut file
                {
                    self.write_long_cell(column_index, row, file)?;
                } else {
                    column.cell.write(row, &mut self.text);
                }
            }
        }
        self.columns.iter_mut().for_each(|column| column.cell.release_values());
        Ok(())
    }

    /// Appends the cell of the row at index `row` in the column at `column_index`, and writes the
    /// text to `file` whenever it is long.
    fn write_long_cell(
        &mut self,
        column_index: usize,
        row: usize,
        file: &mut StagedFile,
    ) -> Result<()> {
        let mut is_text_cleared = false;
        let cell = &mut self.columns[column_index].cell;
        cell.write_in_chunks(row, &mut self.text, &mut |text| {
            is_text_cleared = true;
            file.write_all(text.as_bytes())?;
            text.clear();
            Ok(())
        })?;
        if is_text_cleared {
            self.columns.iter_mut().for_each(|column| column.cell.clear_text_ranges());
        }
        Ok(())
    }

    /// Writes the text to `file` and clears it.
    fn flush_text(&mut self, file: &mut StagedFile) -> Result<()> {
        file.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.columns.iter_mut().for_each(|column| column.cell.clear_text_ranges());
        Ok(())
    }
}

/// Creates the encoder of the cells of the column `field`, each followed by `delimiter`.
fn cell_for(field: &Field, options: CsvOptions, delimiter: u8) -> Box<dyn Cell> {
    macro_rules! number {
        ($type:ty) => {
            Box::new(NumberCell::<$type>::new(options.special_floats(), delimiter))
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
        DataType::Boolean => Box::new(BoolCell::new(delimiter)),
        DataType::Utf8 => Box::new(TextCell::<i32>::new(options, delimiter)),
        DataType::LargeUtf8 => Box::new(TextCell::<i64>::new(options, delimiter)),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            Box::new(BytesCell::new(delimiter))
        }
        DataType::Dictionary(_, names) if **names == DataType::Utf8 => {
            Box::new(LabelCell::new(options, delimiter))
        }
        _ => match TimeFormat::for_field(field) {
            Some(format) => Box::new(TimeCell::new(format, delimiter)),
            None => Box::new(JsonCell::new(field, options, delimiter)),
        },
    }
}

#[cfg(test)]
mod tests;
