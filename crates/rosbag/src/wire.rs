//! The bytes of a bag, and nothing but the bytes: no file, no memory of before.
//!
//! Everything here is a function from bytes to values. The names and numbers are those
//! of the ROS wiki, "Bags/Format/2.0"; where writers differ from it, what they do was
//! read in the C++ library `rosbag_storage`.

#![deny(clippy::indexing_slicing)]

use logtool_core::{ByteReader, TimeRange, Timestamp};

/// What a bag's first line begins with.
pub(crate) const MAGIC: &[u8] = b"#ROSBAG V";
/// What the first line of a bag of version 1 begins with, before ROS 1.0.
pub(crate) const RECORD_MAGIC: &[u8] = b"#ROSRECORD V";
/// The longest first line.
pub(crate) const MAX_LINE: usize = 32;
/// The longest header of a record that is not taken for garbage. (In version 1.2 the
/// text of a definition is in one.)
pub(crate) const MAX_HEADER: usize = 1 << 20;
/// The shortest: one field that says what it is.
const MIN_HEADER: usize = 8;

/// What a record is, in version 2.0.
pub(crate) mod op {
    pub(crate) const MESSAGE: u8 = 2;
    pub(crate) const BAG_HEADER: u8 = 3;
    pub(crate) const INDEX: u8 = 4;
    pub(crate) const CHUNK: u8 = 5;
    pub(crate) const CHUNK_INFO: u8 = 6;
    pub(crate) const CONNECTION: u8 = 7;
}

/// The version that a bag's first line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// How long the line is, its end included.
    pub(crate) line_len: usize,
    /// Whether it ends as lines of a bag do. If not, somebody changed the ends.
    pub(crate) ends_well: bool,
}

/// Where a record's parts are, counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The length of its fields, which begin 4 bytes after its start.
    pub(crate) fields_len: usize,
    /// The length of its data, which end it.
    pub(crate) data_len: u32,
}

/// What may stand at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framed {
    /// A record.
    Whole(Frame),
    /// The first bytes of one; this many are needed to see its frame.
    Partial(usize),
    /// No record: its header cannot be that long.
    No,
}

/// What the header of a record says.
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
    /// A record of a kind that no version knows.
    Other(u8),
}

/// The first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BagHeader<'b> {
    /// Where the connections and chunk infos begin; 0 while the bag is being written.
    pub(crate) index_at: u64,
    pub(crate) connections: u32,
    pub(crate) chunks: u32,
    /// The plugin that encrypted the bag; empty where none did.
    pub(crate) encryptor: &'b [u8],
    /// For whom the key is encrypted.
    pub(crate) user: &'b [u8],
    /// The key that the chunks are encrypted with, itself encrypted.
    pub(crate) encrypted_key: &'b [u8],
}

/// What the index at the end says of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkInfo {
    pub(crate) version: u32,
    pub(crate) chunk_at: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// How many connections have messages in the chunk.
    pub(crate) count: u32,
}

impl Frame {
    /// Where the data begin.
    #[inline]
    pub(crate) fn data_start(self) -> usize {
        8 + self.fields_len
    }

    /// How long the whole record is.
    #[inline]
    pub(crate) fn len(self) -> u64 {
        self.data_start() as u64 + u64::from(self.data_len)
    }
}

impl ChunkInfo {
    /// The times of the chunk, if what is said of them can be true.
    pub(crate) fn time(&self) -> Option<TimeRange> {
        let range = TimeRange::from_timestamp(self.first)
            .cover(&TimeRange::from_timestamp(self.last));
        (self.first <= self.last).then_some(range)
    }
}

/// The first line of a file that begins with `head`, if it is one of a bag.
pub(crate) fn version(head: &[u8]) -> Option<Version> {
    let digits =
        head.strip_prefix(MAGIC).or_else(|| head.strip_prefix(RECORD_MAGIC))?;
    let line: &[u8] = digits.get(..MAX_LINE.min(digits.len()))?;
    let end = line.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
    let (number, rest) = line.split_at_checked(end)?;
    let (major, minor) = str::from_utf8(number).ok()?.split_once('.')?;
    let line_len = head.len() - digits.len() + end + 1;
    Some(Version {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        line_len,
        ends_well: rest.first() == Some(&b'\n'),
    })
}

/// The frame of the record at the start of `bytes`.
#[inline]
pub(crate) fn frame(bytes: &[u8]) -> Framed {
    let mut cut = ByteReader::new(bytes);
    let Some(fields_len) = cut.u32().map(|len| len as usize) else {
        return Framed::Partial(4);
    };
    if !(MIN_HEADER..=MAX_HEADER).contains(&fields_len) {
        return Framed::No;
    }
    match cut.bytes(fields_len).and_then(|_| cut.u32()) {
        Some(data_len) => Framed::Whole(Frame { fields_len, data_len }),
        None => Framed::Partial(8 + fields_len),
    }
}

/// The fields of the record at the start of `bytes`, of which this is the frame.
pub(crate) fn fields(bytes: &[u8], frame: Frame) -> Fields<'_> {
    let fields = bytes.get(4..4 + frame.fields_len).unwrap_or_default();
    Fields { cut: ByteReader::new(fields), is_broken: false }
}

/// Named values, each as `length u32 | name=value`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'b> {
    cut: ByteReader<'b>,
    is_broken: bool,
}

impl<'b> Fields<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { cut: ByteReader::new(bytes), is_broken: false }
    }

    /// Whether what was read is not made of fields after all.
    pub(crate) fn is_broken(self) -> bool {
        self.is_broken
    }

    fn cut(&mut self) -> Option<(&'b [u8], &'b [u8])> {
        let len = self.cut.u32()?;
        let field = self.cut.bytes(len as usize)?;
        let equals = field.iter().position(|byte| *byte == b'=')?;
        let (name, value) = field.split_at_checked(equals)?;
        Some((name, value.get(1..)?))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (&'b [u8], &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.cut.rest().is_empty() || self.is_broken {
            return None;
        }
        let field = self.cut();
        self.is_broken = field.is_none();
        field
    }
}

/// All fields that records of version 2.0 have.
#[derive(Clone, Copy, Debug, Default)]
struct Known<'b> {
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

/// What the header that is made of `fields` says, in any order; nothing where it is
/// broken, or lacks what a record of its kind has.
pub(crate) fn header(mut fields: Fields<'_>) -> Option<Header<'_>> {
    let mut known = Known::default();
    for (name, value) in fields.by_ref() {
        known.take(name, value);
    }
    match fields.is_broken() {
        true => None,
        false => known.header(),
    }
}

impl<'b> Known<'b> {
    fn take(&mut self, name: &[u8], value: &'b [u8]) {
        match name {
            b"op" => self.op = value.first().copied().filter(|_| value.len() == 1),
            b"conn" => self.connection = u32_of(value),
            b"time" => self.time = time_of(value),
            b"count" => self.count = u32_of(value),
            b"ver" => self.version = u32_of(value),
            b"size" => self.size = u32_of(value),
            b"compression" => self.compression = Some(value),
            b"topic" => self.topic = Some(value),
            b"start_time" => self.first = time_of(value),
            b"end_time" => self.last = time_of(value),
            b"chunk_pos" => self.chunk_at = u64_of(value),
            b"index_pos" => {
                self.has_index_at = value.len() == 8;
                self.bag.index_at = u64_of(value).unwrap_or(0);
            }
            b"conn_count" => self.bag.connections = u32_of(value).unwrap_or(0),
            b"chunk_count" => self.bag.chunks = u32_of(value).unwrap_or(0),
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
            // Nothing new has all that a chunk or a message has: its kind is broken.
            _ if self.compression.is_some() && self.size.is_some() => return None,
            _ if self.connection.is_some() && self.time.is_some() => return None,
            other => Header::Other(other),
        })
    }
}

/// The connection, the time and the frame of the message at the start of `bytes`, if
/// its header is the one that nearly all writers write; else [`frame`] and [`header`]
/// have to look.
#[inline]
pub(crate) fn usual_message(bytes: &[u8]) -> Option<(u32, Timestamp, Frame)> {
    let mut cut = ByteReader::new(bytes.first_chunk::<46>()?);
    let is_usual = cut.bytes(13)? == b"\x26\0\0\0\x09\0\0\0conn=";
    let connection = cut.u32()?;
    let is_usual = is_usual && cut.bytes(17)? == b"\x04\0\0\0op=\x02\x0d\0\0\0time=";
    let time = time_from(cut.u32()?, cut.u32()?);
    let frame = Frame { fields_len: 38, data_len: cut.u32()? };
    is_usual.then_some((connection, time, frame))
}

/// How long a record of index data is beside its entries: two lengths, and the fields `op`,
/// `ver`, `conn` and `count`.
pub(crate) const INDEX_HEAD: u64 = 4 + 8 + 12 + 13 + 14 + 4;

/// The entries of an index record: times and offsets into the unpacked chunk.
pub(crate) fn index_entries(data: &[u8]) -> impl Iterator<Item = (Timestamp, u32)> {
    let (entries, _) = data.as_chunks::<12>();
    entries.iter().filter_map(|entry| {
        let mut cut = ByteReader::new(entry);
        Some((time_from(cut.u32()?, cut.u32()?), cut.u32()?))
    })
}

/// The entries of a chunk info: connections and how many messages each has.
pub(crate) fn chunk_counts(data: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let (entries, _) = data.as_chunks::<8>();
    entries.iter().filter_map(|entry| {
        let mut cut = ByteReader::new(entry);
        Some((cut.u32()?, cut.u32()?))
    })
}

/// A time as ROS has it. (More than 10^9 nanoseconds carry over.)
pub(crate) fn time_from(secs: u32, nanos: u32) -> Timestamp {
    Timestamp::from_nanos(i64::from(secs) * 1_000_000_000 + i64::from(nanos))
}

fn time_of(value: &[u8]) -> Option<Timestamp> {
    let mut cut = ByteReader::new(value);
    let time = time_from(cut.u32()?, cut.u32()?);
    cut.rest().is_empty().then_some(time)
}

pub(crate) fn u32_of(value: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(value.try_into().ok()?))
}

pub(crate) fn u64_of(value: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(value.try_into().ok()?))
}

#[cfg(test)]
mod tests;
