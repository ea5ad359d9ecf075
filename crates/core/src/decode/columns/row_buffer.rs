//! A buffer of payloads of fixed size.
//!
//! The payloads of a topic are scattered over a block. Copying a few kilobytes of them
//! next to each other keeps the decoded bytes in the cache, and allows records of many
//! topics to alternate.

use crate::record::block::Run;

/// The number of bytes to collect before decoding, so that they fit in the cache.
pub(super) const ROWS_BYTES: usize = 16 << 10;

/// The initial capacity in bytes. A log can have thousands of topics, most of them with
/// few records.
const FIRST_BYTES: usize = 512;

/// The number of bytes that are copied at once, even if the last bytes belong to the
/// next record: a copy of constant length takes a few instructions.
const LINE: usize = 64;

/// Payloads that are not yet decoded.
#[derive(Debug)]
pub(super) struct PayloadRows {
    bytes: Box<[u8]>,
    filled: usize,
    /// The size of a payload in bytes.
    stride: usize,
}

impl PayloadRows {
    pub(super) fn new(stride: usize) -> Self {
        Self { bytes: Box::default(), filled: 0, stride }
    }

    /// Returns the collected payloads and the size of each, or `None` if there are no
    /// bytes.
    pub(super) fn get(&self) -> Option<(&[u8], usize)> {
        let rows = self.bytes.get(..self.filled)?;
        (!rows.is_empty()).then_some((rows, self.stride))
    }

    /// Removes all payloads.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Adds the payload at `start` of the run's block. Returns whether the buffer is
    /// full.
    #[inline]
    pub(super) fn add(&mut self, run: Run<'_>, start: usize) -> bool {
        if self.filled + self.stride + LINE > self.bytes.len() {
            self.grow();
        }
        self.copy(run.bytes(), start);
        self.filled += self.stride;
        self.filled >= ROWS_BYTES
    }

    /// Doubles the capacity, up to the maximum, with space for at least one payload.
    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.filled).clamp(FIRST_BYTES, ROWS_BYTES);
        let mut bytes = std::mem::take(&mut self.bytes).into_vec();
        bytes.resize(room + self.stride + LINE, 0);
        self.bytes = bytes.into();
    }

    /// Copies a payload in pieces of constant length.
    #[inline]
    fn copy(&mut self, bytes: &[u8], start: usize) {
        for offset in (0..self.stride).step_by(LINE) {
            let source =
                bytes.get(start + offset..).and_then(<[u8]>::first_chunk::<LINE>);
            let target = self.bytes.get_mut(self.filled + offset..);
            let target = target.and_then(<[u8]>::first_chunk_mut::<LINE>);
            if let (Some(source), Some(target)) = (source, target) {
                *target = *source;
                continue;
            }
            // Too close to the end of the block for a whole piece.
            let tail =
                bytes.get(start + offset..start + self.stride).unwrap_or_default();
            let target = self.bytes.get_mut(self.filled + offset..);
            if let Some(target) = target.and_then(|target| target.get_mut(..tail.len()))
            {
                target.copy_from_slice(tail);
            }
            return;
        }
    }
}
