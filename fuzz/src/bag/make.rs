//! Builds bags byte by byte, so that the fuzzer need not find valid ones.

use std::io::Write as _;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

/// The compression of a chunk, as a set of bits.
#[derive(Clone, Copy, Debug)]
pub struct ChunkCompression(pub u8);

impl ChunkCompression {
    pub fn name(self) -> &'static str {
        ["none", "lz4", "bz2"][usize::from(self.0 % 3)]
    }

    /// Compresses `content`: LZ4 frames of all kinds, bz2 in one or several streams.
    pub fn compress(self, content: &[u8]) -> Vec<u8> {
        let bit = |bit: u8| self.0 >> bit & 1 == 1;
        match self.name() {
            "lz4" => {
                let mode =
                    if bit(2) { BlockMode::Linked } else { BlockMode::Independent };
                let size = if bit(3) { BlockSize::Max64KB } else { BlockSize::Max1MB };
                let len = bit(4).then_some(content.len() as u64);
                let frame = FrameInfo::new()
                    .block_mode(mode)
                    .block_size(size)
                    .block_checksums(bit(5))
                    .content_checksum(bit(6))
                    .content_size(len);
                let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
                encoder.write_all(content).expect("memory takes everything");
                encoder.finish().expect("the frame is finished")
            }
            "bz2" => {
                let middle = if bit(2) { content.len() / 2 } else { 0 };
                let (first, second) = content.split_at(middle);
                let parts = [first, second].into_iter().filter(|part| !part.is_empty());
                parts.flat_map(bz2).collect()
            }
            _ => content.to_vec(),
        }
    }
}

fn bz2(content: &[u8]) -> Vec<u8> {
    let level = bzip2::Compression::fast();
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
    encoder.write_all(content).expect("memory takes everything");
    encoder.finish().expect("the stream is finished")
}

fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let len = (name.len() + 1 + value.len()) as u32;
    [&len.to_le_bytes(), name.as_bytes(), b"=", value].concat()
}

/// Encodes a record: the lengths, the fields, the data.
pub fn record(fields: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let fields: Vec<u8> = fields.iter().flat_map(|(n, v)| field(n, v)).collect();
    let len = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
    [&len(&fields)[..], &fields, &len(data), data].concat()
}

pub fn connection(
    id: u32,
    topic: &str,
    type_name: &str,
    md5sum: &str,
    text: &str,
) -> Vec<u8> {
    let data = [
        field("topic", topic.as_bytes()),
        field("type", type_name.as_bytes()),
        field("md5sum", md5sum.as_bytes()),
        field("message_definition", text.as_bytes()),
        field("latching", b"1"),
    ];
    let fields =
        [("conn", &id.to_le_bytes()[..]), ("op", b"\x07"), ("topic", topic.as_bytes())];
    record(&fields, &data.concat())
}

pub fn message(id: u32, seconds: u32, nanos: u32, payload: &[u8]) -> Vec<u8> {
    let time = [seconds.to_le_bytes(), nanos.to_le_bytes()].concat();
    let fields = [("conn", &id.to_le_bytes()[..]), ("op", b"\x02"), ("time", &time)];
    record(&fields, payload)
}

/// Encodes a chunk with the data `compressed`. `size` is the declared uncompressed length.
pub fn chunk(compression: &str, size: u32, compressed: &[u8]) -> Vec<u8> {
    let size = size.to_le_bytes();
    let fields =
        [("compression", compression.as_bytes()), ("op", b"\x05"), ("size", &size)];
    record(&fields, compressed)
}

/// A chunk, and the index entries of its messages.
pub struct Chunk {
    pub record: Vec<u8>,
    /// Connection, seconds, nanoseconds and offset of each message.
    pub messages: Vec<(u32, u32, u32, u32)>,
}

/// Encodes the first line and the bag header.
pub fn head(index_at: u64, connections: u32, chunks: u32) -> Vec<u8> {
    let (connections, chunks) = (connections.to_le_bytes(), chunks.to_le_bytes());
    let fields = [
        ("chunk_count", &chunks[..]),
        ("conn_count", &connections),
        ("index_pos", &index_at.to_le_bytes()),
        ("op", b"\x03"),
    ];
    // Not padded to 4096 bytes, because the fuzzer would have to copy the padding.
    [b"#ROSBAG V2.0\n".to_vec(), record(&fields, b"    ")].concat()
}

/// Encodes a bag with an index.
pub fn indexed_bag(connections: &[Vec<u8>], chunks: &[Chunk]) -> Vec<u8> {
    let counts = (connections.len() as u32, chunks.len() as u32);
    let mut bag = head(0, counts.0, counts.1);
    let mut infos = Vec::new();
    for chunk in chunks {
        let at = bag.len() as u64;
        bag.extend(&chunk.record);
        let mut ids: Vec<u32> = chunk.messages.iter().map(|m| m.0).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut counted = Vec::new();
        for id in &ids {
            let of_it = chunk.messages.iter().filter(|m| m.0 == *id);
            let entries: Vec<u8> = of_it
                .flat_map(|m| [m.1, m.2, m.3].map(u32::to_le_bytes).concat())
                .collect();
            let count = (entries.len() as u32 / 12).to_le_bytes();
            let id = id.to_le_bytes();
            let fields = [
                ("ver", &1_u32.to_le_bytes()[..]),
                ("conn", &id),
                ("count", &count),
                ("op", b"\x04"),
            ];
            bag.extend(record(&fields, &entries));
            counted.extend([id, count].concat());
        }
        let times = chunk.messages.iter().map(|m| (m.1, m.2));
        let time = |time: Option<(u32, u32)>| {
            let (seconds, nanos) = time.unwrap_or_default();
            [seconds.to_le_bytes(), nanos.to_le_bytes()].concat()
        };
        let fields = [
            ("ver", &1_u32.to_le_bytes()[..]),
            ("chunk_pos", &at.to_le_bytes()),
            ("start_time", &time(times.clone().min())),
            ("end_time", &time(times.max())),
            ("count", &(ids.len() as u32).to_le_bytes()),
            ("op", b"\x06"),
        ];
        infos.push(record(&fields, &counted));
    }
    let index_at = bag.len() as u64;
    bag.extend(connections.concat());
    bag.extend(infos.concat());
    let head = head(index_at, counts.0, counts.1);
    bag[..head.len()].copy_from_slice(&head);
    bag
}
