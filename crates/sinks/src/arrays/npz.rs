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
        spill::{Spill, SpillStream},
        table::{ArrayTable, SinkState},
    },
    files::{
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
/// - Strings are an array of `str_`. They are lists of UTF-8 bytes instead if padding to the
///   longest string takes much more space than the strings, or if one ends in NUL, which `str_`
///   drops. Byte strings are always lists.
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
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "npz"))?;
        let table = self.shared.table(&self.outputs, schema)?;
        let metadata = table_metadata(topic, &self.metadata);
        Ok(Box::new(NpzWriter { staged, table, metadata }))
    }
}

struct NpzWriter {
    staged: StagedFile,
    table: ArrayTable,
    metadata: BTreeMap<String, String>,
}

impl TableWriter for NpzWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.table.push(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.table.store()?;
        let out = BufWriter::with_capacity(256 << 10, self.staged);
        let (zip, names) = (ZipWriter::new(out), BTreeSet::new());
        let mut npz = ArrayWriter { zip, names, spill: &self.table.spill };
        for column in &self.table.columns {
            npz.column("", column, &[self.table.rows])?;
        }
        npz.text("logtool.metadata", &serde_json::json!(self.metadata).to_string())?;
        let out = npz.zip.finish().map_err(from_zip)?;
        out.into_inner().map_err(|err| err.into_error())?.finish()
    }
}

/// A writer of the arrays of one file.
struct ArrayWriter<'s> {
    zip: ZipWriter<BufWriter<StagedFile>>,
    names: BTreeSet<String>,
    spill: &'s Spill,
}

/// Padded strings may take this many times the size of the strings, or this many bytes.
const MAX_PADDING: u64 = 16;
const ALWAYS_PADDED: u64 = 1 << 20;

impl ArrayWriter<'_> {
    /// Writes the arrays of `column`, whose values have the outer dimensions `outer`.
    fn column(
        &mut self,
        prefix: &str,
        column: &ArrayColumn,
        outer: &[u64],
    ) -> Result<()> {
        let name = match (prefix, column.name.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (prefix, name) => format!("{prefix}.{name}"),
        };
        let mut shape = outer.to_vec();
        shape.extend(column.dims.iter().map(|dim| *dim as u64));
        match &column.body {
            ColumnData::Values(data_type, stream) => {
                self.array(&name, descr(data_type), &shape, stream)?;
            }
            ColumnData::Strings(texts) => {
                self.texts(&name, texts, &shape, column.count)?
            }
            ColumnData::Lists(ends, items) => {
                self.offsets(&name, ends, column.count)?;
                self.column(&name, items, &[items.count / size(&items.dims)])?;
            }
            ColumnData::Fields(fields) => {
                for field in fields {
                    self.column(&name, field, &shape)?;
                }
            }
        }
        match column.validity_array() {
            Some(valid) => self.array(&format!("{name}.valid"), "|b1", &shape, valid),
            None => Ok(()),
        }
    }

    /// Writes `texts` padded to the length of the longest, or as lists of bytes.
    fn texts(
        &mut self,
        name: &str,
        strings: &Strings,
        shape: &[u64],
        count: u64,
    ) -> Result<()> {
        let width = strings.longest.max(1) as u64 * 4;
        let padded = count.checked_mul(width);
        let max_bytes =
            (strings.bytes.len().saturating_mul(MAX_PADDING)).max(ALWAYS_PADDED);
        let fits = padded.is_some_and(|padded| padded <= max_bytes);
        if !strings.is_text || strings.has_nul || !fits {
            self.offsets(name, &strings.ends, count)?;
            return self.array(name, "|u1", &[strings.bytes.len()], &strings.bytes);
        }
        let longest = strings.longest.max(1);
        self.start_array(name, &format!("<U{longest}"), shape, padded.unwrap_or(0))?;
        let mut ends = IntegerReader::new(self.spill, &strings.ends, 0);
        let mut bytes =
            BufReader::with_capacity(64 << 10, self.spill.read(&strings.bytes, 0));
        let (mut start, mut text, mut wide) = (0, Vec::new(), Vec::new());
        for _ in 0..count {
            let end = ends.next()?;
            text.resize((end - start) as usize, 0);
            bytes.read_exact(&mut text)?;
            wide.clear();
            let chars = String::from_utf8_lossy(&text);
            wide.extend(chars.chars().flat_map(|c| u32::from(c).to_le_bytes()));
            wide.resize(longest * 4, 0);
            self.zip.write_all(&wide)?;
            start = end;
        }
        Ok(())
    }

    /// Writes the start offsets of the lists that end at `ends`.
    fn offsets(&mut self, name: &str, ends: &SpillStream, count: u64) -> Result<()> {
        let name = format!("{name}.offsets");
        self.start_array(&name, "<i8", &[count + 1], ends.len() + 8)?;
        self.zip.write_all(&[0; 8])?;
        Ok(copy(self.spill, ends, &mut self.zip)?)
    }

    fn array(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[u64],
        values: &SpillStream,
    ) -> Result<()> {
        self.start_array(name, descr, shape, values.len())?;
        Ok(copy(self.spill, values, &mut self.zip)?)
    }

    /// Writes an array that contains one string.
    fn text(&mut self, name: &str, text: &str) -> Result<()> {
        let chars: Vec<u8> =
            text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        self.start_array(
            name,
            &format!("<U{}", chars.len() / 4),
            &[],
            chars.len() as u64,
        )?;
        Ok(self.zip.write_all(&chars)?)
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

/// Returns the number of values in each row.
fn size(dims: &[usize]) -> u64 {
    dims.iter().map(|dim| *dim as u64).product::<u64>().max(1)
}

fn copy(spill: &Spill, stream: &SpillStream, out: &mut impl Write) -> io::Result<()> {
    io::copy(&mut BufReader::with_capacity(256 << 10, spill.read(stream, 0)), out)?;
    Ok(())
}

fn from_zip(err: ZipError) -> Error {
    match err {
        ZipError::Io(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "cannot write an npz file")
            .with_source(err),
    }
}

#[cfg(test)]
mod tests;
