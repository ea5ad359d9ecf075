//! Decompresses chunks, as far as possible.
//!
//! The declared length of the records is only used for the first allocation, and for the limit of
//! chunks with an extreme ratio.

use std::{
    io::{self, Read},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{ChunkLimits, Damage, DamageKind, OpenOptions, Result, Source};
use logtool_lz4::{FrameOutcome as Frame, OutputBuffer};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use crate::{
    contents::{self, ContentItem},
    resync,
    wire::{self, CHUNK_HEADER_LEN, Chunk, RECORD_HEADER_LEN, op},
};

/// The maximum size of the first allocation, regardless of the declared length.
const MAX_FIRST_ALLOCATION: u64 = 4 << 20;

/// The number of bytes that are decompressed at a time, and their number after damage was found.
const READ_BYTES: usize = 64 << 10;
const READ_BYTES_AT_DAMAGE: usize = 256;

/// The maximum number of characters of a compression name in texts for users.
pub(crate) const MAX_NAME_CHARS: usize = 40;

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

    /// Compresses `bytes` into `buffer`, which must be empty. Returns the compressed
    /// bytes, and the buffer that is free now.
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
    pub(crate) is_fully_decompressed: bool,
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
    /// Decompresses a chunk of `source` as far as `limits` allow. `record` is its record, or
    /// the first bytes of it. Returns `None` if it is not a chunk.
    ///
    /// If the header contradicts itself, the length of the record and the decompressed
    /// data decide. If the header is unreadable, the records are searched.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn new(
        record: &Bytes,
        limits: &ChunkLimits,
        source: &dyn Source,
    ) -> Result<Option<Self>> {
        let len = record.len() as u64;
        // Only headers with a sound opcode are counted in the limits.
        let is_chunk = record.first() == Some(&op::CHUNK);
        let chunk = record.get(RECORD_HEADER_LEN..).and_then(Chunk::parse);
        let declared_len =
            chunk.filter(|_| is_chunk).map_or(0, |chunk| chunk.uncompressed_len);
        let limit = limits.max_len(source, len, declared_len)?;
        let with_header = Self::with_header(record, limit);
        Ok(with_header.or_else(|| without_header(record, limit)))
    }

    /// Decompresses the chunk in `record` if every chunk of this length may decompress to
    /// the length that it declares, which is `declared_len`.
    pub(crate) fn new_ordinary(record: &Bytes, declared_len: u64) -> Option<Self> {
        let is_ordinary = ChunkLimits::is_ordinary(record.len() as u64, declared_len);
        let limit = usize::try_from(declared_len).ok().filter(|_| is_ordinary)?;
        Self::with_header(record, limit)
    }

    /// Returns the byte range in the file of the records at `records_range` of this
    /// chunk: the whole chunk if it is compressed. The chunk is at `chunk_range`.
    pub(crate) fn file_range(
        &self,
        chunk_range: Range<u64>,
        records_range: &Range<usize>,
    ) -> Range<u64> {
        match self.records_start {
            Some(records_start) => {
                let start = chunk_range.start + records_start as u64;
                start + records_range.start as u64..start + records_range.end as u64
            }
            None => chunk_range,
        }
    }

    /// Decompresses a chunk according to its header.
    fn with_header(record: &Bytes, limit: usize) -> Option<Self> {
        let (opcode, content_len) = wire::record_header(record)?;
        let content = record.get(RECORD_HEADER_LEN..)?;
        let chunk = Chunk::parse(content)?;
        let compressed_start = chunk.compressed_start();
        let available_len = content.len().checked_sub(compressed_start)? as u64;
        // The length of the compressed records follows from the length of the record, and
        // is also a field of its own.
        let len_by_record = content_len.checked_sub(compressed_start as u64);
        let compression = Compression::from_name(chunk.compression);
        let is_consistent =
            opcode == op::CHUNK && len_by_record == Some(chunk.compressed_len);
        let is_cut = chunk.compressed_len > available_len
            && (is_consistent || len_by_record.is_some_and(|len| len > available_len));
        // Random bytes look like chunks with unknown compressions.
        if !is_consistent
            && (compression.is_none()
                || opcode != op::CHUNK && chunk.compressed_len != available_len)
        {
            return None;
        }
        let records_start = RECORD_HEADER_LEN + compressed_start;
        let declared_bytes =
            record.slice(records_start..records_start + chunk.compressed.len());
        // Fields that a later specification adds may follow the records. Only records that
        // match the header prove that these bytes are not a part of the records.
        let may_be_extended = opcode == op::CHUNK
            && available_len > chunk.compressed_len
            && content_len == content.len() as u64;
        let extended = may_be_extended
            .then(|| {
                let len = chunk.uncompressed_len;
                decompress(compression, &declared_bytes, len, limit, false)
            })
            .filter(|(records, result)| {
                *result == Decompression::Complete && matches_header(&chunk, records)
            });
        let is_consistent = is_consistent || extended.is_some();
        let compressed =
            if is_consistent { declared_bytes } else { record.slice(records_start..) };
        let (records, result) = extended.unwrap_or_else(|| {
            decompress(compression, &compressed, chunk.uncompressed_len, limit, is_cut)
        });
        let is_length_correct = records.len() as u64 == chunk.uncompressed_len;
        let has_checksum = chunk.crc != 0;
        let matches_checksum = has_checksum && crc32fast::hash(&records) == chunk.crc;
        // If the records are complete, both lengths of the compressed records are wrong.
        let is_cut = is_cut && !(is_length_correct && matches_checksum);
        let is_fully_decompressed = result == Decompression::Complete && !is_cut;
        let result = match result {
            Decompression::Complete
                if is_length_correct && (matches_checksum || !has_checksum) =>
            {
                Decompression::Complete
            }
            Decompression::Complete if is_length_correct => {
                Decompression::WrongChecksum
            }
            Decompression::Complete
                if matches_checksum || !has_checksum && are_valid_records(&records) =>
            {
                Decompression::Complete
            }
            Decompression::Complete => Decompression::Damaged,
            result => result,
        };
        // A truncated record is reported as truncated, and not as contradictory.
        let is_contradictory = result == Decompression::Complete
            && !is_cut
            && (!is_consistent
                || !is_length_correct
                || chunk.compressed_len > available_len);
        let is_uncompressed = compression == Some(Compression::None);
        Some(Self {
            records,
            records_start: is_uncompressed.then_some(records_start),
            result,
            compression: record.slice_ref(chunk.compression),
            compressed_len: compressed.len() as u64,
            is_fully_decompressed,
            is_cut,
            header: if is_contradictory {
                HeaderState::Contradictory
            } else {
                HeaderState::Consistent
            },
        })
    }

    /// Returns the chunk as one that ends at `end` of a file of `file_len` bytes. If it is too
    /// short although the file continues, it is not truncated: bytes are missing inside.
    pub(crate) fn in_file(mut self, end: u64, file_len: u64) -> Self {
        if self.is_cut && end < file_len {
            self.is_cut = false;
            self.result = match self.result {
                Decompression::Complete | Decompression::WrongChecksum => {
                    Decompression::Damaged
                }
                result => result,
            };
        }
        self
    }

    /// Returns the damage that affects the whole chunk, which is at `position`.
    pub(crate) fn damage(&self, position: &Range<u64>) -> Option<Damage> {
        let whole_chunk = |kind| Damage::new(kind, position.clone());
        let damage = match (self.result, self.header) {
            _ if self.is_cut => whole_chunk(DamageKind::Truncated),
            (Decompression::Complete, HeaderState::Consistent) => return None,
            (Decompression::Complete, HeaderState::Contradictory) => {
                let reason = "the header of the chunk contradicts its contents";
                whole_chunk(DamageKind::Index).with_reason(reason)
            }
            (Decompression::Complete, HeaderState::Damaged(len)) => {
                let first_bytes =
                    position.start..position.end.min(position.start + len as u64);
                let reason = "the header of the chunk is damaged";
                Damage::new(DamageKind::Garbled, first_bytes).with_reason(reason)
            }
            (Decompression::OverLimit, _) => whole_chunk(DamageKind::OverLimit),
            (Decompression::WrongChecksum, _) => whole_chunk(DamageKind::Doubtful),
            (Decompression::Damaged, _) => whole_chunk(DamageKind::Garbled),
            (Decompression::UnknownCompression, _) => {
                let name = logtool_core::decode_text(&self.compression);
                let name: String = name.chars().take(MAX_NAME_CHARS).collect();
                let reason = format!("the chunk has the unknown compression {name:?}");
                whole_chunk(DamageKind::Garbled).with_reason(reason)
            }
        };
        Some(damage)
    }

    /// Returns true if the checksum cannot verify the available records, because it also
    /// covers records that are lost. The available ones may be wrong.
    pub(crate) fn is_unverified(&self) -> bool {
        self.result == Decompression::Damaged
            && !self.is_cut
            && !self.records.is_empty()
    }

    /// Returns true if the chunk is not damaged.
    pub(crate) fn is_sound(&self) -> bool {
        self.damage(&(0..0)).is_none()
    }

    /// Returns true if the last records are lost.
    fn lacks_last_records(&self) -> bool {
        let is_incomplete = matches!(
            self.result,
            Decompression::Damaged
                | Decompression::UnknownCompression
                | Decompression::OverLimit
        );
        self.is_cut || is_incomplete
    }

    /// Returns true if the damage of the whole chunk already covers an incomplete record
    /// at `range`, because the decompressed records end there.
    pub(crate) fn covers_damage_at(&self, range: &Range<usize>) -> bool {
        range.end == self.records.len() && self.lacks_last_records()
    }
}

/// Finds the compressed data of a chunk by their magic bytes instead of by the header of
/// the chunk. Returns the compression, and the offset of the data. `record` is the record
/// of the chunk, or the first bytes of it.
pub(crate) fn find_compressed_data(record: &[u8]) -> Option<(Compression, usize)> {
    [Compression::Lz4, Compression::Zstd].into_iter().find_map(|compression| {
        let start = RECORD_HEADER_LEN + CHUNK_HEADER_LEN + compression.name().len();
        let data = record.get(start..)?;
        data.starts_with(compression.magic()).then_some((compression, start))
    })
}

/// Decompresses a chunk whose header is unreadable.
fn without_header(record: &Bytes, limit: usize) -> Option<DecompressedChunk> {
    let (compression, start) = match find_compressed_data(record) {
        Some(compression_and_start) => compression_and_start,
        None => (Compression::None, resync::find_in_bytes(record, true)?),
    };
    let compressed = record.slice(start..);
    let (records, result) = decompress(Some(compression), &compressed, 0, limit, false);
    Some(DecompressedChunk {
        records_start: (compression == Compression::None).then_some(start),
        result,
        compression: Bytes::from_static(compression.name().as_bytes()),
        compressed_len: compressed.len() as u64,
        is_fully_decompressed: false,
        is_cut: false,
        header: HeaderState::Damaged(start),
        records,
    })
}

/// Returns true if `records` have the declared length and match the declared checksum. If
/// no checksum is declared, they must be valid records instead.
fn matches_header(chunk: &Chunk<'_>, records: &[u8]) -> bool {
    let has_checksum = chunk.crc != 0;
    records.len() as u64 == chunk.uncompressed_len
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

/// Decompresses `compressed`, which should result in `declared_len` bytes. `is_cut` means
/// that the end of `compressed` is missing. Returns all data before any damage.
fn decompress(
    compression: Option<Compression>,
    compressed: &Bytes,
    declared_len: u64,
    limit: usize,
    is_cut: bool,
) -> (Bytes, Decompression) {
    match compression {
        None => (Bytes::new(), Decompression::UnknownCompression),
        Some(Compression::None) if compressed.len() > limit => {
            (compressed.slice(..limit), Decompression::OverLimit)
        }
        Some(Compression::None) => (compressed.clone(), Decompression::Complete),
        Some(Compression::Lz4) => {
            decompress_lz4(compressed, declared_len, limit, is_cut)
        }
        Some(Compression::Zstd) => decompress_zstd(compressed, declared_len, limit),
    }
}

fn decompress_lz4(
    compressed: &[u8],
    declared_len: u64,
    limit: usize,
    is_cut: bool,
) -> (Bytes, Decompression) {
    let declared_len = usize::try_from(declared_len).unwrap_or(usize::MAX);
    let capacity = declared_len.min(MAX_FIRST_ALLOCATION as usize).min(limit);
    let mut records = OutputBuffer::with_buffer(BytesMut::new(), capacity);
    let outcome =
        logtool_lz4::unpack(compressed, declared_len, limit, is_cut, &mut records);
    let result = match outcome {
        // `Ended`: only the end mark or the checksum after it is missing. The length
        // of the records is compared with the header of the chunk in any case.
        Frame::Whole | Frame::Ended => Decompression::Complete,
        Frame::Cut | Frame::Broken => Decompression::Damaged,
        Frame::Doubtful => Decompression::WrongChecksum,
        Frame::OverLimit => Decompression::OverLimit,
    };
    (records.into_buffer().freeze(), result)
}

/// Decompresses in one call if the declared length is correct, otherwise as far as
/// possible.
fn decompress_zstd(
    compressed: &[u8],
    declared_len: u64,
    limit: usize,
) -> (Bytes, Decompression) {
    if declared_len <= limit as u64
        && let Ok(records) = zstd::bulk::decompress(compressed, declared_len as usize)
    {
        return (records.into(), Decompression::Complete);
    }
    let (records, result) = read_zstd(compressed, READ_BYTES, limit);
    if result != Decompression::Damaged {
        return (records.into(), result);
    }
    // An error discards the data of the same call, so now each call reads only a few bytes.
    let (records, result) = read_zstd(compressed, READ_BYTES_AT_DAMAGE, limit);
    (records.into(), result)
}

/// Decompresses up to `limit` bytes in steps of `step` bytes, up to the first error.
fn read_zstd(compressed: &[u8], step: usize, limit: usize) -> (Vec<u8>, Decompression) {
    let (mut records, mut buffer) = (Vec::new(), vec![0; step]);
    let Ok(mut decoder) = zstd::stream::read::Decoder::with_buffer(compressed) else {
        return (records, Decompression::Damaged);
    };
    let result = loop {
        match decoder.read(&mut buffer) {
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
    (records, result)
}
