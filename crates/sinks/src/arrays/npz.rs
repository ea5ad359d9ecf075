//! Tables as NumPy's `.npz`: a zip file with an array for each column.
//!
//! Arrays have version 1.0 of the format in NumPy's documentation of `numpy.lib.format`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufReader, BufWriter, Read, Write},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use logtool_core::{Error, ErrorKind, Result, TableSink, TableWriter, Topic};
use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use crate::{
    arrays::{
        column::{ArrayColumn, ColumnData, IntegerReader, Strings},
        spill_file::{SpillFile, SpillStream},
        table::{ArrayTable, SinkState},
    },
    files::{
        deferred_error_writer::{DeferredErrorWriter, WriteFailure},
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    provenance::table_metadata,
    row_buffers::memory_budget::MemoryBudget,
};

/// Writes one `.npz` file for each topic, which `numpy.load` opens.
///
/// Arrays have the names of their columns; fields of a struct are named `a.b`.
///
/// - A list column is two arrays: `x` has the items of all rows, and `x.offsets` the index of
///   the first item of each row, and the number of all items at the end.
/// - Strings are an array of `str_`, in which each string is padded to the length of the longest.
///   They are lists of UTF-8 bytes instead if the padding takes much space, or if a string ends in
///   NUL, which `str_` drops. Byte strings are always lists.
/// - If a column has nulls, `x.valid` states which values are present. Missing floats are NaN and
///   missing times NaT instead.
/// - `logtool.metadata` is a string, a JSON object with the metadata of the topic.
#[derive(Debug)]
pub struct NpzSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    metadata: BTreeMap<String, String>,
    shared: SinkState,
}

impl NpzSink {
    /// Creates a sink that writes files with `names` among `outputs`, with `metadata` in each of
    /// them. It buffers at most `budget` of rows for each table.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        metadata: BTreeMap<String, String>,
        budget: MemoryBudget,
    ) -> Self {
        Self { outputs, names, metadata, shared: SinkState::new(budget) }
    }
}

impl TableSink for NpzSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let file = self.outputs.create(&self.names.file_name(topic, "npz"))?;
        let table = self.shared.table(&self.outputs, schema)?;
        let metadata = table_metadata(topic, &self.metadata);
        Ok(Box::new(NpzWriter { file, table, metadata }))
    }
}

struct NpzWriter {
    file: StagedFile,
    table: ArrayTable,
    metadata: BTreeMap<String, String>,
}

impl TableWriter for NpzWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.table.push(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.table.store_buffered()?;
        let buffered_file = BufWriter::with_capacity(256 << 10, self.file);
        let (output, failure) = DeferredErrorWriter::new(buffered_file);
        let mut npz = ArrayWriter {
            zip: ZipWriter::new(output),
            failure,
            names: BTreeSet::new(),
            spill_file: &self.table.spill_file,
        };
        for column in &self.table.columns {
            npz.write_column("", column, &[self.table.rows])?;
        }
        let metadata = serde_json::json!(self.metadata).to_string();
        npz.write_string("logtool.metadata", &metadata)?;
        let output = npz.zip.finish().map_err(from_zip)?;
        npz.failure.check()?;
        output.into_inner().into_inner().map_err(|err| err.into_error())?.finish()
    }
}

/// A writer of the arrays of one file.
struct ArrayWriter<'s> {
    zip: ZipWriter<DeferredErrorWriter<BufWriter<StagedFile>>>,
    failure: WriteFailure,
    /// The names of the arrays that were written.
    names: BTreeSet<String>,
    spill_file: &'s SpillFile,
}

/// Padded strings may take at most this many times the size of the strings.
const MAX_PADDED_RATIO: u64 = 16;
/// Padded strings may always take this many bytes.
const MIN_PADDED_BYTES: u64 = 1 << 20;

impl ArrayWriter<'_> {
    /// Writes the arrays of `column`, which is an array of values with the shape `outer_shape`.
    /// `prefix` is the name of the struct or list that contains the column.
    fn write_column(
        &mut self,
        prefix: &str,
        column: &ArrayColumn,
        outer_shape: &[u64],
    ) -> Result<()> {
        let name = match (prefix, column.name.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (prefix, name) => format!("{prefix}.{name}"),
        };
        let mut shape = outer_shape.to_vec();
        shape.extend(column.value_shape.iter().map(|dim| *dim as u64));
        match &column.data {
            ColumnData::Values(data_type, stream) => {
                self.write_array(&name, descr(data_type), &shape, stream)?;
            }
            ColumnData::Strings(strings) => {
                self.write_strings(&name, strings, &shape, column.count)?
            }
            ColumnData::Lists(ends, items) => {
                self.write_offsets(&name, ends, column.count)?;
                let item_count = items.count / scalar_count(&items.value_shape);
                self.write_column(&name, items, &[item_count])?;
            }
            ColumnData::Fields(fields) => {
                for field in fields {
                    self.write_column(&name, field, &shape)?;
                }
            }
        }
        match column.validity_array() {
            Some(validity) => {
                self.write_array(&format!("{name}.valid"), "|b1", &shape, validity)
            }
            None => Ok(()),
        }
    }

    /// Writes `strings`, either padded to the length of the longest string, or as lists of bytes.
    fn write_strings(
        &mut self,
        name: &str,
        strings: &Strings,
        shape: &[u64],
        count: u64,
    ) -> Result<()> {
        let max_chars = strings.max_chars.max(1);
        let padded_bytes = count.checked_mul(4 * max_chars as u64);
        let max_bytes =
            strings.bytes.len().saturating_mul(MAX_PADDED_RATIO).max(MIN_PADDED_BYTES);
        let array_bytes = match padded_bytes {
            Some(bytes)
                if strings.is_text && !strings.ends_in_nul && bytes <= max_bytes =>
            {
                bytes
            }
            _ => {
                self.write_offsets(name, &strings.ends, count)?;
                let len = strings.bytes.len();
                return self.write_array(name, "|u1", &[len], &strings.bytes);
            }
        };
        self.start_array(name, &format!("<U{max_chars}"), shape, array_bytes)?;
        let mut ends = IntegerReader::new(self.spill_file, &strings.ends);
        let mut bytes =
            BufReader::with_capacity(64 << 10, self.spill_file.read(&strings.bytes));
        let (mut start, mut utf8, mut utf32) = (0, Vec::new(), Vec::new());
        for _ in 0..count {
            let end = ends.next()?;
            utf8.resize((end - start) as usize, 0);
            bytes.read_exact(&mut utf8)?;
            utf32.clear();
            let text = String::from_utf8_lossy(&utf8);
            utf32.extend(text.chars().flat_map(|c| u32::from(c).to_le_bytes()));
            utf32.resize(max_chars * 4, 0);
            self.zip.write_all(&utf32)?;
            start = end;
        }
        Ok(())
    }

    /// Writes the start offsets of `count` lists that end at `ends`, and the end of the last.
    fn write_offsets(
        &mut self,
        name: &str,
        ends: &SpillStream,
        count: u64,
    ) -> Result<()> {
        let name = format!("{name}.offsets");
        self.start_array(&name, "<i8", &[count + 1], ends.len() + 8)?;
        self.zip.write_all(&[0; 8])?;
        Ok(copy_stream(self.spill_file, ends, &mut self.zip)?)
    }

    /// Writes an array of `values` of the NumPy type `descr`.
    fn write_array(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[u64],
        values: &SpillStream,
    ) -> Result<()> {
        self.start_array(name, descr, shape, values.len())?;
        Ok(copy_stream(self.spill_file, values, &mut self.zip)?)
    }

    /// Writes an array that contains one string.
    fn write_string(&mut self, name: &str, text: &str) -> Result<()> {
        let utf32: Vec<u8> =
            text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let descr = format!("<U{}", utf32.len() / 4);
        self.start_array(name, &descr, &[], utf32.len() as u64)?;
        Ok(self.zip.write_all(&utf32)?)
    }

    /// Starts the array `name` of `bytes` bytes. An underscore is appended to a name that is
    /// already used.
    fn start_array(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[u64],
        bytes: u64,
    ) -> Result<()> {
        let mut name = name.replace(['/', '\\'], "_");
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.failure.check()?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= u64::from(u32::MAX) - (64 << 10));
        self.zip.start_file(format!("{name}.npy"), options).map_err(from_zip)?;
        Ok(self.zip.write_all(&header(descr, shape))?)
    }
}

/// Returns the header of an array file.
fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let dims: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    let dims =
        if shape.len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let mut dict =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // Magic, version and length take 10 bytes; values start at a multiple of 64.
    while (10 + dict.len() + 1) % 64 != 0 {
        dict.push(' ');
    }
    dict.push('\n');
    let len = u16::try_from(dict.len()).unwrap_or(u16::MAX).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], dict.as_bytes()].concat()
}

/// Returns NumPy's name of a type.
fn descr(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "|b1",
        DataType::Int8 => "|i1",
        DataType::Int16 => "<i2",
        DataType::Int32 => "<i4",
        DataType::Int64 => "<i8",
        DataType::UInt8 => "|u1",
        DataType::UInt16 => "<u2",
        DataType::UInt32 => "<u4",
        DataType::UInt64 => "<u8",
        DataType::Float32 => "<f4",
        DataType::Float64 => "<f8",
        DataType::Duration(_) => "<m8[ns]",
        _ => "<M8[ns]",
    }
}

/// Returns the number of scalars in a value with the shape `value_shape`.
fn scalar_count(value_shape: &[usize]) -> u64 {
    value_shape.iter().map(|dim| *dim as u64).product::<u64>().max(1)
}

/// Copies `stream` to `output`.
fn copy_stream(
    spill_file: &SpillFile,
    stream: &SpillStream,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, spill_file.read(stream));
    io::copy(&mut reader, output)?;
    Ok(())
}

/// Converts an error of the zip crate that occurred while an array was written.
fn from_zip(err: ZipError) -> Error {
    match err {
        ZipError::Io(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "cannot write an npz file")
            .with_source(err),
    }
}

#[cfg(test)]
mod tests;
