//! Unpacking chunks.
//!
//! The size that a chunk declares is a hint for the first allocation and nothing more:
//! what is unpacked is what the compressed bytes hold, up to a limit.

mod bz2;
mod lz4;

use std::mem;

use bytes::BytesMut;

use crate::walk::may_be_header;

/// How a chunk is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// With bzip2.
    Bz2,
    /// With LZ4.
    Lz4,
}

/// How unpacking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpacked {
    /// All is there.
    Whole,
    /// The packed bytes end too early. What is there can be trusted.
    Cut,
    /// The packed bytes end where all that is before it was unpacked: only the mark of
    /// their end, or the checksum behind it, is missing.
    Ended,
    /// The packed bytes are broken. What is there was unpacked before that.
    Broken,
    /// All is there, and a checksum says that something in it is wrong.
    Doubtful,
    /// There is more than the limit.
    OverLimit,
}

/// What has been unpacked: a buffer, of which the first bytes are in use.
#[derive(Debug, Default)]
pub(crate) struct Output {
    buffer: BytesMut,
    used: usize,
}

/// No first allocation is longer than this, whatever a chunk declares.
const FIRST: usize = 4 << 20;

/// Buffers are longer by this, and not by less.
const STEP: usize = 1 << 20;

impl Compression {
    /// The compression that is called `name`.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"none" => Some(Self::None),
            b"bz2" => Some(Self::Bz2),
            b"lz4" => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Whether what is so packed may begin as `bytes` do.
    pub(crate) fn may_be(self, bytes: &[u8]) -> bool {
        match self {
            Self::None => may_be_header(bytes),
            Self::Bz2 => bytes.starts_with(b"BZh"),
            Self::Lz4 => bytes.starts_with(b"\x04\x22\x4d\x18"),
        }
    }

    /// How `bytes` are packed that begin as nothing else does.
    pub(crate) fn begins(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => {
                rest.starts_with(bz2::BLOCK).then_some(Self::Bz2)
            }
            [4, 0x22, 0x4d, 0x18, frame @ ..] => {
                lz4::is_frame(frame).then_some(Self::Lz4)
            }
            _ => None,
        }
    }

    /// Unpacks `packed` into `buffer`, of which the old content is lost.
    pub(crate) fn unpack(
        self,
        packed: &[u8],
        declared: u32,
        limit: usize,
        buffer: BytesMut,
    ) -> (BytesMut, Unpacked) {
        self.unpack_of(packed, declared, limit, false, buffer)
    }

    /// The same, of what `is_cut` off by the end of the file, perhaps.
    pub(crate) fn unpack_of(
        self,
        packed: &[u8],
        declared: u32,
        limit: usize,
        is_cut: bool,
        buffer: BytesMut,
    ) -> (BytesMut, Unpacked) {
        let mut out = Output::within(buffer, (declared as usize).min(FIRST).min(limit));
        let how = match self {
            _ if packed.is_empty() => Unpacked::Whole,
            Self::None => match out.copy(packed, limit) {
                Unpacked::Whole if is_cut => Unpacked::Cut,
                how => how,
            },
            Self::Bz2 => bz2::unpack(packed, limit, &mut out),
            Self::Lz4 => {
                lz4::unpack(packed, declared as usize, limit, is_cut, &mut out)
            }
        };
        out.buffer.truncate(out.used);
        (out.buffer, how)
    }
}

impl Output {
    /// A buffer with room for `len` bytes: this one, if it is long enough.
    fn within(mut buffer: BytesMut, len: usize) -> Self {
        if buffer.capacity() < len {
            // The next chunk, a little longer than this one, is to fit too: what is not
            // written to is no memory yet.
            drop(mem::take(&mut buffer));
            buffer.reserve(len.next_multiple_of(STEP));
        }
        let mut out = Self { buffer, used: 0 };
        out.make_room(len);
        out
    }

    /// Makes room for at least `more` bytes.
    fn make_room(&mut self, more: usize) {
        let need = self.used + more;
        if self.buffer.len() < need {
            // Twice as much only where more is needed than was expected: what is made
            // longer is filled with zeros.
            let grown = self.used.min(64 << 20) * 2;
            self.buffer.resize(need.max(grown), 0);
        }
    }

    fn copy(&mut self, bytes: &[u8], limit: usize) -> Unpacked {
        let len = bytes.len().min(limit);
        self.make_room(len);
        let room = self.buffer.get_mut(..len).unwrap_or_default();
        room.copy_from_slice(bytes.get(..len).unwrap_or_default());
        self.used = room.len();
        if len < bytes.len() { Unpacked::OverLimit } else { Unpacked::Whole }
    }
}

#[cfg(test)]
mod tests;
