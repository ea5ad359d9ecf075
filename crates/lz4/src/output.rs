//! The buffer that is decompressed into.

use std::mem;

use bytes::BytesMut;

use crate::frame::Unpacked;

/// The decompressed bytes: the first bytes of a buffer.
#[derive(Debug, Default)]
pub struct Output {
    pub(crate) buffer: BytesMut,
    pub(crate) used: usize,
}

/// Buffers are longer by this, and not by less.
const STEP: usize = 1 << 20;

impl Output {
    /// Creates an output with room for `len` bytes in `buffer`, if that is long enough.
    pub fn within(mut buffer: BytesMut, len: usize) -> Self {
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
    pub fn make_room(&mut self, more: usize) {
        let need = self.used + more;
        if self.buffer.len() < need {
            // Twice as much only where more is needed than was expected: what is made
            // longer is filled with zeros.
            let grown = self.used.min(64 << 20) * 2;
            self.buffer.resize(need.max(grown), 0);
        }
    }

    /// Appends `bytes`, up to `limit` of them.
    pub fn copy(&mut self, bytes: &[u8], limit: usize) -> Unpacked {
        let len = bytes.len().min(limit);
        self.make_room(len);
        let room = self.buffer.get_mut(self.used..self.used + len).unwrap_or_default();
        room.copy_from_slice(bytes.get(..len).unwrap_or_default());
        self.used += room.len();
        if len < bytes.len() { Unpacked::OverLimit } else { Unpacked::Whole }
    }

    /// Returns how many bytes there are.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Removes all bytes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.used = self.used.min(len);
    }

    /// Returns the room after the bytes.
    pub fn room(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.used..).unwrap_or_default()
    }

    /// Adds the first `len` bytes of the room.
    pub fn add(&mut self, len: usize) {
        self.used = (self.used + len).min(self.buffer.len());
    }

    /// Returns the bytes.
    pub fn into_buffer(mut self) -> BytesMut {
        self.buffer.truncate(self.used);
        self.buffer
    }
}
