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
    /// Schemas and channels that must be declared before the chunk.
    before: Vec<u8>,
    body: Body,
    properties: ChunkProperties,
}

#[derive(Debug)]
enum Body {
    /// The compressed records, and a free buffer.
    New(Compression, Vec<u8>, Vec<u8>),
    /// The complete record of a chunk, the name of its compression, and the length of
    /// its compressed records.
    Copied(Bytes, String, u64),
}

/// A complete chunk of another file.
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
    pub(crate) fn copy(&mut self, chunk: VerbatimChunk) -> Result<u64> {
        self.end_chunk()?;
        let VerbatimChunk { record, compression, compressed_len, properties } = chunk;
        let (mut before, mut messages) = (Records::default(), 0);
        for (id, entries) in &properties.index {
            let index = self.index_of(*id);
            let Some(declared) = index.and_then(|index| self.channels.get_mut(index))
            else {
                continue;
            };
            if !declared.is_declared {
                declared.is_declared = true;
                let schema = declared.channel.schema;
                let schema = self.schemas.get(schema);
                schema.into_iter().for_each(|schema| before.schema(schema));
                before.channel(&declared.channel);
            }
            declared.messages += entries.len() as u64;
            messages += entries.len() as u64;
        }
        self.statistics.count(messages, properties.start, properties.end);
        let body = Body::Copied(record, compression, compressed_len);
        let compressed = FinishedChunk { before: before.take(), body, properties };
        self.queue.push(move || Ok(compressed));
        self.write_finished_chunks()?;
        Ok(messages)
    }

    /// Ends the current chunk, if it has messages.
    pub(super) fn end_chunk(&mut self) -> Result<()> {
        let Some(full) = self.current_chunk.take(&mut self.buffers) else {
            return Ok(());
        };
        let compression = self.options.compression;
        let room = self.buffers.pop().unwrap_or_default();
        self.queue.push(move || {
            let UncompressedChunk { bytes, mut properties } = full;
            properties.crc = crc32fast::hash(&bytes);
            let (compressed, free) = compression.compress(bytes, room)?;
            let body = Body::New(compression, compressed, free);
            Ok(FinishedChunk { before: Vec::new(), body, properties })
        });
        self.write_finished_chunks()
    }

    fn write_finished_chunks(&mut self) -> Result<()> {
        while let Some(compressed) = self.queue.next() {
            self.write_chunk(compressed?)?;
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

    pub(super) fn write_chunk(&mut self, compressed: FinishedChunk) -> Result<()> {
        let FinishedChunk { before, body, properties } = compressed;
        self.output.append(&before)?;
        let at = self.output.position();
        let (compression, compressed_len) = match body {
            Body::New(compression, mut bytes, free) => {
                let (name, len) = (compression.name(), bytes.len() as u64);
                self.output.append(&encode::chunk_head(&properties, name, len))?;
                self.output.write_owned(&mut bytes)?;
                self.recycle(bytes);
                self.recycle(free);
                (name.to_owned(), len)
            }
            Body::Copied(record, compression, compressed_len) => {
                self.output.append(&record)?;
                (compression, compressed_len)
            }
        };
        let indexes_at = self.output.position();
        let (indexes, channels) = encode::message_indexes(&properties, indexes_at);
        self.output.append(&indexes)?;
        self.chunks.push(ChunkIndex {
            start: properties.start,
            end: properties.end,
            at,
            len: indexes_at - at,
            channels,
            index_len: indexes.len() as u64,
            compression,
            compressed_len,
            size: properties.size,
        });
        Ok(())
    }
}
