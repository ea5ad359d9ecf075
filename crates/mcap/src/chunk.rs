//! Decompresses chunks, as far as possible.
//!
//! The declared size of a chunk is only used for the first allocation.

use std::{
    io::{self, Read},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, DamageKind, OpenOptions};
use logtool_lz4::{FrameOutcome as Frame, OutputBuffer};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use crate::{
    contents::{self, ContentItem},
    resync,
    wire::{self, Chunk, RECORD_HEADER_LEN, op},
};

/// The maximum size of the first allocation, regardless of the declared size.
const MAX_FIRST_ALLOCATION: u64 = 4 << 20;

/// The number of bytes that are decompressed at a time if the data may be damaged.
const READ_BYTES: usize = 256;

/// The maximum number of characters of a compression name in messages.
const MAX_NAME_CHARS: usize = 40;

/// The compression of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// LZ4 in its frame format.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// The result of decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decompression {
    /// All data was decompressed.
    Complete,
    /// The compressed bytes are damaged or truncated. The data before the damage was
    /// decompressed.
    Damaged,
    /// All data was decompressed, but a checksum is wrong.
    WrongChecksum,
    /// The decompressed data exceeds the limit.
    OverLimit,
    /// The compression is unknown.
    UnknownCompression,
}

impl Compression {
    /// Returns the compression with this name in MCAP files.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"" | b"none" => Some(Self::None),
            b"lz4" => Some(Self::Lz4),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Returns the name in MCAP files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the magic bytes at the start of compressed data; empty for no
    /// compression.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Lz4 => b"\x04\x22\x4d\x18",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
        }
    }

    /// Compresses `bytes` into `buffer` if that is empty. Returns the result, and a
    /// buffer that can be reused.
    pub(crate) fn compress(
        self,
        bytes: Vec<u8>,
        mut buffer: Vec<u8>,
    ) -> io::Result<(Vec<u8>, Vec<u8>)> {
        match self {
            Self::None => Ok((bytes, buffer)),
            Self::Lz4 => {
                // Most readers lose the rest of a damaged block, so blocks are short.
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max64KB)
                    .block_mode(BlockMode::Independent);
                let mut frame = FrameEncoder::with_frame_info(info, buffer);
                io::Write::write_all(&mut frame, &bytes)?;
                Ok((frame.finish().map_err(io::Error::other)?, bytes))
            }
            Self::Zstd => {
                buffer.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                zstd::bulk::Compressor::new(1)?
                    .compress_to_buffer(&bytes, &mut buffer)?;
                Ok((buffer, bytes))
            }
        }
    }
}

/// Returns the maximum length of a chunk record: the limit for decompressed data plus a
/// header.
pub(crate) fn max_record_len(options: OpenOptions) -> u64 {
    u64::from(options.record_bytes) + (1 << 16)
}

/// A decompressed chunk.
pub(crate) struct DecompressedChunk {
    /// The records, as far as they could be decompressed.
    pub(crate) records: Bytes,
    /// The offset of the records in the chunk record, if they are not compressed.
    pub(crate) records_start: Option<usize>,
    pub(crate) result: Decompression,
    /// The name of the compression in the file.
    pub(crate) compression: Bytes,
    /// The length of the compressed records, in bytes.
    pub(crate) compressed_len: u64,
    /// Whether the records were decompressed to their end.
    pub(crate) is_ended: bool,
    /// Whether the file ends before the end of the chunk.
    is_cut: bool,
    header: HeaderState,
}

/// The state of the header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderState {
    /// The header is consistent.
    Consistent,
    /// The header contradicts the contents, but no data is lost.
    Contradictory,
    /// The header is damaged. The records start at this offset from the start of the
    /// chunk.
    Damaged(usize),
}

impl DecompressedChunk {
    /// Decompresses a chunk into at most `limit` bytes. `record` is its record, or the
    /// first bytes of it. Returns `None` if it is not a chunk.
    ///
    /// If the header contradicts itself, the length of the record and the decompressed
    /// data decide. If the header is unreadable, the records are searched.
    pub(crate) fn new(record: &Bytes, limit: usize) -> Option<Self> {
        Self::with_header(record, limit).or_else(|| without_header(record, limit))
    }

    /// Returns the byte range in the file of `records` of the chunk at `chunk`: the
    /// whole chunk if it is compressed.
    pub(crate) fn file_range(
        &self,
        chunk: Range<u64>,
        records: &Range<usize>,
    ) -> Range<u64> {
        match self.records_start {
            Some(at) => {
                let at = chunk.start + at as u64;
                at + records.start as u64..at + records.end as u64
            }
            None => chunk,
        }
    }

    /// Decompresses a chunk according to its header.
    fn with_header(record: &Bytes, limit: usize) -> Option<Self> {
        let (opcode, len) = wire::record_header(record)?;
        let content = record.get(RECORD_HEADER_LEN..)?;
        let chunk = Chunk::parse(content)?;
        let start = chunk.compressed_start();
        let rest = content.len().checked_sub(start)? as u64;
        let by_record = len.checked_sub(start as u64);
        let compression = Compression::from_name(chunk.compression);
        let is_right = opcode == op::CHUNK && by_record == Some(chunk.compressed_len);
        let is_cut = chunk.compressed_len > rest
            && (is_right || by_record.is_some_and(|len| len > rest));
        // Random bytes look like chunks with unknown compressions.
        if !is_right
            && (compression.is_none()
                || opcode != op::CHUNK && chunk.compressed_len != rest)
        {
            return None;
        }
        let at = RECORD_HEADER_LEN + start;
        let declared = record.slice(at..at + chunk.compressed.len());
        let is_longer = rest > chunk.compressed_len && len == content.len() as u64;
        let extended = (opcode == op::CHUNK && is_longer)
            .then(|| decompress(compression, &declared, chunk.size, limit, false))
            .filter(|(records, result)| {
                *result == Decompression::Complete && matches_header(&chunk, records)
            });
        let is_right = is_right || extended.is_some();
        let compressed = if is_right { declared } else { record.slice(at..) };
        let (records, result) = extended.unwrap_or_else(|| {
            decompress(compression, &compressed, chunk.size, limit, is_cut)
        });
        let is_size_correct = records.len() as u64 == chunk.size;
        let has_checksum = chunk.crc != 0;
        let fits = has_checksum && crc32fast::hash(&records) == chunk.crc;
        // Both lengths may be wrong.
        let is_cut = is_cut && !(is_size_correct && fits);
        let is_ended = result == Decompression::Complete && !is_cut;
        let result = match result {
            Decompression::Complete if is_size_correct && (fits || !has_checksum) => {
                Decompression::Complete
            }
            Decompression::Complete if is_size_correct => Decompression::WrongChecksum,
            Decompression::Complete
                if fits || !has_checksum && are_valid_records(&records) =>
            {
                Decompression::Complete
            }
            Decompression::Complete => Decompression::Damaged,
            result => result,
        };
        // A record that ends too early is not reported as misstated.
        let is_contradictory = result == Decompression::Complete
            && !is_cut
            && (!is_right || !is_size_correct || chunk.compressed_len > rest);
        Some(Self {
            records,
            records_start: (compression == Some(Compression::None)).then_some(at),
            result,
            compression: record.slice_ref(chunk.compression),
            compressed_len: compressed.len() as u64,
            is_ended,
            is_cut,
            header: if is_contradictory {
                HeaderState::Contradictory
            } else {
                HeaderState::Consistent
            },
        })
    }

    /// Returns the damage that affects the whole chunk, which is at `position`.
    pub(crate) fn damage(&self, position: &Range<u64>) -> Option<Damage> {
        let damage = |kind| Some(Damage::new(kind, position.clone()));
        match (self.result, self.header) {
            _ if self.is_cut => damage(DamageKind::Truncated),
            (Decompression::Complete, HeaderState::Consistent) => None,
            (Decompression::Complete, HeaderState::Contradictory) => {
                let reason = "the header of the chunk contradicts its contents";
                damage(DamageKind::Index).map(|damage| damage.with_reason(reason))
            }
            (Decompression::Complete, HeaderState::Damaged(len)) => {
                let first_bytes =
                    position.start..position.end.min(position.start + len as u64);
                let reason = "the header of the chunk is damaged";
                Some(Damage::new(DamageKind::Garbled, first_bytes).with_reason(reason))
            }
            (Decompression::OverLimit, _) => damage(DamageKind::OverLimit),
            (Decompression::WrongChecksum, _) => damage(DamageKind::Doubtful),
            (Decompression::Damaged, _) => damage(DamageKind::Garbled),
            (Decompression::UnknownCompression, _) => {
                let name = logtool_core::decode_text(&self.compression);
                let name: String = name.chars().take(MAX_NAME_CHARS).collect();
                let reason = format!("the chunk has the unknown compression {name:?}");
                damage(DamageKind::Garbled).map(|damage| damage.with_reason(reason))
            }
        }
    }

    /// Returns true if the available records cannot be compared with the checksum
    /// because others are damaged: some of them may be wrong.
    pub(crate) fn is_unverified(&self) -> bool {
        self.result == Decompression::Damaged
            && !self.is_cut
            && !self.records.is_empty()
    }

    /// Returns true if the chunk is not damaged.
    pub(crate) fn is_sound(&self) -> bool {
        self.damage(&(0..0)).is_none()
    }

    /// Returns true if the whole chunk is damaged.
    fn is_lost(&self) -> bool {
        let is_broken = matches!(
            self.result,
            Decompression::Damaged
                | Decompression::UnknownCompression
                | Decompression::OverLimit
        );
        self.is_cut || is_broken
    }

    /// Returns true if a missing record at `range` is already covered by the damage of
    /// the whole chunk, because the decompressed records end there.
    pub(crate) fn is_reported(&self, range: &Range<usize>) -> bool {
        range.end == self.records.len() && self.is_lost()
    }
}

/// Returns the compression of a chunk and the offset of its compressed data, found by
/// the magic bytes of the data and not by the header. `record` is the record of the
/// chunk, or the first bytes of it. (A header has 40 bytes and the name of the
/// compression.)
pub(crate) fn find_compressed_data(record: &[u8]) -> Option<(Compression, usize)> {
    [Compression::Lz4, Compression::Zstd].into_iter().find_map(|compression| {
        let at = RECORD_HEADER_LEN + 40 + compression.name().len();
        record.get(at..)?.starts_with(compression.magic()).then_some((compression, at))
    })
}

/// Decompresses a chunk whose header is unreadable.
fn without_header(record: &Bytes, limit: usize) -> Option<DecompressedChunk> {
    let (compression, at, records, result) = match find_compressed_data(record) {
        Some((compression, at)) => {
            let (records, result) =
                decompress(Some(compression), &record.slice(at..), 0, limit, false);
            (compression, at, records, result)
        }
        None => {
            let at = resync::next(record, true)?;
            let records = record.slice(at..record.len().min(at + limit));
            let is_over = record.len() > at + limit;
            let result = if is_over {
                Decompression::OverLimit
            } else {
                Decompression::Complete
            };
            (Compression::None, at, records, result)
        }
    };
    Some(DecompressedChunk {
        records_start: (compression == Compression::None).then_some(at),
        result,
        compression: Bytes::from_static(compression.name().as_bytes()),
        compressed_len: (record.len() - at) as u64,
        is_ended: false,
        is_cut: false,
        header: HeaderState::Damaged(at),
        records,
    })
}

/// Returns true if `records` have the declared size and checksum. Then the record of
/// the chunk may be longer than its known fields, because of fields that a later
/// specification adds.
fn matches_header(chunk: &Chunk<'_>, records: &[u8]) -> bool {
    let has_checksum = chunk.crc != 0;
    records.len() as u64 == chunk.size
        && (has_checksum && crc32fast::hash(records) == chunk.crc
            || !has_checksum && are_valid_records(records))
}

/// Returns true if `records` consist of valid records only.
fn are_valid_records(records: &[u8]) -> bool {
    let mut are_valid = true;
    contents::for_each_record(records, |item| {
        are_valid &= !matches!(item, ContentItem::Damaged(_))
    });
    are_valid
}

/// Decompresses `compressed`, which should result in `size` bytes. `is_cut` means that the
/// end of `compressed` is missing. Returns all data before any damage.
fn decompress(
    compression: Option<Compression>,
    compressed: &Bytes,
    size: u64,
    limit: usize,
    is_cut: bool,
) -> (Bytes, Decompression) {
    match compression {
        None => (Bytes::new(), Decompression::UnknownCompression),
        Some(Compression::None) if compressed.len() > limit => {
            (compressed.slice(..limit), Decompression::OverLimit)
        }
        Some(Compression::None) => (compressed.clone(), Decompression::Complete),
        Some(Compression::Lz4) => lz4(compressed, size, limit, is_cut),
        Some(Compression::Zstd) => zstd(compressed, size, limit),
    }
}

fn lz4(
    compressed: &[u8],
    size: u64,
    limit: usize,
    is_cut: bool,
) -> (Bytes, Decompression) {
    let declared = usize::try_from(size).unwrap_or(usize::MAX);
    let capacity = declared.min(MAX_FIRST_ALLOCATION as usize).min(limit);
    let mut records = OutputBuffer::with_buffer(BytesMut::new(), capacity);
    let result =
        match logtool_lz4::unpack(compressed, declared, limit, is_cut, &mut records) {
            // Only the end mark is missing; the header of the chunk declares the length of
            // the records.
            Frame::Whole | Frame::Ended => Decompression::Complete,
            Frame::Cut | Frame::Broken => Decompression::Damaged,
            Frame::Doubtful => Decompression::WrongChecksum,
            Frame::OverLimit => Decompression::OverLimit,
        };
    (records.into_buffer().freeze(), result)
}

/// Decompresses in one call if the declared size is correct, otherwise as far as
/// possible.
fn zstd(compressed: &[u8], size: u64, limit: usize) -> (Bytes, Decompression) {
    if size <= limit as u64
        && size <= 1024 * compressed.len() as u64
        && let Ok(records) = zstd::bulk::decompress(compressed, size as usize)
    {
        return (records.into(), Decompression::Complete);
    }
    match zstd::stream::read::Decoder::with_buffer(compressed) {
        Ok(decoder) => read(decoder, size, limit),
        Err(_) => (Bytes::new(), Decompression::Damaged),
    }
}

/// Reads to the end or to the first error. An error discards the data of the same call,
/// so each call reads only a few bytes.
fn read(mut from: impl Read, size: u64, limit: usize) -> (Bytes, Decompression) {
    let mut records =
        Vec::with_capacity(size.min(MAX_FIRST_ALLOCATION).min(limit as u64) as usize);
    let mut buffer = [0; READ_BYTES];
    let result = loop {
        match from.read(&mut buffer) {
            Ok(0) => break Decompression::Complete,
            Ok(len) => records.extend_from_slice(buffer.get(..len).unwrap_or_default()),
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break Decompression::Damaged,
        }
        if records.len() > limit {
            break Decompression::OverLimit;
        }
    };
    records.truncate(limit);
    (records.into(), result)
}
