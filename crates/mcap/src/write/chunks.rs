//! Chunks on their way out: packed here, or copied as they are from another file.

use bytes::Bytes;
use logtool_core::{Output, Result};

use crate::{
    chunk::Compression,
    wire::ChunkIndex,
    write::{
        Writer,
        encode::{self, Records, Told},
        filling::Full,
    },
};

/// A chunk that can go out.
#[derive(Debug)]
pub(super) struct Packed {
    /// Schemas and channels that have to be told before it.
    before: Vec<u8>,
    body: Body,
    told: Told,
}

#[derive(Debug)]
enum Body {
    /// The packed records, and a buffer that is free.
    New(Compression, Vec<u8>, Vec<u8>),
    /// The whole record of the chunk, in which so many bytes are packed in this way.
    Copied(Bytes, String, u64),
}

/// A chunk of another file, of which all is wanted.
#[derive(Debug)]
pub(crate) struct Copied {
    /// Its record, with its head.
    pub(crate) record: Bytes,
    pub(crate) compression: String,
    pub(crate) packed_len: u64,
    pub(crate) told: Told,
}

impl<W: Output> Writer<W> {
    /// Copies a chunk whose channels have the same numbers in this file, and says how many
    /// messages it has.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub(crate) fn copy(&mut self, chunk: Copied) -> Result<u64> {
        self.end_chunk()?;
        let Copied { record, compression, packed_len, told } = chunk;
        let (mut before, mut messages) = (Records::default(), 0);
        for (id, entries) in &told.index {
            let index = self.place_of(*id);
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
        self.statistics.count(messages, told.start, told.end);
        let body = Body::Copied(record, compression, packed_len);
        let packed = Packed { before: before.take(), body, told };
        self.queue.push(move || Ok(packed));
        self.put_ready()?;
        Ok(messages)
    }

    /// Ends the chunk that is being filled, if it has messages.
    pub(super) fn end_chunk(&mut self) -> Result<()> {
        let Some(full) = self.filling.take(&mut self.spare) else { return Ok(()) };
        let compression = self.options.compression;
        let room = self.spare.pop().unwrap_or_default();
        self.queue.push(move || {
            let Full { bytes, mut told } = full;
            told.crc = crc32fast::hash(&bytes);
            let (packed, free) = compression.pack(bytes, room)?;
            let body = Body::New(compression, packed, free);
            Ok(Packed { before: Vec::new(), body, told })
        });
        self.put_ready()
    }

    fn put_ready(&mut self) -> Result<()> {
        while let Some(packed) = self.queue.next() {
            self.put_chunk(packed?)?;
        }
        Ok(())
    }

    /// Keeps a buffer for the next chunks, unless it is far longer than they are. There are no
    /// more than the chunks under way have.
    fn use_again(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() / 4 <= self.options.chunk_bytes as usize {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    pub(super) fn put_chunk(&mut self, packed: Packed) -> Result<()> {
        let Packed { before, body, told } = packed;
        self.place.put(&before)?;
        let at = self.place.at();
        let (compression, packed_len) = match body {
            Body::New(compression, mut bytes, free) => {
                let (name, len) = (compression.name(), bytes.len() as u64);
                self.place.put(&encode::chunk_head(&told, name, len))?;
                self.place.write_owned(&mut bytes)?;
                self.use_again(bytes);
                self.use_again(free);
                (name.to_owned(), len)
            }
            Body::Copied(record, compression, packed_len) => {
                self.place.put(&record)?;
                (compression, packed_len)
            }
        };
        let indexes_at = self.place.at();
        let (indexes, channels) = encode::message_indexes(&told, indexes_at);
        self.place.put(&indexes)?;
        self.chunks.push(ChunkIndex {
            start: told.start,
            end: told.end,
            at,
            len: indexes_at - at,
            channels,
            index_len: indexes.len() as u64,
            compression,
            packed_len,
            size: told.size,
        });
        Ok(())
    }
}
