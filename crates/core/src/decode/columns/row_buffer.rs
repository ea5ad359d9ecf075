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
const INITIAL_BYTES: usize = 512;

/// The number of bytes that are copied at once, even if the last bytes belong to the
/// next record: a copy of constant length takes a few instructions.
const COPY_BYTES: usize = 64;

/// Payloads that are not yet decoded.
#[derive(Debug)]
pub(super) struct PayloadRows {
    bytes: Box<[u8]>,
    /// The number of bytes that contain payloads.
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
        if self.filled + self.stride + COPY_BYTES > self.bytes.len() {
            self.grow();
        }
        self.copy(run.bytes(), start);
        self.filled += self.stride;
        self.filled >= ROWS_BYTES
    }

    /// Doubles the capacity, up to the maximum, with space for at least one payload.
    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.filled).clamp(INITIAL_BYTES, ROWS_BYTES);
        let mut bytes = std::mem::take(&mut self.bytes).into_vec();
        bytes.resize(capacity + self.stride + COPY_BYTES, 0);
        self.bytes = bytes.into();
    }

    /// Copies a payload in blocks of constant length.
    #[inline]
    fn copy(&mut self, bytes: &[u8], start: usize) {
        for offset in (0..self.stride).step_by(COPY_BYTES) {
            let source =
                bytes.get(start + offset..).and_then(<[u8]>::first_chunk::<COPY_BYTES>);
            let target = self
                .bytes
                .get_mut(self.filled + offset..)
                .and_then(<[u8]>::first_chunk_mut::<COPY_BYTES>);
            if let (Some(source), Some(target)) = (source, target) {
                *target = *source;
                continue;
            }
            // Too close to the end of the record block for a copy of constant length.
            let payload_end =
                bytes.get(start + offset..start + self.stride).unwrap_or_default();
            let target_start = self.filled + offset;
            let target_range = target_start..target_start + payload_end.len();
            if let Some(target) = self.bytes.get_mut(target_range) {
                target.copy_from_slice(payload_end);
            }
            return;
        }
    }
}
