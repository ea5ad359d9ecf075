//! Parsing the bytes of a bag, without I/O and without state.
//!
//! Each function maps bytes to values. The names and numbers are those of the ROS wiki,
//! "Bags/Format/2.0"; where writers differ from it, the source is the C++ library
//! `rosbag_storage`.

#![deny(clippy::indexing_slicing)]

use logtool_core::{ByteReader, TimeRange, Timestamp};

/// The start of the first line of a bag.
pub(crate) const MAGIC: &[u8] = b"#ROSBAG V";
/// The start of the first line of a bag of version 1, before ROS 1.0.
pub(crate) const RECORD_MAGIC: &[u8] = b"#ROSRECORD V";
/// The maximum length of the first line.
pub(crate) const MAX_LINE: usize = 32;
/// The maximum length of a record header; longer ones are invalid. (In version 1.2, a header
/// contains the definition.)
pub(crate) const MAX_HEADER: usize = 1 << 20;
/// The minimum length of a record header: one field with the operation code.
const MIN_HEADER: usize = 8;

/// The operation codes of version 2.0.
pub(crate) mod op {
    pub(crate) const MESSAGE: u8 = 2;
    pub(crate) const BAG_HEADER: u8 = 3;
    pub(crate) const INDEX: u8 = 4;
    pub(crate) const CHUNK: u8 = 5;
    pub(crate) const CHUNK_INFO: u8 = 6;
    pub(crate) const CONNECTION: u8 = 7;
}

/// The version in the first line of a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// The length of the line, including its end.
    pub(crate) line_len: usize,
    /// Whether it ends with a line feed. If not, a transfer changed the line endings.
    pub(crate) ends_well: bool,
}

/// The lengths of the two parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The length of its fields, which begin 4 bytes after its start.
    pub(crate) fields_len: usize,
    /// The length of its data, which follow the fields and a length of 4 bytes.
    pub(crate) data_len: u32,
}

/// Whether a record begins at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameMatch {
    /// A record.
    Whole(Frame),
    /// Possibly the first bytes of a record: this many bytes are needed to determine its frame.
    Partial(usize),
    /// Not a record: the length of the header is impossible.
    No,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header<'b> {
    Bag(BagHeader<'b>),
    Chunk {
        compression: &'b [u8],
        size: u32,
    },
    Connection {
        id: u32,
        topic: &'b [u8],
    },
    Message {
        connection: u32,
        time: Timestamp,
    },
    Index {
        connection: u32,
        count: u32,
        version: u32,
    },
    ChunkInfo(ChunkInfo),
    /// A record of an unknown kind.
    Other(u8),
}

/// The first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BagHeader<'b> {
    /// The position of the connections and chunk infos; 0 while the bag is being written.
    pub(crate) index_at: u64,
    pub(crate) connections: u32,
    pub(crate) chunks: u32,
    /// The plugin that encrypted the bag, or an empty string.
    pub(crate) encryptor: &'b [u8],
    /// The user for whom the key is encrypted.
    pub(crate) user: &'b [u8],
    /// The key of the chunks, itself encrypted.
    pub(crate) encrypted_key: &'b [u8],
}

/// The chunk info record of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkInfo {
    pub(crate) version: u32,
    pub(crate) chunk_at: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// The number of connections with messages in the chunk.
    pub(crate) count: u32,
}

impl Frame {
    /// Returns the start of the data.
    #[inline]
    pub(crate) fn data_start(self) -> usize {
        8 + self.fields_len
    }

    /// Returns the length of the whole record.
    #[inline]
    pub(crate) fn len(self) -> u64 {
        self.data_start() as u64 + u64::from(self.data_len)
    }
}

impl ChunkInfo {
    /// Returns the time range of the chunk, or `None` if the times are impossible.
    pub(crate) fn time(&self) -> Option<TimeRange> {
        let range = TimeRange::from_timestamp(self.first)
            .cover(&TimeRange::from_timestamp(self.last));
        (self.first <= self.last).then_some(range)
    }
}

/// Parses the first line of a bag at the start of `first_bytes`.
pub(crate) fn version(first_bytes: &[u8]) -> Option<Version> {
    let digits = first_bytes
        .strip_prefix(MAGIC)
        .or_else(|| first_bytes.strip_prefix(RECORD_MAGIC))?;
    let line: &[u8] = digits.get(..MAX_LINE.min(digits.len()))?;
    let end = line.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
    let (number, rest) = line.split_at_checked(end)?;
    let (major, minor) = str::from_utf8(number).ok()?.split_once('.')?;
    let line_len = first_bytes.len() - digits.len() + end + 1;
    Some(Version {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        line_len,
        ends_well: rest.first() == Some(&b'\n'),
    })
}

/// Determines the frame of the record at the start of `bytes`.
#[inline]
pub(crate) fn frame(bytes: &[u8]) -> FrameMatch {
    let mut reader = ByteReader::new(bytes);
    let Some(fields_len) = reader.u32().map(|len| len as usize) else {
        return FrameMatch::Partial(4);
    };
    if !(MIN_HEADER..=MAX_HEADER).contains(&fields_len) {
        return FrameMatch::No;
    }
    match reader.bytes(fields_len).and_then(|_| reader.u32()) {
        Some(data_len) => FrameMatch::Whole(Frame { fields_len, data_len }),
        None => FrameMatch::Partial(8 + fields_len),
    }
}

/// Returns the fields of the record at the start of `bytes`, which has this frame.
pub(crate) fn fields(bytes: &[u8], frame: Frame) -> Fields<'_> {
    let fields = bytes.get(4..4 + frame.fields_len).unwrap_or_default();
    Fields { reader: ByteReader::new(fields), is_broken: false }
}

/// Named values, each as `length u32 | name=value`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'b> {
    reader: ByteReader<'b>,
    is_broken: bool,
}

impl<'b> Fields<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { reader: ByteReader::new(bytes), is_broken: false }
    }

    /// Returns whether the bytes did not consist of fields.
    pub(crate) fn is_broken(self) -> bool {
        self.is_broken
    }

    fn read_field(&mut self) -> Option<(&'b [u8], &'b [u8])> {
        let len = self.reader.u32()?;
        let field = self.reader.bytes(len as usize)?;
        let equals = field.iter().position(|byte| *byte == b'=')?;
        let (name, value) = field.split_at_checked(equals)?;
        Some((name, value.get(1..)?))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (&'b [u8], &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.remaining().is_empty() || self.is_broken {
            return None;
        }
        let field = self.read_field();
        self.is_broken = field.is_none();
        field
    }
}

/// All fields of records of version 2.0.
#[derive(Clone, Copy, Debug, Default)]
struct RecordFields<'b> {
    op: Option<u8>,
    connection: Option<u32>,
    count: Option<u32>,
    version: Option<u32>,
    size: Option<u32>,
    time: Option<Timestamp>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    chunk_at: Option<u64>,
    compression: Option<&'b [u8]>,
    topic: Option<&'b [u8]>,
    bag: BagHeader<'b>,
    has_index_at: bool,
}

/// Parses the header that consists of `fields`, in any order. Returns `None` if it is broken or
/// lacks a field that records of its kind have.
pub(crate) fn header(mut fields: Fields<'_>) -> Option<Header<'_>> {
    let mut fields_by_name = RecordFields::default();
    for (name, value) in fields.by_ref() {
        fields_by_name.set(name, value);
    }
    if fields.is_broken() { None } else { fields_by_name.header() }
}

impl<'b> RecordFields<'b> {
    fn set(&mut self, name: &[u8], value: &'b [u8]) {
        match name {
            b"op" => self.op = value.first().copied().filter(|_| value.len() == 1),
            b"conn" => self.connection = parse_u32(value),
            b"time" => self.time = parse_time(value),
            b"count" => self.count = parse_u32(value),
            b"ver" => self.version = parse_u32(value),
            b"size" => self.size = parse_u32(value),
            b"compression" => self.compression = Some(value),
            b"topic" => self.topic = Some(value),
            b"start_time" => self.first = parse_time(value),
            b"end_time" => self.last = parse_time(value),
            b"chunk_pos" => self.chunk_at = parse_u64(value),
            b"index_pos" => {
                self.has_index_at = value.len() == 8;
                self.bag.index_at = parse_u64(value).unwrap_or(0);
            }
            b"conn_count" => self.bag.connections = parse_u32(value).unwrap_or(0),
            b"chunk_count" => self.bag.chunks = parse_u32(value).unwrap_or(0),
            b"encryptor" => self.bag.encryptor = value,
            b"gpg_user" => self.bag.user = value,
            b"encrypted_key" => self.bag.encrypted_key = value,
            _ => {}
        }
    }

    fn header(self) -> Option<Header<'b>> {
        Some(match self.op? {
            op::MESSAGE => {
                Header::Message { connection: self.connection?, time: self.time? }
            }
            op::BAG_HEADER => {
                self.has_index_at.then_some(())?;
                Header::Bag(self.bag)
            }
            op::INDEX => Header::Index {
                connection: self.connection?,
                count: self.count?,
                version: self.version?,
            },
            op::CHUNK => {
                Header::Chunk { compression: self.compression?, size: self.size? }
            }
            op::CHUNK_INFO => Header::ChunkInfo(ChunkInfo {
                version: self.version?,
                chunk_at: self.chunk_at?,
                first: self.first?,
                last: self.last?,
                count: self.count?,
            }),
            op::CONNECTION => {
                Header::Connection { id: self.connection?, topic: self.topic? }
            }
            // A record with all fields of a chunk or a message is one of these, and its operation
            // code is damaged.
            _ if self.compression.is_some() && self.size.is_some() => return None,
            _ if self.connection.is_some() && self.time.is_some() => return None,
            other => Header::Other(other),
        })
    }
}

/// Parses the header of the message at the start of `bytes` if it has one of the forms that nearly
/// all writers use: its connection, time and frame. Otherwise use [`frame`] and [`header`].
///
/// The C++ library of ROS sorts fields by name, and the Python packages `rosbag` and `rosbags`
/// begin with `op`.
#[inline]
pub(crate) fn usual_message(bytes: &[u8]) -> Option<(u32, Timestamp, Frame)> {
    let mut reader = ByteReader::new(bytes.first_chunk::<46>()?);
    let (is_usual, connection) = match reader.bytes(13)? {
        b"\x26\0\0\0\x09\0\0\0conn=" => {
            let connection = reader.u32()?;
            (reader.bytes(8)? == b"\x04\0\0\0op=\x02", connection)
        }
        b"\x26\0\0\0\x04\0\0\0op=\x02\x09" => {
            (reader.bytes(8)? == b"\0\0\0conn=", reader.u32()?)
        }
        _ => return None,
    };
    let is_usual = is_usual && reader.bytes(9)? == b"\x0d\0\0\0time=";
    let time = time_from(reader.u32()?, reader.u32()?);
    let frame = Frame { fields_len: 38, data_len: reader.u32()? };
    is_usual.then_some((connection, time, frame))
}

/// The length of a message record without its payload, as every writer makes it: two lengths, and
/// the fields `conn`, `op` and `time`.
pub(crate) const MESSAGE_HEADER_LEN: u64 = 4 + 13 + 8 + 17 + 4;

/// The length of an index data record without its entries: two lengths, and the fields `op`,
/// `ver`, `conn` and `count`.
pub(crate) const INDEX_HEADER_LEN: u64 = 4 + 8 + 12 + 13 + 14 + 4;

/// The length of an entry of index data: a time and an offset.
pub(crate) const INDEX_ENTRY_LEN: u64 = 12;

/// Parses the entries of index data: times, and offsets into the decompressed chunk.
pub(crate) fn index_entries(data: &[u8]) -> impl Iterator<Item = (Timestamp, u32)> {
    let (entries, _) = data.as_chunks::<12>();
    entries.iter().filter_map(|entry| {
        let mut reader = ByteReader::new(entry);
        Some((time_from(reader.u32()?, reader.u32()?), reader.u32()?))
    })
}

/// Parses the entries of a chunk info: connections, and the number of messages of each.
pub(crate) fn chunk_counts(data: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let (entries, _) = data.as_chunks::<8>();
    entries.iter().filter_map(|entry| {
        let mut reader = ByteReader::new(entry);
        Some((reader.u32()?, reader.u32()?))
    })
}

/// The field of a chunk header before the decompressed size: its length and its name.
const SIZE_FIELD: &[u8] = b"\x09\0\0\0size=";

/// Finds the headers of chunks in `bytes`, by the field with the decompressed size. Returns the
/// offset of the field, and the size.
pub(crate) fn chunk_headers(bytes: &[u8]) -> Vec<(usize, u64)> {
    let size = |at: usize| {
        let field = bytes.get(at..)?.strip_prefix(SIZE_FIELD)?;
        Some((at, ByteReader::new(field).u32()?.into()))
    };
    (0..bytes.len()).filter_map(size).collect()
}

/// Converts a ROS time. (Nanoseconds of a second or more are added to the seconds.)
pub(crate) fn time_from(secs: u32, nanos: u32) -> Timestamp {
    Timestamp::from_nanos(i64::from(secs) * 1_000_000_000 + i64::from(nanos))
}

fn parse_time(value: &[u8]) -> Option<Timestamp> {
    let mut reader = ByteReader::new(value);
    let time = time_from(reader.u32()?, reader.u32()?);
    reader.remaining().is_empty().then_some(time)
}

pub(crate) fn parse_u32(value: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(value.try_into().ok()?))
}

pub(crate) fn parse_u64(value: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(value.try_into().ok()?))
}

#[cfg(test)]
mod tests;
