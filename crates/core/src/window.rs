//! Looking through a file from its start to its end, a window at a time.

use std::{fmt, sync::Arc};

use crate::{error::Result, source::Source};
use bytes::Bytes;

/// The least that is read at once.
const WINDOW: u64 = 1 << 20;

/// A window onto a source.
pub struct Window<'s> {
    source: &'s Arc<dyn Source>,
    start: u64,
    bytes: Bytes,
}

impl<'s> Window<'s> {
    /// A window onto `source`.
    pub fn new(source: &'s Arc<dyn Source>) -> Self {
        Self { source, start: 0, bytes: Bytes::new() }
    }

    /// The bytes from `at` on: at least `need` of them where the source has so many.
    pub fn at(&mut self, at: u64, need: usize) -> Result<Bytes> {
        let have = self.start + self.bytes.len() as u64;
        let wanted = at.saturating_add(need as u64).min(self.source.len());
        if at < self.start || at > have || wanted > have {
            let passed = self.start..at.clamp(self.start, have);
            self.bytes = Bytes::new();
            self.source.release(passed);
            let end = at.saturating_add(WINDOW.max(need as u64));
            self.bytes = self.source.read_at(at..end)?;
            self.start = at;
        }
        Ok(self.bytes.slice((at - self.start) as usize..))
    }

    /// The `len` bytes from `at` on, or what there is of them. The window stays where it
    /// is, so that looking here and there costs no more than what is looked at.
    pub fn peek(&self, at: u64, len: usize) -> Result<Bytes> {
        let have = self.start + self.bytes.len() as u64;
        let end = at.saturating_add(len as u64);
        if at >= self.start && end <= have {
            let start = (at - self.start) as usize;
            return Ok(self.bytes.slice(start..start + len));
        }
        Ok(self.source.read_at(at..end)?)
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.source.release(self.start..self.start + self.bytes.len() as u64);
    }
}

impl fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("start", &self.start).finish_non_exhaustive()
    }
}
