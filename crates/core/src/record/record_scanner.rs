//! Scanning records that follow each other in a file.

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

/// The result of parsing the start of some bytes.
///
/// Lengths are measured from the start of those bytes, and are never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// A complete item. If it was a selected record, it has been pushed into the block.
    Whole {
        /// The length of the item.
        len: usize,
    },
    /// A complete item that ends the block, because the next records are in other bytes.
    Last {
        /// The length of the item.
        len: usize,
    },
    /// A damaged range to skip. It may extend beyond the given bytes.
    Damaged {
        /// The length of the range.
        len: u64,
        /// The damage to report. It is boxed to keep the step small, because one is
        /// returned per record.
        damage: Box<Damage>,
    },
    /// The first bytes of a longer item.
    Partial {
        /// The minimum number of bytes that must be available to parse it.
        len: usize,
    },
}

/// A scanner of a range of a source that fills block after block.
///
/// The scanner reads the source and refills the buffer. So the parser of a format is a
/// function from bytes to values, which can be tested without a file.
pub struct RecordScanner {
    source: Arc<dyn Source>,
    /// The range that remains to be scanned.
    bytes: Range<u64>,
    options: OpenOptions,
}

impl RecordScanner {
    /// Creates a scanner of `bytes` of `source`.
    pub fn new(
        source: Arc<dyn Source>,
        bytes: Range<u64>,
        options: OpenOptions,
    ) -> Self {
        Self { source, bytes, options }
    }

    /// Returns the file offset of the next item.
    pub fn position(&self) -> u64 {
        self.bytes.start
    }

    /// Refills `block`, like [`Cursor::fill`](crate::Cursor::fill). `parse`
    /// parses the item at an offset of the given bytes, and pushes its record into the block.
    pub fn fill(
        &mut self,
        block: &mut Block,
        mut parse: impl FnMut(&mut Block, &[u8], usize) -> ScanStep,
    ) -> Result<bool> {
        let mut read_bytes = u64::from(self.options.block_bytes.max(1));
        while !self.bytes.is_empty() {
            let Range { start, end } = self.bytes;
            block.reset(Bytes::new(), start); // so that its buffer can be reused
            let bytes = self
                .source
                .read_at(start..end.min(start.saturating_add(read_bytes)))?;
            if bytes.is_empty() {
                // The source is shorter than when the parts were planned.
                block.reset(bytes, start);
                block.report(Damage::new(DamageKind::Truncated, start..end));
                self.bytes.start = end;
                return Ok(true);
            }
            let is_last = start + bytes.len() as u64 == end;
            block.reset(bytes.clone(), start);

            let mut scanned_len = 0;
            let mut required_len = None;
            while scanned_len < bytes.len() as u64 && required_len.is_none() {
                match parse(block, &bytes, scanned_len as usize) {
                    ScanStep::Whole { len } => scanned_len += len as u64,
                    ScanStep::Last { len } => {
                        scanned_len += len as u64;
                        break;
                    }
                    ScanStep::Damaged { len, damage } => {
                        block.report(*damage);
                        scanned_len += len;
                    }
                    ScanStep::Partial { .. } if is_last => {
                        block.report(Damage::new(
                            DamageKind::Truncated,
                            start + scanned_len..end,
                        ));
                        scanned_len = bytes.len() as u64;
                    }
                    ScanStep::Partial { len } => required_len = Some(len as u64),
                }
            }
            if scanned_len > 0 {
                self.bytes.start = (start + scanned_len).min(end);
                return Ok(true);
            }
            match required_len {
                Some(len) if len > read_bytes && len <= self.max_item_len() => {
                    read_bytes = len
                }
                _ => {
                    // No record may be that long, or the source returns too few bytes.
                    block.report(Damage::new(DamageKind::Garbled, start..end));
                    self.bytes.start = end;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn max_item_len(&self) -> u64 {
        u64::from(self.options.record_bytes.max(self.options.block_bytes))
    }
}

impl fmt::Debug for RecordScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordScanner")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
