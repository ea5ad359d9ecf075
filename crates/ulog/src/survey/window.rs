//! Looking at a section of the file, a window at a time.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Result, Source};

use crate::wire;

/// The least that is read at once: what the caches of a processor hold.
const WINDOW: u64 = 512 << 10;
/// How much is read behind the limit of a walk: a message goes over it.
const BEYOND: usize = 4 << 10;
/// Two messages are no longer: one, and that it is followed by another.
pub(super) const IN_SIGHT: usize = 2 * wire::MAX_MESSAGE_LEN;

/// A window onto a section of a source.
pub(super) struct Window<'s> {
    source: &'s Arc<dyn Source>,
    end: u64,
    /// Where a walk is to end.
    limit: u64,
    start: u64,
    bytes: Bytes,
    /// Whether the source had less than it said.
    is_short: bool,
}

/// How far a walk came.
pub(super) struct Walked {
    /// Where the next message is to begin.
    pub(super) at: u64,
    /// Why it ended.
    pub(super) end: End,
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It came to where it was to end.
    Limit,
    /// A step was refused.
    Refused,
    /// The source is shorter than it said.
    Short,
}

impl<'s> Window<'s> {
    /// A window onto `section`.
    pub(super) fn new(source: &'s Arc<dyn Source>, section: Range<u64>) -> Self {
        let Range { start, end } = section;
        let limit = end;
        Self { source, end, limit, start, bytes: Bytes::new(), is_short: false }
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
            let window = WINDOW.min(self.limit.saturating_sub(at) + BEYOND as u64);
            let end = (at + (2 * need as u64).max(window)).min(self.end);
            self.bytes = self.source.read_at(at..end)?;
            self.start = at;
            self.is_short = at + (self.bytes.len() as u64) < end;
        }
        let bytes = self.bytes.slice((at - self.start) as usize..);
        let is_last = self.start + self.bytes.len() as u64 >= self.end || self.is_short;
        Ok((bytes, is_last))
    }

    /// Walks from message to message, from that at `at` to the first that begins at
    /// `limit` or behind it. A `step` is given where a message begins and the bytes from
    /// there on; it says how long the message is, or refuses it: then it is asked again
    /// with more in sight, at last with two longest messages, or all there is, before the
    /// walk ends.
    pub(super) fn walk(
        &mut self,
        mut at: u64,
        limit: u64,
        mut step: impl FnMut(u64, &[u8]) -> Option<usize>,
    ) -> Result<Walked> {
        self.limit = limit;
        let mut need = 1;
        while at < limit {
            let (bytes, is_last) = self.at(at, need)?;
            if bytes.is_empty() {
                return Ok(Walked { at, end: End::Short });
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
                // Nearly all messages are short, and another walk goes on behind the limit.
                ..BEYOND => BEYOND,
                _ => IN_SIGHT,
            };
            if used < end && (is_last || bytes.len() - used >= IN_SIGHT) {
                return Ok(Walked { at, end: End::Refused });
            }
        }
        Ok(Walked { at, end: End::Limit })
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        let passed = self.start..self.start + self.bytes.len() as u64;
        self.source.release(passed);
    }
}
