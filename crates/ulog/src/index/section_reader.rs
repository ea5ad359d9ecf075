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
    pub(super) at: u64,
    /// Why the scan stopped.
    pub(super) end: StopReason,
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

    /// Returns the bytes from `at` on, at least `need` bytes if the section has that
    /// many, and whether they extend to its end. Returns fewer bytes if the source is
    /// shorter than its length implies.
    pub(super) fn read_at(&mut self, at: u64, need: usize) -> Result<(Bytes, bool)> {
        let buffered_end = self.start + self.bytes.len() as u64;
        let read_end = (at + need as u64).min(self.end);
        if at < self.start || read_end > buffered_end {
            let passed = self.start..at.min(buffered_end);
            self.bytes = Bytes::new();
            self.source.release(passed);
            // Read twice the required length: a caller that looks far ahead again and
            // again, e.g. after each of many damaged ranges, then rarely reads bytes
            // twice.
            let reader =
                MIN_READ.min(self.limit.saturating_sub(at) + READ_PAST_LIMIT as u64);
            let end = (at + (2 * need as u64).max(reader)).min(self.end);
            self.bytes = self.source.read_at(at..end)?;
            self.start = at;
            self.is_short = at + (self.bytes.len() as u64) < end;
        }
        let bytes = self.bytes.slice((at - self.start) as usize..);
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
        mut at: u64,
        limit: u64,
        mut step: impl FnMut(u64, &[u8]) -> Option<usize>,
    ) -> Result<ScanResult> {
        self.limit = limit;
        let mut need = 1;
        while at < limit {
            let (bytes, is_last) = self.read_at(at, need)?;
            if bytes.is_empty() {
                return Ok(ScanResult { at, end: StopReason::Short });
            }
            let end =
                bytes.len().min(usize::try_from(limit - at).unwrap_or(usize::MAX));
            let mut used = 0;
            while used < end
                && let Some(len) = step(at + used as u64, &bytes[used..])
            {
                used += len;
            }
            at += used as u64;
            need = match bytes.len() - used {
                _ if used == end => 1,
                // Nearly all messages are short, and another scan continues after the
                // limit.
                ..READ_PAST_LIMIT => READ_PAST_LIMIT,
                _ => MAX_TWO_MESSAGES,
            };
            if used < end && (is_last || bytes.len() - used >= MAX_TWO_MESSAGES) {
                return Ok(ScanResult { at, end: StopReason::Rejected });
            }
        }
        Ok(ScanResult { at, end: StopReason::Limit })
    }
}

impl Drop for SectionReader<'_> {
    fn drop(&mut self) {
        let passed = self.start..self.start + self.bytes.len() as u64;
        self.source.release(passed);
    }
}
