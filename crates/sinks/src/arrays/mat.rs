//! Tables as a MATLAB file with one struct for each topic (version 5, which every reader of
//! MATLAB files supports).

mod element;
mod names;
mod utf16;
mod values;

use std::{
    collections::BTreeMap,
    io::{BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Error, Result, TableSink, TableWriter, Topic};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    arrays::{
        column::{ArrayColumn, ColumnData},
        mat::{
            element::{
                MatrixClass, characters, container_header, encode_length, matrix_frame,
            },
            names::VariableNames,
            values::{ValueReader, class, concat_shapes, row_major_index},
        },
        spill_file::{SpillFile, SpillStream},
        table::{ArrayTable, SinkState},
    },
    files::staged_outputs::{Outputs, StagedFile},
    provenance::table_metadata,
    row_buffers::memory_budget::MemoryBudget,
};

/// Writes one MATLAB file that `load` opens, with a struct for each topic.
///
/// The fields of a struct are the columns, with a row for each record:
///
/// - Numbers are matrices; times are matrices of `int64` nanoseconds.
/// - Structs are nested structs.
/// - Strings are cell arrays of `char`. A character above U+FFFF is written as `\U` and eight
///   hexadecimal digits, because SciPy and MATLAB read such characters differently.
/// - Lists are cell arrays. Each element has the form of a column of the items of that list. Byte
///   strings are cell arrays of `uint8`.
///
/// Names are converted to valid MATLAB names: `/a/b` becomes `a_b`. If a column has nulls,
/// `x_valid` states which values are present. The variable `logtool` contains the metadata of
/// the log and of each topic as JSON, e.g. the original name of the topic. The format limits a
/// topic to 2 GB; a larger topic is an error.
#[derive(Debug)]
pub struct MatSink {
    outputs: Arc<Outputs>,
    file_name: String,
    metadata: BTreeMap<String, String>,
    shared: SinkState,
    file: Mutex<Option<StagedFile>>,
    finished_tables: Arc<Mutex<Vec<FinishedTable>>>,
    /// The number of characters that were written as hexadecimal digits.
    escaped_characters: AtomicU64,
}

/// A table whose rows are all in the temporary file.
#[derive(Debug)]
struct FinishedTable {
    topic: Topic,
    table: ArrayTable,
}

impl MatSink {
    /// Creates a sink that writes the file `file_name` among `outputs`, with `metadata` in it.
    /// It buffers at most `budget` of rows for each table.
    pub fn new(
        outputs: Arc<Outputs>,
        file_name: String,
        metadata: BTreeMap<String, String>,
        budget: MemoryBudget,
    ) -> Self {
        Self {
            outputs,
            file_name,
            metadata,
            shared: SinkState::new(budget),
            file: Mutex::default(),
            finished_tables: Arc::default(),
            escaped_characters: AtomicU64::new(0),
        }
    }
}

impl TableSink for MatSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let mut file = self.file.lock();
        if file.is_none() {
            *file = Some(self.outputs.create(&self.file_name)?);
        }
        let table = self.shared.table(&self.outputs, schema)?;
        let finished_tables = self.finished_tables.clone();
        Ok(Box::new(MatTable {
            finished_tables,
            table: FinishedTable { topic: topic.clone(), table },
        }))
    }

    fn finish(&self) -> Result<()> {
        let Some(file) = self.file.lock().take() else { return Ok(()) };
        let mut tables = std::mem::take(&mut *self.finished_tables.lock());
        tables.sort_by(|a, b| a.topic.label().cmp(&b.topic.label()));
        let mut mat = ElementWriter {
            file: BufWriter::with_capacity(256 << 10, file),
            position: 0,
            escaped_characters: &self.escaped_characters,
        };
        mat.write(&file_header())?;
        let mut names = VariableNames::default();
        let metadata_name = names.unique_name("logtool");
        let mut topics = BTreeMap::new();
        for FinishedTable { topic, table } in &tables {
            let name = names.unique_name(&topic.label());
            mat.write_struct(&name, &table.columns, &[table.rows], &table.spill_file)
                .map_err(|err| with_context(&topic.label(), err))?;
            topics.insert(name, table_metadata(topic, &BTreeMap::new()));
        }
        let metadata = json!({ "log": self.metadata, "topics": topics }).to_string();
        mat.write(&characters(&metadata_name, &utf16::escape_json(&metadata))?)?;
        mat.file.into_inner().map_err(|err| err.into_error())?.finish()
    }

    fn remarks(&self) -> Vec<String> {
        let count = self.escaped_characters.load(Ordering::Relaxed);
        if count == 0 {
            return Vec::new();
        }
        let characters = if count == 1 { "character" } else { "characters" };
        vec![format!("{count} {characters} beyond U+FFFF written as \\U and 8 digits")]
    }
}

struct MatTable {
    finished_tables: Arc<Mutex<Vec<FinishedTable>>>,
    table: FinishedTable,
}

impl TableWriter for MatTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.table.table.push(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.table.table.store_buffered()?;
        self.finished_tables.lock().push(self.table);
        Ok(())
    }
}

/// Returns the 128 bytes of the file header. Its text does not contain the date, unlike that of
/// other writers, so that the same log always becomes the same file.
fn file_header() -> Vec<u8> {
    let mut text =
        format!("MATLAB 5.0 MAT-file, Created by: {}", crate::provenance::CREATED_BY);
    text.truncate(116);
    let mut bytes = format!("{text:116}").into_bytes();
    bytes.extend([0; 8]);
    bytes.extend(0x0100_u16.to_le_bytes());
    bytes.extend(b"IM"); // "MI" with its bytes swapped means little-endian.
    bytes
}

/// A writer of the elements of a MATLAB file.
struct ElementWriter<'m> {
    file: BufWriter<StagedFile>,
    /// The offset of the next element.
    position: u64,
    escaped_characters: &'m AtomicU64,
}

/// How much memory may be used to transpose a matrix.
const TRANSPOSE_BYTES: u64 = 16 << 20;

impl ElementWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes a cell array or a struct: its `header`, then the elements that `write_content`
    /// writes.
    fn write_container(
        &mut self,
        header: &[u8],
        write_content: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let start = self.position;
        self.write(header)?;
        write_content(self)?;
        let len = encode_length(self.position - start)?;
        self.file.seek(SeekFrom::Start(start + 4))?;
        self.file.write_all(&len)?;
        self.file.seek(SeekFrom::Start(self.position))?;
        Ok(())
    }

    /// Writes a struct of `columns`. The values of each are an array with the shape
    /// `outer_shape`. For a table, this is the number of rows.
    fn write_struct(
        &mut self,
        name: &str,
        columns: &[ArrayColumn],
        outer_shape: &[u64],
        spill_file: &SpillFile,
    ) -> Result<()> {
        let mut names = VariableNames::default();
        let mut field_names: Vec<String> =
            columns.iter().map(|column| names.unique_name(&column.name)).collect();
        let mut validity_arrays = Vec::new();
        for column in columns {
            if let Some(validity) = column.validity_array() {
                field_names.push(names.unique_name(&format!("{}_valid", column.name)));
                validity_arrays.push((column, validity));
            }
        }
        let header =
            container_header(name, MatrixClass::Struct, &[1, 1], &field_names)?;
        self.write_container(&header, |mat| {
            for column in columns {
                mat.write_column(column, outer_shape, spill_file)
                    .map_err(|err| with_context(&column.name, err))?;
            }
            for (column, validity) in validity_arrays {
                let shape = concat_shapes(outer_shape, &column.value_shape);
                mat.write_numbers(
                    MatrixClass::Logical,
                    1,
                    validity,
                    &shape,
                    spill_file,
                )?;
            }
            Ok(())
        })
    }

    /// Writes `column`, which is an array of values with the shape `outer_shape`.
    fn write_column(
        &mut self,
        column: &ArrayColumn,
        outer_shape: &[u64],
        spill_file: &SpillFile,
    ) -> Result<()> {
        let shape = concat_shapes(outer_shape, &column.value_shape);
        match &column.data {
            ColumnData::Values(data_type, stream) => self.write_numbers(
                class(data_type),
                ArrayColumn::width(data_type),
                stream,
                &shape,
                spill_file,
            ),
            ColumnData::Fields(fields) => {
                self.write_struct("", fields, &shape, spill_file)
            }
            // One dimension: the values are written in the order in which they are read.
            ColumnData::Strings(_) | ColumnData::Lists(..)
                if column.value_shape.is_empty() && outer_shape.len() == 1 =>
            {
                let header = container_header("", MatrixClass::Cell, &shape, &[])?;
                let mut values =
                    ValueReader::new(column, spill_file, self.escaped_characters);
                self.write_container(&header, |mat| {
                    (0..column.count).try_for_each(|_| mat.write(&values.read_cell()?))
                })
            }
            ColumnData::Strings(_) | ColumnData::Lists(..) => {
                let matrix =
                    ValueReader::new(column, spill_file, self.escaped_characters)
                        .read_matrix(&shape)?;
                self.write(&matrix)
            }
        }
    }

    /// Writes a matrix of numbers of `width` bytes each. They are in row-major order in `stream`,
    /// and in column-major order in the MATLAB file.
    fn write_numbers(
        &mut self,
        class: MatrixClass,
        width: usize,
        stream: &SpillStream,
        shape: &[u64],
        spill_file: &SpillFile,
    ) -> Result<()> {
        let matrix_frame = matrix_frame("", class, shape, stream.len())?;
        self.write(&matrix_frame.header)?;
        let (rows, row_shape) = match shape.split_first() {
            Some((rows, row_shape)) => (*rows, row_shape),
            None => (0, shape),
        };
        let column_count = row_shape.iter().product::<u64>();
        let row_bytes = usize::try_from(column_count).unwrap_or(0) * width;
        // Each pass over all rows collects a group of columns. If a single column is too long for
        // the memory, it is written directly.
        let columns_per_pass = TRANSPOSE_BYTES / (rows * width as u64).max(1);
        let mut first_column = 0;
        while first_column < column_count {
            let end_column = column_count.min(first_column + columns_per_pass.max(1));
            // The offset of each column in a row, and its values.
            let mut columns: Vec<(usize, Vec<u8>)> = (first_column..end_column)
                .map(|column| row_major_index(row_shape, column) as usize * width)
                .map(|offset| (offset, Vec::new()))
                .collect();
            let mut reader =
                BufReader::with_capacity(256 << 10, spill_file.read(stream));
            let mut row = vec![0; row_bytes];
            for _ in 0..rows {
                reader.read_exact(&mut row)?;
                for (offset, values) in &mut columns {
                    let value = row.get(*offset..*offset + width).unwrap_or_default();
                    if columns_per_pass <= 1 {
                        self.write(value)?;
                    } else {
                        values.extend_from_slice(value);
                    }
                }
            }
            columns.iter().try_for_each(|(_, values)| self.write(values))?;
            first_column = end_column;
        }
        self.write(&vec![0; matrix_frame.padding])
    }
}

/// Adds `context` to the message of `err`.
fn with_context(context: &str, err: Error) -> Error {
    Error::new(err.kind(), format!("{context} in a MATLAB file")).with_source(err)
}

#[cfg(test)]
mod tests;
