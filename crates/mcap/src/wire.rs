//! Parses the records of an MCAP file, without I/O.
//!
//! ```text
//! magic | header | data … | data end | summary … | footer | magic
//! record: opcode u8 | length u64 | content
//! ```
//! All numbers are little-endian. A string is a `u32` length and its bytes. (MCAP
//! specification, version 0, "Records".)

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use logtool_core::{ByteReader, Timestamp};

/// The first and the last bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

/// The length of a record header: the opcode and the length of the content.
pub(crate) const RECORD_HEADER_LEN: usize = 9;

/// The length of a footer with its record header.
pub(crate) const FOOTER_LEN: usize = RECORD_HEADER_LEN + 20;

/// The number of bytes in a message record before its data.
pub(crate) const MESSAGE_HEADER_LEN: usize = 22;

/// The number of bytes before the data in the payload of a record, which is a message
/// without its channel id. They are the sequence number (`u32`), the log time and the
/// publish time (`u64` each, in nanoseconds).
pub(crate) const PAYLOAD_HEADER_LEN: u32 = 20;

/// The opcodes.
pub(crate) mod op {
    pub(crate) const HEADER: u8 = 0x01;
    pub(crate) const FOOTER: u8 = 0x02;
    pub(crate) const SCHEMA: u8 = 0x03;
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
    pub(crate) const MESSAGE_INDEX: u8 = 0x07;
    pub(crate) const CHUNK_INDEX: u8 = 0x08;
    pub(crate) const ATTACHMENT: u8 = 0x09;
    pub(crate) const ATTACHMENT_INDEX: u8 = 0x0a;
    pub(crate) const STATISTICS: u8 = 0x0b;
    pub(crate) const METADATA: u8 = 0x0c;
    pub(crate) const METADATA_INDEX: u8 = 0x0d;
    pub(crate) const SUMMARY_OFFSET: u8 = 0x0e;
    pub(crate) const DATA_END: u8 = 0x0f;
    /// The last opcode that the specification defines.
    pub(crate) const LAST: u8 = DATA_END;
}

/// Returns the opcode and the content length of the record at the start of `bytes`.
#[inline]
pub(crate) fn record_header(bytes: &[u8]) -> Option<(u8, u64)> {
    let mut reader = ByteReader::new(bytes);
    Some((reader.u8()?, reader.u64()?))
}

/// Returns the opcode and the content of the record at the start of `bytes`, if it is
/// complete.
#[inline]
pub(crate) fn record(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (op, len) = record_header(bytes)?;
    let end = RECORD_HEADER_LEN.checked_add(usize::try_from(len).ok()?)?;
    Some((op, bytes.get(RECORD_HEADER_LEN..end)?))
}

/// Parses a header record: the profile, and the library that wrote the file.
pub(crate) fn header(content: &[u8]) -> Option<(String, String)> {
    let mut reader = ByteReader::new(content);
    Some((text(&mut reader)?.into_owned(), text(&mut reader)?.into_owned()))
}

/// The schema of the messages of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) data: Vec<u8>,
}

impl Schema {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        Some(Self {
            id: reader.u16()?,
            name: text(&mut reader)?.into_owned(),
            encoding: text(&mut reader)?.into_owned(),
            data: length_prefixed(&mut reader)?.to_vec(),
        })
    }
}

/// A stream of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) id: u16,
    /// The schema id; 0 for no schema.
    pub(crate) schema: u16,
    pub(crate) topic: String,
    pub(crate) encoding: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Channel {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        Some(Self {
            id: reader.u16()?,
            schema: reader.u16()?,
            topic: text(&mut reader)?.into_owned(),
            encoding: text(&mut reader)?.into_owned(),
            metadata: string_map(&mut reader)?,
        })
    }
}

/// Returns the channel id and the log time of a message.
#[inline]
pub(crate) fn message(content: &[u8]) -> Option<(u16, u64)> {
    let mut reader = ByteReader::new(content.get(..MESSAGE_HEADER_LEN)?);
    let channel = reader.u16()?;
    reader.u32()?;
    Some((channel, reader.u64()?))
}

/// Converts nanoseconds since 1970 to a timestamp, [`Timestamp::MAX`] if they exceed
/// its range.
pub(crate) fn timestamp(nanos: u64) -> Timestamp {
    i64::try_from(nanos).map_or(Timestamp::MAX, Timestamp::from_nanos)
}

/// A chunk of compressed records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'b> {
    /// The declared first log time of its messages.
    pub(crate) start_time: u64,
    /// The declared last log time of its messages.
    pub(crate) end_time: u64,
    /// The declared length of the decompressed records.
    pub(crate) uncompressed_len: u64,
    /// The CRC-32 of the decompressed records; 0 for no checksum.
    pub(crate) crc: u32,
    pub(crate) compression: &'b [u8],
    /// The declared length of the compressed records.
    pub(crate) compressed_len: u64,
    /// The compressed records. They are shorter than declared if the record is truncated.
    pub(crate) compressed: &'b [u8],
}

impl<'b> Chunk<'b> {
    /// Parses the content of a chunk record, or its first part.
    pub(crate) fn parse(content: &'b [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        let (start_time, end_time) = (reader.u64()?, reader.u64()?);
        let (uncompressed_len, crc) = (reader.u64()?, reader.u32()?);
        let compression = length_prefixed(&mut reader)?;
        let compressed_len = reader.u64()?;
        let remaining = reader.remaining();
        let available_len =
            usize::try_from(compressed_len).unwrap_or(usize::MAX).min(remaining.len());
        let compressed = remaining.get(..available_len)?;
        Some(Self {
            start_time,
            end_time,
            uncompressed_len,
            crc,
            compression,
            compressed_len,
            compressed,
        })
    }

    /// Returns the offset of the compressed records in the content.
    pub(crate) fn compressed_start(&self) -> usize {
        CHUNK_HEADER_LEN + self.compression.len()
    }
}

/// The length of the fields before the records of a chunk, without the name of the
/// compression.
pub(crate) const CHUNK_HEADER_LEN: usize = 8 + 8 + 8 + 4 + 4 + 8;

/// The chunk index record of a chunk in the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkIndex {
    /// The first log time of the messages of the chunk.
    pub(crate) start_time: u64,
    /// The last log time of the messages of the chunk.
    pub(crate) end_time: u64,
    /// The offset of the chunk record.
    pub(crate) chunk_offset: u64,
    /// The length of the chunk record, including its header.
    pub(crate) chunk_len: u64,
    /// The channels of its messages, with the offsets of their message indexes.
    pub(crate) message_index_offsets: Vec<(u16, u64)>,
    /// The length of its message indexes, which follow the chunk.
    pub(crate) message_indexes_len: u64,
    pub(crate) compression: String,
    pub(crate) compressed_len: u64,
    pub(crate) uncompressed_len: u64,
}

impl ChunkIndex {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        let (start_time, end_time) = (reader.u64()?, reader.u64()?);
        let (chunk_offset, chunk_len) = (reader.u64()?, reader.u64()?);
        let mut pairs = ByteReader::new(length_prefixed(&mut reader)?);
        let mut message_index_offsets = Vec::new();
        while let (Some(channel), Some(offset)) = (pairs.u16(), pairs.u64()) {
            message_index_offsets.push((channel, offset));
        }
        Some(Self {
            start_time,
            end_time,
            chunk_offset,
            chunk_len,
            message_index_offsets,
            message_indexes_len: reader.u64()?,
            compression: text(&mut reader)?.into_owned(),
            compressed_len: reader.u64()?,
            uncompressed_len: reader.u64()?,
        })
    }
}

/// The statistics record in the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) messages: u64,
    pub(crate) attachments: u32,
    pub(crate) metadata: u32,
    pub(crate) chunks: u32,
    /// The first and the last log time.
    pub(crate) times: (u64, u64),
    /// The number of messages of each channel; empty if the file does not declare it.
    pub(crate) channel_counts: BTreeMap<u16, u64>,
}

impl Statistics {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        let messages = reader.u64()?;
        reader.bytes(2 + 4)?; // the numbers of schemas and of channels
        let (attachments, metadata, chunks) =
            (reader.u32()?, reader.u32()?, reader.u32()?);
        let times = (reader.u64()?, reader.u64()?);
        let mut pairs = ByteReader::new(length_prefixed(&mut reader)?);
        let mut channel_counts = BTreeMap::new();
        while let (Some(channel), Some(count)) = (pairs.u16(), pairs.u64()) {
            channel_counts.insert(channel, count);
        }
        Some(Self { messages, attachments, metadata, chunks, times, channel_counts })
    }

    /// Returns the number of messages of each channel, or `None` if the file does not
    /// declare it: "An empty map indicates that this statistic is not available" (MCAP
    /// specification, "Statistics").
    pub(crate) fn declared_channel_counts(&self) -> Option<&BTreeMap<u16, u64>> {
        let is_declared = self.messages == 0 || !self.channel_counts.is_empty();
        is_declared.then_some(&self.channel_counts)
    }
}

/// Returns the entries of a message index as bytes: for each message the log time, and
/// the offset of its record in the decompressed chunk (`u64` each).
pub(crate) fn message_index_entries(content: &[u8]) -> Option<&[u8]> {
    let mut reader = ByteReader::new(content);
    reader.u16()?; // the channel
    length_prefixed(&mut reader)
}

/// The footer of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer {
    /// The offset of the summary; 0 for no summary.
    pub(crate) summary_start: u64,
    /// The offset of the summary offset records; 0 for none.
    pub(crate) summary_offsets_start: u64,
    /// The CRC-32 of the summary; 0 for no checksum.
    pub(crate) summary_crc: u32,
}

impl Footer {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        Some(Self {
            summary_start: reader.u64()?,
            summary_offsets_start: reader.u64()?,
            summary_crc: reader.u32()?,
        })
    }
}

/// Returns the opcode and the byte range of the record that an attachment index, a
/// metadata index or a summary offset declares.
pub(crate) fn declared_range(op: u8, content: &[u8]) -> Option<(u8, Range<u64>)> {
    let mut reader = ByteReader::new(content);
    let declared_op = match op {
        op::ATTACHMENT_INDEX => op::ATTACHMENT,
        op::METADATA_INDEX => op::METADATA,
        _ => reader.u8()?,
    };
    let (start, len) = (reader.u64()?, reader.u64()?);
    Some((declared_op, start..start.checked_add(len)?))
}

/// The fields of an attachment except for its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub(crate) log_time: u64,
    pub(crate) create_time: u64,
    pub(crate) name: String,
    pub(crate) media_type: String,
    /// The length of the data in bytes.
    pub(crate) data_len: u64,
}

impl Attachment {
    /// Parses the content of an attachment record, or its first part.
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        let (log_time, create_time) = (reader.u64()?, reader.u64()?);
        let (name, media_type) = (text(&mut reader)?, text(&mut reader)?);
        let (name, media_type) = (name.into_owned(), media_type.into_owned());
        Some(Self { log_time, create_time, name, media_type, data_len: reader.u64()? })
    }
}

/// Returns the offset of the checksum in the content of an attachment record. `content`
/// is the whole content or its first part. Fields that a later specification adds
/// follow the checksum.
pub(crate) fn attachment_crc_offset(content: &[u8]) -> Option<u64> {
    let mut reader = ByteReader::new(content);
    reader.bytes(8 + 8)?; // log time and creation time
    let (name, media_type) =
        (length_prefixed(&mut reader)?, length_prefixed(&mut reader)?);
    let data_len = reader.u64()?;
    let data_start = 8 + 8 + 4 + name.len() + 4 + media_type.len() + 8;
    data_len.checked_add(data_start as u64)
}

/// Parses a metadata record: its name and its entries.
pub(crate) fn metadata(content: &[u8]) -> Option<(String, BTreeMap<String, String>)> {
    let mut reader = ByteReader::new(content);
    Some((text(&mut reader)?.into_owned(), string_map(&mut reader)?))
}

/// Finds the headers of compressed chunks in `bytes`, by the names of the compressions. Returns
/// the offset of the record, and the declared length of the decompressed records.
pub(crate) fn chunk_headers(bytes: &[u8]) -> Vec<(usize, u64)> {
    const NAME_START: usize = RECORD_HEADER_LEN + 8 + 8 + 8 + 4;
    let declared_len = |at: usize| {
        let record = bytes.get(at..)?;
        let name = record.get(NAME_START..)?;
        let is_chunk = *record.first()? == op::CHUNK
            && (name.starts_with(b"\x04\0\0\0zstd")
                || name.starts_with(b"\x03\0\0\0lz4"));
        let lengths = record.get(RECORD_HEADER_LEN + 8 + 8..)?;
        Some((at, ByteReader::new(lengths).u64().filter(|_| is_chunk)?))
    };
    (0..bytes.len()).filter_map(declared_len).collect()
}

/// Reads a `u32` length and that number of bytes.
fn length_prefixed<'b>(reader: &mut ByteReader<'b>) -> Option<&'b [u8]> {
    let len = reader.u32()?;
    reader.bytes(len as usize)
}

fn text<'b>(reader: &mut ByteReader<'b>) -> Option<Cow<'b, str>> {
    length_prefixed(reader).map(logtool_core::decode_text)
}

/// Reads a `u32` length in bytes, and pairs of strings of this total length.
fn string_map(reader: &mut ByteReader<'_>) -> Option<BTreeMap<String, String>> {
    let mut pairs = ByteReader::new(length_prefixed(reader)?);
    let mut entries = BTreeMap::new();
    while !pairs.remaining().is_empty() {
        let (key, value) = (text(&mut pairs)?, text(&mut pairs)?);
        entries.insert(key.into_owned(), value.into_owned());
    }
    Some(entries)
}
