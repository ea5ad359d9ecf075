//! Unpacking chunks, as far as it goes.
//!
//! The size that a chunk declares is a hint for the first allocation and nothing more.

use std::{
    io::{self, Read},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{DamageKind, OpenOptions};

use crate::wire::{self, Chunk, HEAD_LEN, op};

/// No first allocation is longer than this, whatever a chunk declares.
const FIRST: u64 = 4 << 20;

/// How a chunk can be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// With LZ4, in its frame format.
    Lz4,
    /// With Zstandard.
    Zstd,
}

/// How unpacking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpacked {
    /// All is there.
    Whole,
    /// The packed bytes are broken, or cut. What is there was unpacked before that.
    Broken,
    /// All is there, and a checksum says that something in it is wrong.
    Doubtful,
    /// There is more than the limit.
    OverLimit,
    /// It is packed in a way that is not known.
    Unknown,
}

impl Compression {
    /// The compression that files call `name`.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"" | b"none" => Some(Self::None),
            b"lz4" => Some(Self::Lz4),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// What files call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Packs `bytes`.
    pub(crate) fn pack(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes),
            Self::Lz4 => {
                let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
                io::Write::write_all(&mut frame, &bytes)?;
                frame.finish().map_err(io::Error::other)
            }
            Self::Zstd => zstd::bulk::compress(&bytes, 1),
        }
    }
}

/// How long the record of a chunk may be: as much as may be unpacked, and its head.
pub(crate) fn most(options: OpenOptions) -> u64 {
    u64::from(options.record_bytes) + (1 << 16)
}

/// A chunk that is unpacked.
pub(crate) struct Opened {
    /// Its records, as far as they can be had.
    pub(crate) records: Bytes,
    /// Where they begin in the chunk's record, if they are not packed.
    pub(crate) plain: Option<usize>,
    pub(crate) how: Unpacked,
    /// What the file calls the compression.
    pub(crate) compression: Bytes,
    /// How many bytes the packed records are.
    pub(crate) packed_len: u64,
    /// Whether its records were unpacked to their end.
    pub(crate) is_ended: bool,
    /// Whether the file ends before the chunk.
    is_cut: bool,
}

impl Opened {
    /// Unpacks the chunk of which `record` is the record, or the first bytes of it, into
    /// no more than `limit` bytes; nothing if it is none.
    pub(crate) fn new(record: &Bytes, limit: usize) -> Option<Self> {
        let (_, len) = wire::head(record).filter(|(op, _)| *op == op::CHUNK)?;
        let content = record.get(HEAD_LEN..)?;
        let chunk = Chunk::parse(content)?;
        let is_cut =
            len > content.len() as u64 || chunk.packed_len > chunk.packed.len() as u64;
        let at = HEAD_LEN + chunk.packed_start();
        let packed = record.slice(at..at + chunk.packed.len());
        let compression = Compression::of(chunk.compression);
        let (records, how) = match compression {
            None => (Bytes::new(), Unpacked::Unknown),
            Some(Compression::None) if packed.len() > limit => {
                (packed.slice(..limit), Unpacked::OverLimit)
            }
            Some(Compression::None) => (packed, Unpacked::Whole),
            Some(Compression::Lz4) => {
                let frame = lz4_flex::frame::FrameDecoder::new(&packed[..]);
                read(frame, chunk.size, limit)
            }
            Some(Compression::Zstd) => zstd(&packed, chunk.size, limit),
        };
        let is_ended = how == Unpacked::Whole && !is_cut;
        let is_all = records.len() as u64 == chunk.size;
        let is_right = chunk.crc == 0 || crc32fast::hash(&records) == chunk.crc;
        let how = match how {
            Unpacked::Whole if !is_all => Unpacked::Broken,
            Unpacked::Whole if !is_right => Unpacked::Doubtful,
            how => how,
        };
        let plain = (compression == Some(Compression::None)).then_some(at);
        let compression = record.slice_ref(chunk.compression);
        let packed_len = chunk.packed_len;
        Some(Self { records, plain, how, compression, packed_len, is_ended, is_cut })
    }

    /// What is wrong with all of it.
    pub(crate) fn damage(&self) -> Option<DamageKind> {
        match self.how {
            _ if self.is_cut => Some(DamageKind::Truncated),
            Unpacked::Whole => None,
            Unpacked::OverLimit => Some(DamageKind::OverLimit),
            Unpacked::Doubtful => Some(DamageKind::Doubtful),
            Unpacked::Broken | Unpacked::Unknown => Some(DamageKind::Garbled),
        }
    }

    /// Whether that there is no record at `range` of its records needs no more words:
    /// they end there, because something is wrong with all of it.
    pub(crate) fn is_told(&self, range: &Range<usize>) -> bool {
        range.end == self.records.len()
            && self.damage().is_some_and(DamageKind::is_loss)
    }
}

/// In one go where the declared size is right; else as far as it goes.
fn zstd(packed: &[u8], size: u64, limit: usize) -> (Bytes, Unpacked) {
    if size <= limit as u64
        && size <= 1024 * packed.len() as u64
        && let Ok(records) = zstd::bulk::decompress(packed, size as usize)
    {
        return (records.into(), Unpacked::Whole);
    }
    match zstd::stream::read::Decoder::with_buffer(packed) {
        Ok(decoder) => read(decoder, size, limit),
        Err(_) => (Bytes::new(), Unpacked::Broken),
    }
}

fn read(from: impl Read, size: u64, limit: usize) -> (Bytes, Unpacked) {
    let mut records = Vec::with_capacity(size.min(FIRST).min(limit as u64) as usize);
    let read = from.take(limit as u64 + 1).read_to_end(&mut records);
    let how = match read {
        _ if records.len() > limit => Unpacked::OverLimit,
        Ok(_) => Unpacked::Whole,
        Err(_) => Unpacked::Broken,
    };
    records.truncate(limit);
    (records.into(), how)
}
