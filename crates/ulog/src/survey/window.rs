//! Looking at a section of the file, a window at a time.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Result, Source};

/// The least that is read at once: what the caches of a processor hold.
const WINDOW: u64 = 512 << 10;

/// A window onto a section of a source.
pub(super) struct Window<'s> {
    source: &'s Arc<dyn Source>,
    end: u64,
    start: u64,
    bytes: Bytes,
    /// Whether the source had less than it said.
    is_short: bool,
}

impl<'s> Window<'s> {
    /// A window onto `section`.
    pub(super) fn new(source: &'s Arc<dyn Source>, section: Range<u64>) -> Self {
        let Range { start, end } = section;
        Self { source, end, start, bytes: Bytes::new(), is_short: false }
    }

    /// The bytes from `at` on, at least `need` of them where the section has so many,
    /// and whether they go to its end. Fewer, if the source is shorter than it says.
    pub(super) fn at(&mut self, at: u64, need: usize) -> Result<(Bytes, bool)> {
        let have = self.start + self.bytes.len() as u64;
        let wanted = (at + need as u64).min(self.end);
        if at < self.start || wanted > have {
            let passed = self.start..at.min(have);
            self.bytes = Bytes::new();
            self.source.release(passed);
            // Twice what is needed: whoever looks far ahead again and again, as after
            // each of many gaps, reads nothing twice but once in a while.
            let end = (at + (2 * need as u64).max(WINDOW)).min(self.end);
            self.bytes = self.source.read_at(at..end)?;
            self.start = at;
            self.is_short = at + (self.bytes.len() as u64) < end;
        }
        let bytes = self.bytes.slice((at - self.start) as usize..);
        let is_last = self.start + self.bytes.len() as u64 >= self.end || self.is_short;
        Ok((bytes, is_last))
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        let passed = self.start..self.start + self.bytes.len() as u64;
        self.source.release(passed);
    }
}
