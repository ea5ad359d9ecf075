//! Payloads of one length, one behind the other.
//!
//! The payloads of a topic are scattered over a block. Collecting a few kilobytes of
//! them first makes what is gathered lie near, and lets records of many topics take
//! turns.

use crate::record::block::Run;

/// How many bytes of payloads are collected: as many as are near at hand.
pub(super) const ROWS_BYTES: usize = 16 << 10;

/// For how many bytes there is room at first. A log may have thousands of topics, most of
/// them with few records.
const FIRST_BYTES: usize = 512;

/// How many bytes are copied at once, though some of them be those of the next record:
/// a copy of known length is a few instructions.
const LINE: usize = 64;

/// Payloads that are not yet gathered.
#[derive(Debug)]
pub(super) struct Rows {
    bytes: Box<[u8]>,
    filled: usize,
    /// How many bytes of each payload are collected.
    stride: usize,
}

impl Rows {
    pub(super) fn new(stride: usize) -> Self {
        Self { bytes: Box::default(), filled: 0, stride }
    }

    /// The payloads so far, and how long each is; nothing if they are empty.
    pub(super) fn get(&self) -> Option<(&[u8], usize)> {
        let rows = self.bytes.get(..self.filled)?;
        (!rows.is_empty()).then_some((rows, self.stride))
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Adds the payload that begins at `start` of the block of `run`, and says whether
    /// it is time to gather.
    #[inline]
    pub(super) fn add(&mut self, run: Run<'_>, start: usize) -> bool {
        if self.filled + self.stride + LINE > self.bytes.len() {
            self.grow();
        }
        self.copy(run.bytes(), start);
        self.filled += self.stride;
        self.filled >= ROWS_BYTES
    }

    /// Makes room for twice as many bytes, and at least one payload, up to all that are
    /// collected.
    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.filled).clamp(FIRST_BYTES, ROWS_BYTES);
        let mut bytes = std::mem::take(&mut self.bytes).into_vec();
        bytes.resize(room + self.stride + LINE, 0);
        self.bytes = bytes.into();
    }

    /// Copies a payload, line by line, behind the others.
    #[inline]
    fn copy(&mut self, bytes: &[u8], start: usize) {
        for at in (0..self.stride).step_by(LINE) {
            let from = bytes.get(start + at..).and_then(<[u8]>::first_chunk::<LINE>);
            let to = self.bytes.get_mut(self.filled + at..);
            let to = to.and_then(<[u8]>::first_chunk_mut::<LINE>);
            if let (Some(from), Some(to)) = (from, to) {
                *to = *from;
                continue;
            }
            // So near the end of the block that there is no whole line.
            let rest = bytes.get(start + at..start + self.stride).unwrap_or_default();
            let to = self.bytes.get_mut(self.filled + at..);
            if let Some(to) = to.and_then(|to| to.get_mut(..rest.len())) {
                to.copy_from_slice(rest);
            }
            return;
        }
    }
}
