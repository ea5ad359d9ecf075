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
            element::{MatrixClass, characters, container, frame, length},
            names::VariableNames,
            values::{ValueReader, class, row_major_index, with_dims},
        },
        spill::{Spill, SpillStream},
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
///   hexadecimal digits, because SciPy and MATLAB read no other form in the same way.
/// - Lists are cell arrays whose elements have the form of a column of the items; byte strings
///   are cell arrays of `uint8`.
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
    staged: Mutex<Option<StagedFile>>,
    done: Arc<Mutex<Vec<FinishedTable>>>,
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
            staged: Mutex::default(),
            done: Arc::default(),
            escaped_characters: AtomicU64::new(0),
        }
    }
}

impl TableSink for MatSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let mut staged = self.staged.lock();
        if staged.is_none() {
            *staged = Some(self.outputs.create(&self.file_name)?);
        }
        let table = self.shared.table(&self.outputs, schema)?;
        let done = self.done.clone();
        Ok(Box::new(MatTable {
            done,
            table: FinishedTable { topic: topic.clone(), table },
        }))
    }

    fn finish(&self) -> Result<()> {
        let staged = self.staged.lock().take();
        let Some(staged) = staged else { return Ok(()) };
        let mut tables = std::mem::take(&mut *self.done.lock());
        tables.sort_by(|a, b| a.topic.label().cmp(&b.topic.label()));
        let out = BufWriter::with_capacity(256 << 10, staged);
        let mut mat = ElementWriter {
            out,
            position: 0,
            escaped_characters: &self.escaped_characters,
        };
        mat.write(&header())?;
        let mut names = VariableNames::default();
        let namespace = names.unique_name("logtool");
        let mut topics = BTreeMap::new();
        for FinishedTable { topic, table } in &tables {
            let name = names.unique_name(&topic.label());
            mat.table(&name, table).map_err(|err| with_context(&topic.label(), err))?;
            topics.insert(name, table_metadata(topic, &BTreeMap::new()));
        }
        let metadata = json!({ "log": self.metadata, "topics": topics });
        mat.write(&characters(
            &namespace,
            &utf16::escape_json(&metadata.to_string()),
        )?)?;
        mat.out.into_inner().map_err(|err| err.into_error())?.finish()
    }

    fn remarks(&self) -> Vec<String> {
        let count = self.escaped_characters.load(Ordering::Relaxed);
        let characters = if count == 1 { "character" } else { "characters" };
        let remark =
            format!("{count} {characters} beyond U+FFFF written as \\U and 8 digits");
        if count > 0 { vec![remark] } else { Vec::new() }
    }
}

struct MatTable {
    done: Arc<Mutex<Vec<FinishedTable>>>,
    table: FinishedTable,
}

impl TableWriter for MatTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.table.table.push(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.table.table.store()?;
        self.done.lock().push(self.table);
        Ok(())
    }
}

/// The 128 bytes of the file header. (Other writers also put the date into its text.)
fn header() -> Vec<u8> {
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
    out: BufWriter<StagedFile>,
    position: u64,
    escaped_characters: &'m AtomicU64,
}

/// How much memory may be used to transpose rows into columns.
const TRANSPOSE_BYTES: u64 = 16 << 20;

impl ElementWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes a container: its header `header`, then the elements that `write_content` writes.
    fn write_container(
        &mut self,
        header: &[u8],
        write_content: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let start = self.position;
        self.write(header)?;
        write_content(self)?;
        let len = length(self.position - start)?;
        self.out.seek(SeekFrom::Start(start + 4))?;
        self.out.write_all(&len)?;
        self.out.seek(SeekFrom::Start(self.position))?;
        Ok(())
    }

    fn table(&mut self, name: &str, table: &ArrayTable) -> Result<()> {
        self.structure(name, &table.columns, &[table.rows], &table.spill)
    }

    /// Writes a struct of `columns` whose values have the outer dimensions `outer`.
    fn structure(
        &mut self,
        name: &str,
        columns: &[ArrayColumn],
        outer: &[u64],
        spill: &Spill,
    ) -> Result<()> {
        let mut names = VariableNames::default();
        let mut fields: Vec<String> =
            columns.iter().map(|column| names.unique_name(&column.name)).collect();
        let valid = columns.iter().filter_map(|c| Some((c, c.validity_array()?)));
        let valid: Vec<(&ArrayColumn, &SpillStream)> = valid.collect();
        fields.extend(
            valid.iter().map(|(c, _)| names.unique_name(&format!("{}_valid", c.name))),
        );
        let header = container(name, MatrixClass::Struct, &[1, 1], &fields)?;
        self.write_container(&header, |mat| {
            for column in columns {
                mat.column(column, outer, spill)
                    .map_err(|err| with_context(&column.name, err))?;
            }
            for (column, stream) in valid {
                let shape = with_dims(outer, &column.dims);
                mat.numbers(MatrixClass::Logical, 1, stream, &shape, spill)?;
            }
            Ok(())
        })
    }

    fn column(
        &mut self,
        column: &ArrayColumn,
        outer: &[u64],
        spill: &Spill,
    ) -> Result<()> {
        let shape = with_dims(outer, &column.dims);
        match &column.body {
            ColumnData::Values(data_type, stream) => self.numbers(
                class(data_type),
                ArrayColumn::width(data_type),
                stream,
                &shape,
                spill,
            ),
            ColumnData::Fields(fields) => self.structure("", fields, &shape, spill),
            ColumnData::Strings(_) | ColumnData::Lists(..)
                if column.dims.is_empty() && outer.len() == 1 =>
            {
                let header = container("", MatrixClass::Cell, &shape, &[])?;
                let mut values =
                    ValueReader::new(column, spill, self.escaped_characters);
                self.write_container(&header, |mat| {
                    (0..column.count).try_for_each(|_| mat.write(&values.read_cell()?))
                })
            }
            ColumnData::Strings(_) | ColumnData::Lists(..) => {
                let matrix = ValueReader::new(column, spill, self.escaped_characters)
                    .read_matrix(&shape)?;
                self.write(&matrix)
            }
        }
    }

    /// Writes a matrix of numbers of `width` bytes each. `stream` has them row by row; the file
    /// needs them column by column.
    fn numbers(
        &mut self,
        class: MatrixClass,
        width: usize,
        stream: &SpillStream,
        shape: &[u64],
        spill: &Spill,
    ) -> Result<()> {
        let frame = frame("", class, shape, stream.len())?;
        self.write(&frame.header)?;
        let (rows, dims) =
            shape.split_first().map_or((0, shape), |(rows, dims)| (*rows, dims));
        let each = dims.iter().product::<u64>();
        let row_bytes = usize::try_from(each).unwrap_or(0) * width;
        // A group of columns is collected in each pass over the rows.
        let group = TRANSPOSE_BYTES / (rows * width as u64).max(1);
        let mut first = 0;
        while first < each {
            let last = each.min(first + group.max(1));
            let indices =
                (first..last).map(|nth| row_major_index(dims, nth) as usize * width);
            let mut columns: Vec<_> =
                indices.map(|index| (index, Vec::new())).collect();
            let reader = spill.read(stream, 0);
            let mut reader = BufReader::with_capacity(256 << 10, reader);
            let mut row = vec![0; row_bytes];
            for _ in 0..rows {
                reader.read_exact(&mut row)?;
                for (index, column) in &mut columns {
                    let value = row.get(*index..*index + width).unwrap_or_default();
                    match group {
                        0 | 1 => self.write(value)?,
                        _ => column.extend_from_slice(value),
                    }
                }
            }
            columns.iter().try_for_each(|(_, column)| self.write(column))?;
            first = last;
        }
        self.write(&vec![0; frame.padding])
    }
}

/// Adds `context` to the message of `err`.
fn with_context(context: &str, err: Error) -> Error {
    Error::new(err.kind(), format!("{context} in a MATLAB file")).with_source(err)
}

#[cfg(test)]
mod tests;
