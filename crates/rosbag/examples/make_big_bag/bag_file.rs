//! Writing bags independently of the library, so that benchmarks do not only read the output of the
//! measured code.
//!
//! The bags have the form that the recorder of ROS writes: connections before their first message,
//! chunks of 768 KiB, and LZ4 frames of independent blocks of 1 MiB with a content checksum.

use std::{
    collections::BTreeMap,
    error::Error,
    fs::File,
    io::{self, BufWriter, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

/// The size in bytes at which a chunk is written.
const CHUNK_BYTES: usize = 768 << 10;

/// Encodes a time, in nanoseconds since 1970, as seconds and nanoseconds.
fn time(nanos: u64) -> Vec<u8> {
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    [(seconds as u32).to_le_bytes(), (nanos as u32).to_le_bytes()].concat()
}

fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let len = (name.len() + 1 + value.len()) as u32;
    [&len.to_le_bytes(), name.as_bytes(), b"=", value].concat()
}

fn record(out: &mut Vec<u8>, fields: &[(&str, &[u8])], data: &[u8]) {
    let len: usize =
        fields.iter().map(|(name, value)| 5 + name.len() + value.len()).sum();
    out.extend((len as u32).to_le_bytes());
    for (name, value) in fields {
        out.extend(field(name, value));
    }
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
}

/// The compression of chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChunkCompression {
    None,
    Lz4,
    Bz2,
}

impl ChunkCompression {
    /// Returns the compression with this `name`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Lz4, Self::Bz2]
            .into_iter()
            .find(|compression| compression.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Bz2 => "bz2",
        }
    }

    fn compress(self, content: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(content.to_vec()),
            Self::Lz4 => {
                let frame = FrameInfo::new()
                    .block_mode(BlockMode::Independent)
                    .block_size(BlockSize::Max1MB)
                    .content_checksum(true);
                let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
                encoder.write_all(content)?;
                Ok(encoder.finish()?)
            }
            Self::Bz2 => {
                let best = bzip2::Compression::best();
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), best);
                encoder.write_all(content)?;
                encoder.finish()
            }
        }
    }
}

/// A bag that is being written.
pub(crate) struct BagFile {
    out: BufWriter<File>,
    /// The length of the bag so far.
    position: u64,
    compression: ChunkCompression,
    connections: Vec<Connection>,
    /// The records of the current chunk.
    content: Vec<u8>,
    /// The times and offsets of the messages of each connection in the current chunk.
    index: BTreeMap<u32, Vec<(u64, u32)>>,
    /// The chunk infos of the chunks so far.
    chunk_infos: Vec<u8>,
    /// The number of chunks so far.
    chunks: u32,
}

struct Connection {
    topic: String,
    header: Vec<u8>,
    is_written: bool,
}

impl BagFile {
    pub(crate) fn create(
        path: &Path,
        compression: ChunkCompression,
    ) -> io::Result<Self> {
        let mut bag = Self {
            out: BufWriter::with_capacity(1 << 20, File::create(path)?),
            position: 0,
            compression,
            connections: vec![],
            content: vec![],
            index: BTreeMap::new(),
            chunk_infos: vec![],
            chunks: 0,
        };
        bag.write_bytes(&file_start(0, 0, 0))?;
        Ok(bag)
    }

    /// Adds a connection.
    pub(crate) fn connect(
        &mut self,
        topic: &str,
        type_name: &str,
        text: &str,
        caller: &str,
    ) -> Result<(), Box<dyn Error>> {
        let md5sum = logtool_rosmsg::md5sum(type_name, text)?;
        let latching = if topic == "/tf_static" { b"1" } else { b"0" };
        let header = [
            field("callerid", caller.as_bytes()),
            field("latching", latching),
            field("md5sum", md5sum.as_bytes()),
            field("message_definition", text.as_bytes()),
            field("topic", topic.as_bytes()),
            field("type", type_name.as_bytes()),
        ];
        let (topic, header) = (topic.to_owned(), header.concat());
        self.connections.push(Connection { topic, header, is_written: false });
        Ok(())
    }

    pub(crate) fn write(
        &mut self,
        connection: u32,
        nanos: u64,
        payload: &[u8],
    ) -> io::Result<()> {
        let declaration = &mut self.connections[connection as usize];
        if !declaration.is_written {
            declaration.is_written = true;
            declaration.write(connection, &mut self.content);
        }
        let offset = self.content.len() as u32;
        self.index.entry(connection).or_default().push((nanos, offset));
        let (number, time) = (connection.to_le_bytes(), time(nanos));
        let fields = [("conn", &number[..]), ("op", b"\x02"), ("time", &time)];
        record(&mut self.content, &fields, payload);
        if self.content.len() > CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    /// Writes the index, and returns the length of the bag.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.end_chunk()?;
        let index_at = self.position;
        let mut index = Vec::new();
        for (number, connection) in self.connections.iter().enumerate() {
            connection.write(number as u32, &mut index);
        }
        index.append(&mut self.chunk_infos);
        self.write_bytes(&index)?;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&file_start(
            index_at,
            self.connections.len() as u32,
            self.chunks,
        ))?;
        self.out.flush()?;
        Ok(self.position)
    }

    /// Writes the current chunk with its index data.
    fn end_chunk(&mut self) -> io::Result<()> {
        if self.content.is_empty() {
            return Ok(());
        }
        let (chunk_at, size) =
            (self.position, (self.content.len() as u32).to_le_bytes());
        let name = self.compression.name().as_bytes();
        let fields = [("compression", name), ("op", b"\x05"), ("size", &size)];
        let mut out = Vec::with_capacity(self.content.len() + 1_024);
        record(&mut out, &fields, &self.compression.compress(&self.content)?);
        self.content.clear();
        let mut counts = Vec::new();
        let (mut first, mut last) = (u64::MAX, 0);
        for (connection, entries) in &self.index {
            let data: Vec<u8> = entries
                .iter()
                .flat_map(|(nanos, offset)| {
                    [time(*nanos), offset.to_le_bytes().to_vec()].concat()
                })
                .collect();
            let (number, count) =
                (connection.to_le_bytes(), (entries.len() as u32).to_le_bytes());
            let fields = [
                ("conn", &number[..]),
                ("count", &count),
                ("op", b"\x04"),
                ("ver", &ONE),
            ];
            record(&mut out, &fields, &data);
            counts.extend([number, count].concat());
            first = entries.iter().map(|entry| entry.0).fold(first, u64::min);
            last = entries.iter().map(|entry| entry.0).fold(last, u64::max);
        }
        let fields = [
            ("chunk_pos", &chunk_at.to_le_bytes()[..]),
            ("count", &(self.index.len() as u32).to_le_bytes()),
            ("end_time", &time(last)),
            ("op", b"\x06"),
            ("start_time", &time(first)),
            ("ver", &ONE),
        ];
        record(&mut self.chunk_infos, &fields, &counts);
        self.index.clear();
        self.chunks += 1;
        self.write_bytes(&out)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

const ONE: [u8; 4] = 1_u32.to_le_bytes();

impl Connection {
    fn write(&self, number: u32, out: &mut Vec<u8>) {
        let number = number.to_le_bytes();
        let fields =
            [("conn", &number[..]), ("op", b"\x07"), ("topic", self.topic.as_bytes())];
        record(out, &fields, &self.header);
    }
}

/// Returns the first line and the bag header, which is padded as in ROS.
fn file_start(index_at: u64, connections: u32, chunks: u32) -> Vec<u8> {
    let (connections, chunks) = (connections.to_le_bytes(), chunks.to_le_bytes());
    let fields = [
        ("chunk_count", &chunks[..]),
        ("conn_count", &connections),
        ("index_pos", &index_at.to_le_bytes()),
        ("op", b"\x03"),
    ];
    let len: usize =
        fields.iter().map(|(name, value)| 5 + name.len() + value.len()).sum();
    let mut out = b"#ROSBAG V2.0\n".to_vec();
    record(&mut out, &fields, &vec![b' '; 4_096 - len]);
    out
}
