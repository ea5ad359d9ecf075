//! The output buffer of a decompression.

use std::mem;

use bytes::BytesMut;

use crate::outcome::FrameOutcome;

/// The decompressed bytes: the first bytes of a buffer.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    pub(crate) buffer: BytesMut,
    pub(crate) used: usize,
}

/// The granularity of buffer lengths in bytes.
const STEP: usize = 1 << 20;

impl OutputBuffer {
    /// Creates an output with space for `len` bytes in `buffer`, if that is long enough.
    pub fn with_buffer(mut buffer: BytesMut, len: usize) -> Self {
        if buffer.capacity() < len {
            // The next chunk may be slightly longer and should fit too. Pages that are
            // not written do not use memory.
            drop(mem::take(&mut buffer));
            buffer.reserve(len.next_multiple_of(STEP));
        }
        let mut out = Self { buffer, used: 0 };
        out.make_room(len);
        out
    }

    /// Makes space for at least `more` bytes.
    pub fn make_room(&mut self, more: usize) {
        let need = self.used + more;
        if self.buffer.len() < need {
            // Doubled only if more is needed than expected, because the new bytes are
            // filled with zeros.
            let grown = self.used.min(64 << 20) * 2;
            self.buffer.resize(need.max(grown), 0);
        }
    }

    /// Appends `bytes`, up to `limit` of them.
    pub fn copy(&mut self, bytes: &[u8], limit: usize) -> FrameOutcome {
        let len = bytes.len().min(limit);
        self.make_room(len);
        let room = self.buffer.get_mut(self.used..self.used + len).unwrap_or_default();
        room.copy_from_slice(bytes.get(..len).unwrap_or_default());
        self.used += room.len();
        if len < bytes.len() { FrameOutcome::OverLimit } else { FrameOutcome::Whole }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Removes all bytes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.used = self.used.min(len);
    }

    /// Returns the free space after the bytes.
    pub fn free_space(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.used..).unwrap_or_default()
    }

    /// Adds the first `len` bytes of the free space.
    pub fn add(&mut self, len: usize) {
        self.used = (self.used + len).min(self.buffer.len());
    }

    /// Returns the bytes.
    pub fn into_buffer(mut self) -> BytesMut {
        self.buffer.truncate(self.used);
        self.buffer
    }
}
