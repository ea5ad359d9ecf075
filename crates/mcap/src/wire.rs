//! The records of an MCAP file: what their bytes are.
//!
//! ```text
//! magic | header | data … | data end | summary … | footer | magic
//! record: opcode u8 | length u64 | content
//! ```
//! All numbers are little-endian; a text is a `u32` length and its bytes. (MCAP
//! specification, version 0, "Records".)

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use logtool_core::{ByteReader, Timestamp};

/// The first and the last bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

/// How long the head of a record is: its opcode and its length.
pub(crate) const HEAD_LEN: usize = 9;

/// How long a footer is, with its head.
pub(crate) const FOOTER_LEN: usize = HEAD_LEN + 20;

/// How many bytes of a message come before its data.
pub(crate) const MESSAGE_HEAD_LEN: usize = 22;

/// How many of those are in a payload: all but the number of the channel. They are the
/// sequence (`u32`), the log time and the publish time (`u64` each, ns).
pub(crate) const ENVELOPE: u32 = 20;

/// How a topic says, among its metadata, that its schema is written.
pub(crate) const SCHEMA_ENCODING: &str = "schema_encoding";

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
    /// Of those that are known.
    pub(crate) const LAST: u8 = DATA_END;
}

/// The opcode of the record at the start of `bytes`, and how long its content is.
#[inline]
pub(crate) fn head(bytes: &[u8]) -> Option<(u8, u64)> {
    let mut cut = ByteReader::new(bytes);
    Some((cut.u8()?, cut.u64()?))
}

/// The record at the start of `bytes`, if it is whole: its opcode and its content.
#[inline]
pub(crate) fn record(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (op, len) = head(bytes)?;
    let end = HEAD_LEN.checked_add(usize::try_from(len).ok()?)?;
    Some((op, bytes.get(HEAD_LEN..end)?))
}

/// The file's own words: its profile, and the library that wrote it.
pub(crate) fn header(content: &[u8]) -> Option<(String, String)> {
    let mut cut = ByteReader::new(content);
    Some((text(&mut cut)?.into_owned(), text(&mut cut)?.into_owned()))
}

/// What messages of a channel look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) data: Vec<u8>,
}

impl Schema {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        Some(Self {
            id: cut.u16()?,
            name: text(&mut cut)?.into_owned(),
            encoding: text(&mut cut)?.into_owned(),
            data: sized(&mut cut)?.to_vec(),
        })
    }
}

/// A stream of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) id: u16,
    /// 0 where there is no schema.
    pub(crate) schema: u16,
    pub(crate) topic: String,
    pub(crate) encoding: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Channel {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        Some(Self {
            id: cut.u16()?,
            schema: cut.u16()?,
            topic: text(&mut cut)?.into_owned(),
            encoding: text(&mut cut)?.into_owned(),
            metadata: texts(&mut cut)?,
        })
    }
}

/// The channel and the log time of a message.
#[inline]
pub(crate) fn message(content: &[u8]) -> Option<(u16, u64)> {
    let mut cut = ByteReader::new(content.get(..MESSAGE_HEAD_LEN)?);
    let channel = cut.u16()?;
    cut.u32()?;
    Some((channel, cut.u64()?))
}

/// `nanos` since 1970, or the latest time that can be told.
pub(crate) fn timestamp(nanos: u64) -> Timestamp {
    i64::try_from(nanos).map_or(Timestamp::MAX, Timestamp::from_nanos)
}

/// A chunk: records, packed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'b> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// How long the records are, by what the file says.
    pub(crate) size: u64,
    /// The CRC-32 of the records; 0 where there is none.
    pub(crate) crc: u32,
    pub(crate) compression: &'b [u8],
    /// How many bytes the packed records are, by what the file says.
    pub(crate) packed_len: u64,
    /// Those of them that are there.
    pub(crate) packed: &'b [u8],
}

impl<'b> Chunk<'b> {
    /// The chunk of which `content` is all, or the first part.
    pub(crate) fn parse(content: &'b [u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        let (start, end, size, crc) = (cut.u64()?, cut.u64()?, cut.u64()?, cut.u32()?);
        let compression = sized(&mut cut)?;
        let packed_len = cut.u64()?;
        let rest = cut.rest();
        let len = usize::try_from(packed_len).unwrap_or(usize::MAX).min(rest.len());
        let packed = rest.get(..len)?;
        Some(Self { start, end, size, crc, compression, packed_len, packed })
    }

    /// Where the packed records begin in the content.
    pub(crate) fn packed_start(&self) -> usize {
        40 + self.compression.len()
    }
}

/// What the summary says of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkIndex {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where the record of the chunk begins, and how long it is.
    pub(crate) at: u64,
    pub(crate) len: u64,
    /// The channels that it has messages of, and where their message indexes are.
    pub(crate) channels: Vec<(u16, u64)>,
    /// How many bytes its message indexes are, which follow on it.
    pub(crate) index_len: u64,
    pub(crate) compression: String,
    pub(crate) packed_len: u64,
    pub(crate) size: u64,
}

impl ChunkIndex {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        let (start, end, at, len) = (cut.u64()?, cut.u64()?, cut.u64()?, cut.u64()?);
        let mut offsets = ByteReader::new(sized(&mut cut)?);
        let mut channels = Vec::new();
        while let (Some(channel), Some(at)) = (offsets.u16(), offsets.u64()) {
            channels.push((channel, at));
        }
        Some(Self {
            start,
            end,
            at,
            len,
            channels,
            index_len: cut.u64()?,
            compression: text(&mut cut)?.into_owned(),
            packed_len: cut.u64()?,
            size: cut.u64()?,
        })
    }
}

/// What the summary says of all messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) messages: u64,
    pub(crate) attachments: u32,
    pub(crate) metadata: u32,
    pub(crate) chunks: u32,
    /// The first and the last time.
    pub(crate) times: (u64, u64),
    /// How many messages each channel has.
    pub(crate) of_channels: BTreeMap<u16, u64>,
}

impl Statistics {
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        let messages = cut.u64()?;
        cut.bytes(2 + 4)?; // how many schemas and channels
        let (attachments, metadata, chunks) = (cut.u32()?, cut.u32()?, cut.u32()?);
        let times = (cut.u64()?, cut.u64()?);
        let mut counts = ByteReader::new(sized(&mut cut)?);
        let mut of_channels = BTreeMap::new();
        while let (Some(channel), Some(count)) = (counts.u16(), counts.u64()) {
            of_channels.insert(channel, count);
        }
        Some(Self { messages, attachments, metadata, chunks, times, of_channels })
    }

    /// Returns the number of messages of each channel, or `None` if the file does not state
    /// it: "An empty map indicates that this statistic is not available" (specification of
    /// MCAP, "Statistics").
    pub(crate) fn counts(&self) -> Option<&BTreeMap<u16, u64>> {
        let is_stated = self.messages == 0 || !self.of_channels.is_empty();
        is_stated.then_some(&self.of_channels)
    }
}

/// Returns the entries of a message index, each a time and an offset in the chunk.
pub(crate) fn message_index(content: &[u8]) -> Option<&[u8]> {
    let mut cut = ByteReader::new(content);
    cut.u16()?; // the channel
    sized(&mut cut)
}

/// Where the summary is: its start (0 where there is none), and its CRC-32 (0 where
/// there is none).
pub(crate) fn footer(content: &[u8]) -> Option<(u64, u32)> {
    footer_of(content).map(|(summary, _, crc)| (summary, crc))
}

/// The same, with where its offsets begin (0 where there are none) between.
pub(crate) fn footer_of(content: &[u8]) -> Option<(u64, u64, u32)> {
    let mut cut = ByteReader::new(content);
    Some((cut.u64()?, cut.u64()?, cut.u32()?))
}

/// Where an index of an attached file or of metadata, or an offset of the summary, says
/// that records are, and of which kind.
pub(crate) fn place(op: u8, content: &[u8]) -> Option<(u8, Range<u64>)> {
    let mut cut = ByteReader::new(content);
    let kind = match op {
        op::ATTACHMENT_INDEX => op::ATTACHMENT,
        op::METADATA_INDEX => op::METADATA,
        _ => cut.u8()?,
    };
    let (at, len) = (cut.u64()?, cut.u64()?);
    Some((kind, at..at.checked_add(len)?))
}

/// What is said of a file that is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub(crate) log_time: u64,
    pub(crate) create_time: u64,
    pub(crate) name: String,
    pub(crate) media_type: String,
    /// How many bytes the file is.
    pub(crate) len: u64,
}

impl Attachment {
    /// The attachment of which `content` is all, or the first part.
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let mut cut = ByteReader::new(content);
        let (log_time, create_time) = (cut.u64()?, cut.u64()?);
        let (name, media_type) = (text(&mut cut)?, text(&mut cut)?);
        let (name, media_type) = (name.into_owned(), media_type.into_owned());
        Some(Self { log_time, create_time, name, media_type, len: cut.u64()? })
    }
}

/// Returns where the checksum of an attachment is in its record, of which `content` is all or
/// the first part. Fields that a later specification adds follow on the checksum.
pub(crate) fn attachment_crc(content: &[u8]) -> Option<u64> {
    let mut cut = ByteReader::new(content);
    cut.bytes(8 + 8)?; // the log time and the time of creation
    let (name, media_type) = (sized(&mut cut)?, sized(&mut cut)?);
    let len = cut.u64()?;
    let fields = 8 + 8 + 4 + name.len() + 4 + media_type.len() + 8;
    len.checked_add(fields as u64)
}

/// Words about the file: what they are about, and the words.
pub(crate) fn metadata(content: &[u8]) -> Option<(String, BTreeMap<String, String>)> {
    let mut cut = ByteReader::new(content);
    Some((text(&mut cut)?.into_owned(), texts(&mut cut)?))
}

/// A `u32`, and as many bytes.
fn sized<'b>(cut: &mut ByteReader<'b>) -> Option<&'b [u8]> {
    let len = cut.u32()?;
    cut.bytes(len as usize)
}

fn text<'b>(cut: &mut ByteReader<'b>) -> Option<Cow<'b, str>> {
    sized(cut).map(logtool_core::decode_text)
}

/// A `u32`, and as many bytes of pairs of texts.
fn texts(cut: &mut ByteReader<'_>) -> Option<BTreeMap<String, String>> {
    let mut pairs = ByteReader::new(sized(cut)?);
    let mut texts = BTreeMap::new();
    while !pairs.rest().is_empty() {
        let (key, value) = (text(&mut pairs)?, text(&mut pairs)?);
        texts.insert(key.into_owned(), value.into_owned());
    }
    Some(texts)
}
