//! Writes chunks, which are either compressed here or copied unchanged from another
//! file.

use bytes::Bytes;
use logtool_core::{Output, Result};

use crate::{
    chunk::Compression,
    wire::ChunkIndex,
    write::{
        Writer,
        chunk_builder::UncompressedChunk,
        encode::{self, ChunkProperties, Records},
    },
};

/// A chunk that is ready to be written.
#[derive(Debug)]
pub(super) struct FinishedChunk {
    /// Records that are written before the chunk: the schemas and channels that it uses and
    /// the file does not declare yet.
    declarations: Vec<u8>,
    body: ChunkBody,
    properties: ChunkProperties,
}

/// The records of a chunk.
#[derive(Debug)]
enum ChunkBody {
    /// Records that were compressed here.
    New {
        compression: Compression,
        compressed: Vec<u8>,
        /// A buffer that is free now.
        free_buffer: Vec<u8>,
    },
    /// A complete chunk record of another file.
    Copied { record: Bytes, compression: String, compressed_len: u64 },
}

/// A chunk of another file that is copied unchanged.
#[derive(Debug)]
pub(crate) struct VerbatimChunk {
    /// The record including its header.
    pub(crate) record: Bytes,
    pub(crate) compression: String,
    pub(crate) compressed_len: u64,
    pub(crate) properties: ChunkProperties,
}

impl<W: Output> Writer<W> {
    /// Copies a chunk whose channels have the same ids in this file. Returns the number
    /// of its messages.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub(crate) fn copy_chunk(&mut self, chunk: VerbatimChunk) -> Result<u64> {
        self.end_chunk()?;
        let VerbatimChunk { record, compression, compressed_len, properties } = chunk;
        let (mut declarations, mut messages) = (Records::default(), 0);
        for (channel, entries) in &properties.message_indexes {
            let index = self.channel_index(*channel);
            let Some(state) = index.and_then(|index| self.channels.get_mut(index))
            else {
                continue;
            };
            state.declare_once(&self.schemas, &mut declarations);
            state.messages += entries.len() as u64;
            messages += entries.len() as u64;
        }
        self.statistics.count(messages, properties.start_time, properties.end_time);
        let body = ChunkBody::Copied { record, compression, compressed_len };
        let declarations = declarations.take();
        // The queue keeps the order of the chunks.
        self.queue.push(move || Ok(FinishedChunk { declarations, body, properties }));
        self.write_finished_chunks()?;
        Ok(messages)
    }

    /// Ends the current chunk, if it has messages.
    pub(super) fn end_chunk(&mut self) -> Result<()> {
        let Some(chunk) = self.current_chunk.take(&mut self.buffers) else {
            return Ok(());
        };
        let compression = self.options.compression;
        let buffer = self.buffers.pop().unwrap_or_default();
        self.queue.push(move || {
            let UncompressedChunk { bytes, mut properties } = chunk;
            properties.crc = crc32fast::hash(&bytes);
            let (compressed, free_buffer) = compression.compress(bytes, buffer)?;
            // The chunk itself contains the declarations.
            let declarations = Vec::new();
            let body = ChunkBody::New { compression, compressed, free_buffer };
            Ok(FinishedChunk { declarations, body, properties })
        });
        self.write_finished_chunks()
    }

    /// Writes the next chunks, if they are finished.
    fn write_finished_chunks(&mut self) -> Result<()> {
        while let Some(finished) = self.queue.next() {
            self.write_chunk(finished?)?;
        }
        Ok(())
    }

    /// Stores a buffer for later chunks, unless it is much longer than they are. The
    /// number of buffers is limited by the number of chunks in the queue.
    fn recycle(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() / 4 <= self.options.chunk_bytes as usize {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Writes a chunk and its message indexes.
    pub(super) fn write_chunk(&mut self, chunk: FinishedChunk) -> Result<()> {
        let FinishedChunk { declarations, body, properties } = chunk;
        self.output.append(&declarations)?;
        let chunk_offset = self.output.position();
        let (compression, compressed_len) = match body {
            ChunkBody::New { compression, mut compressed, free_buffer } => {
                let (name, len) = (compression.name(), compressed.len() as u64);
                self.output.append(&encode::chunk_header(&properties, name, len))?;
                self.output.write_owned(&mut compressed)?;
                self.recycle(compressed);
                self.recycle(free_buffer);
                (name.to_owned(), len)
            }
            ChunkBody::Copied { record, compression, compressed_len } => {
                self.output.append(&record)?;
                (compression, compressed_len)
            }
        };
        let chunk_end = self.output.position();
        let (message_indexes, message_index_offsets) =
            encode::message_indexes(&properties, chunk_end);
        self.output.append(&message_indexes)?;
        self.chunks.push(ChunkIndex {
            start_time: properties.start_time,
            end_time: properties.end_time,
            chunk_offset,
            chunk_len: chunk_end - chunk_offset,
            message_index_offsets,
            message_indexes_len: message_indexes.len() as u64,
            compression,
            compressed_len,
            uncompressed_len: properties.uncompressed_len,
        });
        Ok(())
    }
}
