//! The records of a file, which are compressed in chunks for LAZ.
//!
//! Several chunks are compressed in parallel. As specified for LAZ, the first 8 bytes of the point
//! data are the position of the table of chunks, which follows the last chunk.

use std::{
    io::{Seek as _, SeekFrom, Write as _},
    sync::Arc,
};

use laz::{
    LasZipError, LazVlr, LazVlrBuilder,
    laszip::{ChunkTable, ChunkTableEntry},
    record::{RecordCompressor as _, SequentialPointRecordCompressor},
};
use logtool_core::{Error, ErrorKind, Result, TaskQueue};

use crate::points::file::PointOutput;

/// The maximum number of chunks that are compressed at the same time, a few megabytes each.
const MAX_TASKS: usize = 16;

/// The records that are being written.
pub(crate) enum PointData {
    Plain(PointOutput),
    Compressed(CompressedData),
}

/// The compressed records that are being written.
pub(crate) struct CompressedData {
    output: PointOutput,
    record: Arc<LazVlr>,
    chunk_len: usize,
    /// The position of the first 8 bytes.
    start: u64,
    /// The records of the chunk that is not complete.
    chunk: Vec<u8>,
    tasks: TaskQueue<Result<Vec<u8>>>,
    table: ChunkTable,
}

impl PointData {
    /// Starts the records of `record_len` bytes at the end of `output`. They are compressed as
    /// `laz_record` describes, if there is one.
    pub(crate) fn new(
        mut output: PointOutput,
        laz_record: Option<LazVlr>,
        record_len: usize,
    ) -> Result<Self> {
        let Some(record) = laz_record else { return Ok(Self::Plain(output)) };
        let start = output.stream_position()?;
        output.write_all(&[0; ChunkTable::OFFSET_SIZE])?;
        let width = (rayon::current_num_threads() + 1).min(MAX_TASKS);
        Ok(Self::Compressed(CompressedData {
            output,
            chunk_len: record.chunk_size() as usize * record_len,
            record: Arc::new(record),
            start,
            chunk: Vec::new(),
            tasks: TaskQueue::with_width(width),
            table: ChunkTable::default(),
        }))
    }

    pub(crate) fn write(&mut self, records: &[u8]) -> Result<()> {
        match self {
            Self::Plain(output) => Ok(output.write_all(records)?),
            Self::Compressed(data) => data.write(records),
        }
    }

    pub(crate) fn finish(self) -> Result<PointOutput> {
        match self {
            Self::Plain(output) => Ok(output),
            Self::Compressed(data) => data.finish(),
        }
    }
}

impl CompressedData {
    fn write(&mut self, mut records: &[u8]) -> Result<()> {
        while !records.is_empty() {
            let missing_len = self.chunk_len - self.chunk.len();
            let (start, rest) = records.split_at(missing_len.min(records.len()));
            self.chunk.extend_from_slice(start);
            records = rest;
            if self.chunk.len() == self.chunk_len {
                self.start_task();
                if let Some(compressed) = self.tasks.next() {
                    self.write_chunk(&compressed?)?;
                }
            }
        }
        Ok(())
    }

    /// Starts to compress the current chunk.
    fn start_task(&mut self) {
        let (chunk, record) = (std::mem::take(&mut self.chunk), self.record.clone());
        self.tasks.push(move || compress(&chunk, &record).map_err(from_laz_error));
    }

    fn write_chunk(&mut self, compressed: &[u8]) -> Result<()> {
        let byte_count = compressed.len() as u64;
        let point_count = u64::from(self.record.chunk_size());
        self.table.push(ChunkTableEntry { point_count, byte_count });
        Ok(self.output.write_all(compressed)?)
    }

    fn finish(mut self) -> Result<PointOutput> {
        if !self.chunk.is_empty() {
            self.start_task();
        }
        while let Some(compressed) = self.tasks.wait() {
            self.write_chunk(&compressed?)?;
        }
        let end = self.output.stream_position()?;
        self.output.seek(SeekFrom::Start(self.start))?;
        self.output.write_all(&end.to_le_bytes())?;
        self.output.seek(SeekFrom::Start(end))?;
        self.table.write_to(&mut self.output, &self.record)?;
        Ok(self.output)
    }
}

/// Returns the description of the compression of records of `point_format` with this number of
/// extra bytes.
pub(crate) fn laz_record(point_format: u8, extra_bytes: usize) -> Result<LazVlr> {
    let builder = LazVlrBuilder::default();
    let builder = builder.with_point_format(point_format, extra_bytes as u16);
    Ok(builder.map_err(from_laz_error)?.build())
}

fn compress(records: &[u8], record: &LazVlr) -> laz::Result<Vec<u8>> {
    let mut compressor = SequentialPointRecordCompressor::new(Vec::new());
    compressor.set_fields_from(record.items())?;
    compressor.compress_many(records)?;
    compressor.done()?;
    Ok(compressor.into_inner())
}

/// Converts an error of the crate `laz`.
pub(crate) fn from_laz_error(err: LasZipError) -> Error {
    match err {
        LasZipError::IoError(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "cannot write LAZ").with_source(err),
    }
}
