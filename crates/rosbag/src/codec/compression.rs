//! Decompressing chunks.
//!
//! The declared size of a chunk is only a hint for the first allocation. The result is everything
//! that the compressed bytes contain, up to a limit: see [`ChunkLimits`](logtool_core::ChunkLimits).

mod bz2;

use bytes::BytesMut;
use logtool_lz4::{self as lz4, OutputBuffer};

use crate::records::record_scanner::may_be_header;

pub(crate) use logtool_lz4::FrameOutcome;

/// The compression of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not compressed.
    None,
    /// Bzip2.
    Bz2,
    /// LZ4 frames.
    Lz4,
}

/// The maximum size of the first allocation, whatever a chunk declares.
const MAX_FIRST_ALLOCATION: usize = 4 << 20;

impl Compression {
    /// Returns the compression with this `name`.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"none" => Some(Self::None),
            b"bz2" => Some(Self::Bz2),
            b"lz4" => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Returns whether data with this compression can begin with `bytes`.
    pub(crate) fn can_start_with(self, bytes: &[u8]) -> bool {
        match self {
            Self::None => may_be_header(bytes),
            Self::Bz2 => bytes.starts_with(b"BZh"),
            Self::Lz4 => bytes.starts_with(b"\x04\x22\x4d\x18"),
        }
    }

    /// Returns the compression of data that begin with `bytes`, if the bytes are specific enough
    /// to identify compressed data between records.
    pub(crate) fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => {
                rest.starts_with(bz2::BLOCK_MARK).then_some(Self::Bz2)
            }
            [4, 0x22, 0x4d, 0x18, frame @ ..] => {
                lz4::is_frame(frame).then_some(Self::Lz4)
            }
            _ => None,
        }
    }

    /// Decompresses `packed` into `buffer`, whose old content is overwritten, up to `limit` bytes.
    /// `is_cut` states that the file ends within the data.
    pub(crate) fn decompress(
        self,
        packed: &[u8],
        declared_size: u32,
        limit: usize,
        is_cut: bool,
        buffer: BytesMut,
    ) -> (BytesMut, FrameOutcome) {
        let mut out = OutputBuffer::with_buffer(
            buffer,
            (declared_size as usize).min(MAX_FIRST_ALLOCATION).min(limit),
        );
        let outcome = match self {
            _ if packed.is_empty() => FrameOutcome::Whole,
            Self::None => match out.copy(packed, limit) {
                FrameOutcome::Whole if is_cut => FrameOutcome::Cut,
                outcome => outcome,
            },
            Self::Bz2 => bz2::decompress(packed, limit, &mut out),
            Self::Lz4 => {
                lz4::unpack(packed, declared_size as usize, limit, is_cut, &mut out)
            }
        };
        (out.into_buffer(), outcome)
    }
}

#[cfg(test)]
mod tests;
