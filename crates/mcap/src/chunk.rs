//! Unpacking chunks, as far as it goes.
//!
//! The size that a chunk declares is a hint for the first allocation and nothing more.

use std::{
    io::{self, Read},
    ops::Range,
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, DamageKind, OpenOptions};
use logtool_lz4::{Output, Unpacked as Frame};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use crate::{
    contents::{self, Met},
    resync,
    wire::{self, Chunk, HEAD_LEN, op},
};

/// No first allocation is longer than this, whatever a chunk declares.
const FIRST: u64 = 4 << 20;

/// How many bytes are unpacked at a time where damage is possible.
const PIECE: usize = 256;

/// So many letters of the name of a compression are told.
const NAME_LEN: usize = 40;

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

    /// What it begins with what it packed; nothing if it does not pack.
    fn mark(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Lz4 => b"\x04\x22\x4d\x18",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
        }
    }

    /// Packs `bytes`, into `room` if that is empty; and what is left to be used again.
    pub(crate) fn pack(
        self,
        bytes: Vec<u8>,
        mut room: Vec<u8>,
    ) -> io::Result<(Vec<u8>, Vec<u8>)> {
        match self {
            Self::None => Ok((bytes, room)),
            Self::Lz4 => {
                // Of a damaged block, most readers lose all: blocks are short.
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max64KB)
                    .block_mode(BlockMode::Independent);
                let mut frame = FrameEncoder::with_frame_info(info, room);
                io::Write::write_all(&mut frame, &bytes)?;
                Ok((frame.finish().map_err(io::Error::other)?, bytes))
            }
            Self::Zstd => {
                room.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                zstd::bulk::Compressor::new(1)?
                    .compress_to_buffer(&bytes, &mut room)?;
                Ok((room, bytes))
            }
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
    head: Head,
}

/// What can be said of the head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// Nothing that is not so.
    Right,
    /// That it is not so, and that all is there.
    Misstated,
    /// That it is none, and the records begin so many bytes behind its start.
    Broken(usize),
}

impl Opened {
    /// Unpacks the chunk of which `record` is the record, or the first bytes of it, into
    /// no more than `limit` bytes; nothing if it is none.
    ///
    /// Where the head contradicts itself, it is gone by where the record ends, and what can
    /// be unpacked; where it cannot be understood, the records are looked for.
    pub(crate) fn new(record: &Bytes, limit: usize) -> Option<Self> {
        Self::told(record, limit).or_else(|| headless(record, limit))
    }

    /// Returns where in the file the `records` of the chunk at `chunk` lie: in the whole chunk,
    /// if it is packed.
    pub(crate) fn place(
        &self,
        chunk: Range<u64>,
        records: &Range<usize>,
    ) -> Range<u64> {
        match self.plain {
            Some(at) => {
                let at = chunk.start + at as u64;
                at + records.start as u64..at + records.end as u64
            }
            None => chunk,
        }
    }

    /// By what its head tells.
    fn told(record: &Bytes, limit: usize) -> Option<Self> {
        let (opcode, len) = wire::head(record)?;
        let content = record.get(HEAD_LEN..)?;
        let chunk = Chunk::parse(content)?;
        let start = chunk.packed_start();
        let rest = content.len().checked_sub(start)? as u64;
        let by_record = len.checked_sub(start as u64);
        let compression = Compression::of(chunk.compression);
        let is_right = opcode == op::CHUNK && by_record == Some(chunk.packed_len);
        let is_cut = chunk.packed_len > rest
            && (is_right || by_record.is_some_and(|len| len > rest));
        // Garbage looks packed in ways that nobody knows.
        if !is_right
            && (compression.is_none()
                || opcode != op::CHUNK && chunk.packed_len != rest)
        {
            return None;
        }
        let at = HEAD_LEN + start;
        let declared = record.slice(at..at + chunk.packed.len());
        let is_longer = rest > chunk.packed_len && len == content.len() as u64;
        let extended = (opcode == op::CHUNK && is_longer)
            .then(|| unpack(compression, &declared, chunk.size, limit, false))
            .filter(|(records, how)| {
                *how == Unpacked::Whole && is_as_declared(&chunk, records)
            });
        let is_right = is_right || extended.is_some();
        let packed = match is_right {
            true => declared,
            false => record.slice(at..),
        };
        let (records, how) = extended
            .unwrap_or_else(|| unpack(compression, &packed, chunk.size, limit, is_cut));
        let is_all = records.len() as u64 == chunk.size;
        let is_summed = chunk.crc != 0;
        let fits = is_summed && crc32fast::hash(&records) == chunk.crc;
        // Both lengths may be wrong.
        let is_cut = is_cut && !(is_all && fits);
        let is_ended = how == Unpacked::Whole && !is_cut;
        let how = match how {
            Unpacked::Whole if is_all && (fits || !is_summed) => Unpacked::Whole,
            Unpacked::Whole if is_all => Unpacked::Doubtful,
            Unpacked::Whole if fits || !is_summed && is_walked(&records) => {
                Unpacked::Whole
            }
            Unpacked::Whole => Unpacked::Broken,
            how => how,
        };
        // It is told nothing of a record that ends before it should.
        let is_misstated = how == Unpacked::Whole
            && !is_cut
            && (!is_right || !is_all || chunk.packed_len > rest);
        Some(Self {
            records,
            plain: (compression == Some(Compression::None)).then_some(at),
            how,
            compression: record.slice_ref(chunk.compression),
            packed_len: packed.len() as u64,
            is_ended,
            is_cut,
            head: if is_misstated { Head::Misstated } else { Head::Right },
        })
    }

    /// What is wrong with all of it, which lies at `place`.
    pub(crate) fn damage(&self, place: &Range<u64>) -> Option<Damage> {
        let of = |kind| Some(Damage::new(kind, place.clone()));
        match (self.how, self.head) {
            _ if self.is_cut => of(DamageKind::Truncated),
            (Unpacked::Whole, Head::Right) => None,
            (Unpacked::Whole, Head::Misstated) => {
                let why = "the head of the chunk says something else than is there";
                of(DamageKind::Index).map(|damage| damage.with_reason(why))
            }
            (Unpacked::Whole, Head::Broken(len)) => {
                let head = place.start..place.end.min(place.start + len as u64);
                let why = "the head of the chunk is broken";
                Some(Damage::new(DamageKind::Garbled, head).with_reason(why))
            }
            (Unpacked::OverLimit, _) => of(DamageKind::OverLimit),
            (Unpacked::Doubtful, _) => of(DamageKind::Doubtful),
            (Unpacked::Broken, _) => of(DamageKind::Garbled),
            (Unpacked::Unknown, _) => {
                let name = logtool_core::decode_text(&self.compression);
                let name: String = name.chars().take(NAME_LEN).collect();
                let why = format!(
                    "the chunk is compressed with {name:?}, which logtool does not know"
                );
                of(DamageKind::Garbled).map(|damage| damage.with_reason(why))
            }
        }
    }

    /// Whether the records that are there cannot be compared with the checksum, as the rest
    /// is broken: some of them may be falsified.
    pub(crate) fn is_unverified(&self) -> bool {
        self.how == Unpacked::Broken && !self.is_cut && !self.records.is_empty()
    }

    /// Whether nothing is wrong with it.
    pub(crate) fn is_sound(&self) -> bool {
        self.damage(&(0..0)).is_none()
    }

    /// Whether all of it is lost.
    fn is_lost(&self) -> bool {
        let is_broken = matches!(
            self.how,
            Unpacked::Broken | Unpacked::Unknown | Unpacked::OverLimit
        );
        self.is_cut || is_broken
    }

    /// Whether that there is no record at `range` of its records needs no more words:
    /// they end there, because something is wrong with all of it.
    pub(crate) fn is_told(&self, range: &Range<usize>) -> bool {
        range.end == self.records.len() && self.is_lost()
    }
}

/// How the records of a chunk are packed, of which `record` is the record, or the first bytes
/// of it, and where they begin: by the mark that what is packed begins with, whatever the head
/// says. (A head is 40 bytes, and the name of the compression.)
pub(crate) fn marked(record: &[u8]) -> Option<(Compression, usize)> {
    [Compression::Lz4, Compression::Zstd].into_iter().find_map(|how| {
        let at = HEAD_LEN + 40 + how.name().len();
        record.get(at..)?.starts_with(how.mark()).then_some((how, at))
    })
}

/// The chunk of which `record` is the record, whose head cannot be understood.
fn headless(record: &Bytes, limit: usize) -> Option<Opened> {
    let (compression, at, records, how) = match marked(record) {
        Some((compression, at)) => {
            let (records, how) =
                unpack(Some(compression), &record.slice(at..), 0, limit, false);
            (compression, at, records, how)
        }
        None => {
            let at = resync::next(record, true)?;
            let records = record.slice(at..record.len().min(at + limit));
            let is_over = record.len() > at + limit;
            let how = if is_over { Unpacked::OverLimit } else { Unpacked::Whole };
            (Compression::None, at, records, how)
        }
    };
    Some(Opened {
        plain: (compression == Compression::None).then_some(at),
        how,
        compression: Bytes::from_static(compression.name().as_bytes()),
        packed_len: (record.len() - at) as u64,
        is_ended: false,
        is_cut: false,
        head: Head::Broken(at),
        records,
    })
}

/// Whether `records` have the size and the checksum that `chunk` declares. Its record may be
/// longer than its fields then, by fields that a later specification adds.
fn is_as_declared(chunk: &Chunk<'_>, records: &[u8]) -> bool {
    let is_summed = chunk.crc != 0;
    records.len() as u64 == chunk.size
        && (is_summed && crc32fast::hash(records) == chunk.crc
            || !is_summed && is_walked(records))
}

/// Whether `records` are records to their end.
fn is_walked(records: &[u8]) -> bool {
    let mut is_whole = true;
    contents::walk(records, |met| is_whole &= !matches!(met, Met::Gap(_)));
    is_whole
}

/// Returns what `packed` is, which should be `size` bytes; `is_cut` says that its end is
/// missing. What was unpacked before damage is returned too.
fn unpack(
    how: Option<Compression>,
    packed: &Bytes,
    size: u64,
    limit: usize,
    is_cut: bool,
) -> (Bytes, Unpacked) {
    match how {
        None => (Bytes::new(), Unpacked::Unknown),
        Some(Compression::None) if packed.len() > limit => {
            (packed.slice(..limit), Unpacked::OverLimit)
        }
        Some(Compression::None) => (packed.clone(), Unpacked::Whole),
        Some(Compression::Lz4) => lz4(packed, size, limit, is_cut),
        Some(Compression::Zstd) => zstd(packed, size, limit),
    }
}

fn lz4(packed: &[u8], size: u64, limit: usize, is_cut: bool) -> (Bytes, Unpacked) {
    let declared = usize::try_from(size).unwrap_or(usize::MAX);
    let room = declared.min(FIRST as usize).min(limit);
    let mut records = Output::within(BytesMut::new(), room);
    let how = match logtool_lz4::unpack(packed, declared, limit, is_cut, &mut records) {
        // Only the mark of the end is missing: the chunk says how long the records are.
        Frame::Whole | Frame::Ended => Unpacked::Whole,
        Frame::Cut | Frame::Broken => Unpacked::Broken,
        Frame::Doubtful => Unpacked::Doubtful,
        Frame::OverLimit => Unpacked::OverLimit,
    };
    (records.into_buffer().freeze(), how)
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

/// Reads to the end, or to the first error. An error discards what the same call has unpacked
/// before it, so each call asks for little.
fn read(mut from: impl Read, size: u64, limit: usize) -> (Bytes, Unpacked) {
    let mut records = Vec::with_capacity(size.min(FIRST).min(limit as u64) as usize);
    let mut piece = [0; PIECE];
    let how = loop {
        match from.read(&mut piece) {
            Ok(0) => break Unpacked::Whole,
            Ok(len) => records.extend_from_slice(piece.get(..len).unwrap_or_default()),
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break Unpacked::Broken,
        }
        if records.len() > limit {
            break Unpacked::OverLimit;
        }
    };
    records.truncate(limit);
    (records.into(), how)
}
