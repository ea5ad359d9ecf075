//! Stepping through records that lie one after the other in the file.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    error::Result,
    io::source::Source,
    model::{
        damage::{Damage, DamageKind},
        open_options::OpenOptions,
    },
    record::block::Block,
};

/// What a format found at the start of some bytes.
///
/// The lengths are from the start of those bytes, and never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// Something whole. If it was a wanted record, it has been pushed into the block.
    Whole {
        /// The length of all of it.
        len: usize,
    },
    /// The same, and the block ends with it: what comes next is in other bytes.
    Last {
        /// The length of all of it.
        len: usize,
    },
    /// Something that is passed over, and told of; it may go beyond the bytes seen.
    Damaged {
        /// The length of all of it.
        len: u64,
        /// What is wrong. Boxed, as a step is returned for each of millions of records.
        damage: Box<Damage>,
    },
    /// The first bytes of something that is at least this long.
    Partial {
        /// The length up to which it has to be seen.
        len: usize,
    },
}

/// A walk through a stretch of a source, a block at a time.
///
/// The walk does all the reading, so that a format's `wire` module is a function from
/// bytes to values, which needs no file to be tested. It is the only refill loop.
pub struct RecordScanner {
    source: Arc<dyn Source>,
    bytes: Range<u64>,
    options: OpenOptions,
}

impl RecordScanner {
    /// A walk through `bytes` of `source`.
    pub fn new(
        source: Arc<dyn Source>,
        bytes: Range<u64>,
        options: OpenOptions,
    ) -> Self {
        Self { source, bytes, options }
    }

    /// Where the walk is.
    pub fn position(&self) -> u64 {
        self.bytes.start
    }

    /// Refills `block`, as a [`Cursor`](crate::Cursor) does. `step` is given the block,
    /// to push records into, and where in the block's bytes it is to look.
    pub fn fill(
        &mut self,
        block: &mut Block,
        mut step: impl FnMut(&mut Block, &[u8], usize) -> ScanStep,
    ) -> Result<bool> {
        let mut want = u64::from(self.options.block_bytes.max(1));
        while !self.bytes.is_empty() {
            let Range { start, end } = self.bytes;
            block.reset(Bytes::new(), start); // so that its memory is read into again
            let bytes =
                self.source.read_at(start..end.min(start.saturating_add(want)))?;
            if bytes.is_empty() {
                // The source is shorter than it was when the walk was planned.
                block.reset(bytes, start);
                block.report(Damage::new(DamageKind::Truncated, start..end));
                self.bytes.start = end;
                return Ok(true);
            }
            let is_last = start + bytes.len() as u64 == end;
            block.reset(bytes.clone(), start);

            let mut used = 0;
            let mut missing = None;
            while used < bytes.len() as u64 && missing.is_none() {
                match step(block, &bytes, used as usize) {
                    ScanStep::Whole { len } => used += len as u64,
                    ScanStep::Last { len } => {
                        used += len as u64;
                        break;
                    }
                    ScanStep::Damaged { len, damage } => {
                        block.report(*damage);
                        used += len;
                    }
                    ScanStep::Partial { .. } if is_last => {
                        block.report(Damage::new(
                            DamageKind::Truncated,
                            start + used..end,
                        ));
                        used = bytes.len() as u64;
                    }
                    ScanStep::Partial { len } => missing = Some(len as u64),
                }
            }
            if used > 0 {
                self.bytes.start = (start + used).min(end);
                return Ok(true);
            }
            match missing {
                Some(len) if len > want && len <= self.max_len() => want = len,
                _ => {
                    // Nothing is that long, or the source gives less than it has.
                    block.report(Damage::new(DamageKind::Garbled, start..end));
                    self.bytes.start = end;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn max_len(&self) -> u64 {
        u64::from(self.options.record_bytes.max(self.options.block_bytes))
    }
}

impl fmt::Debug for RecordScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
