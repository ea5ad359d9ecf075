//! Reads a section of the file through a sliding window.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Result, Source};

use crate::wire;

/// The minimum length of a read, which fits into the caches of a core.
const MIN_READ: u64 = 512 << 10;
/// The number of bytes that are read after the limit of a scan, for the message that
/// crosses it.
const READ_PAST_LIMIT: usize = 4 << 10;
/// The maximum length of two messages: one, and the next that confirms it.
pub(super) const MAX_TWO_MESSAGES: usize = 2 * wire::MAX_MESSAGE_LEN;

/// A sliding window over a section of a source.
pub(super) struct SectionReader<'s> {
    source: &'s Arc<dyn Source>,
    end: u64,
    /// The offset at which a scan ends.
    limit: u64,
    start: u64,
    bytes: Bytes,
    /// Whether the source returned fewer bytes than its length implies.
    is_short: bool,
}

/// The result of a scan.
pub(super) struct ScanResult {
    /// The offset at which the next message starts.
    pub(super) offset: u64,
    /// The reason why the scan stopped.
    pub(super) reason: StopReason,
}

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// It reached its limit.
    Limit,
    /// A message was rejected.
    Rejected,
    /// The source is shorter than its length implies.
    Short,
}

impl<'s> SectionReader<'s> {
    /// Creates a window over `section`.
    pub(super) fn new(source: &'s Arc<dyn Source>, section: Range<u64>) -> Self {
        let Range { start, end } = section;
        let limit = end;
        Self { source, end, limit, start, bytes: Bytes::new(), is_short: false }
    }

    /// Returns the bytes from `offset` on, and whether they extend to the end of the section.
    /// Returns at least `min_len` bytes, unless the section ends earlier or the source is shorter
    /// than its length implies.
    pub(super) fn read_at(
        &mut self,
        offset: u64,
        min_len: usize,
    ) -> Result<(Bytes, bool)> {
        let buffered_end = self.start + self.bytes.len() as u64;
        let read_end = (offset + min_len as u64).min(self.end);
        if offset < self.start || read_end > buffered_end {
            let passed = self.start..offset.min(buffered_end);
            self.bytes = Bytes::new();
            self.source.release(passed);
            // Read twice the required length: a caller that looks far ahead again and
            // again, e.g. after each of many damaged ranges, then rarely reads bytes
            // twice.
            let read_len = MIN_READ
                .min(self.limit.saturating_sub(offset) + READ_PAST_LIMIT as u64);
            let new_end = (offset + (2 * min_len as u64).max(read_len)).min(self.end);
            self.bytes = self.source.read_at(offset..new_end)?;
            self.start = offset;
            self.is_short = offset + (self.bytes.len() as u64) < new_end;
        }
        let bytes = self.bytes.slice((offset - self.start) as usize..);
        let is_last = self.start + self.bytes.len() as u64 >= self.end || self.is_short;
        Ok((bytes, is_last))
    }

    /// Scans messages from the one at `at` to the first that starts at `limit` or
    /// later. `step` is called with the offset of a message and the bytes from there
    /// on. It returns the length of the message, or `None` to reject it. A rejected
    /// message is tried again with more bytes, finally with two messages of maximum
    /// length or all remaining bytes, before the scan stops.
    pub(super) fn scan(
        &mut self,
        mut offset: u64,
        limit: u64,
        mut step: impl FnMut(u64, &[u8]) -> Option<usize>,
    ) -> Result<ScanResult> {
        self.limit = limit;
        let mut min_len = 1;
        while offset < limit {
            let (bytes, is_last) = self.read_at(offset, min_len)?;
            if bytes.is_empty() {
                return Ok(ScanResult { offset, reason: StopReason::Short });
            }
            let end =
                bytes.len().min(usize::try_from(limit - offset).unwrap_or(usize::MAX));
            let mut position = 0;
            while position < end
                && let Some(len) = step(offset + position as u64, &bytes[position..])
            {
                position += len;
            }
            offset += position as u64;
            min_len = match bytes.len() - position {
                _ if position == end => 1,
                // Nearly all messages are short, and another scan continues after the
                // limit.
                ..READ_PAST_LIMIT => READ_PAST_LIMIT,
                _ => MAX_TWO_MESSAGES,
            };
            if position < end && (is_last || bytes.len() - position >= MAX_TWO_MESSAGES)
            {
                return Ok(ScanResult { offset, reason: StopReason::Rejected });
            }
        }
        Ok(ScanResult { offset, reason: StopReason::Limit })
    }
}

impl Drop for SectionReader<'_> {
    fn drop(&mut self) {
        let passed = self.start..self.start + self.bytes.len() as u64;
        self.source.release(passed);
    }
}
