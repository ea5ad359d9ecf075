//! The position of the first record of a part.

use std::ops::Range;

use logtool_core::Result;

use super::PartScanner;
use crate::file::{
    bag::Bag,
    toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
};

impl PartScanner {
    /// Returns whether the chunk at the current position, whose declared end is `end`, is
    /// read with the next part.
    pub(super) fn is_of_next(&mut self, end: u64) -> Result<bool> {
        if self.at == self.start || end <= self.end {
            return Ok(false);
        }
        let after = self.bounds.partition_point(|bound| *bound <= self.end);
        let Some(next) = self.bounds.get(after) else { return Ok(false) };
        Ok(first(&self.bag, &mut self.toplevel, &self.bounds, self.end..*next)?
            == self.at)
    }
}

/// The maximum number of preceding parts without a chunk that are examined.
const MAX_CANDIDATES: usize = 256;

/// Returns the position of the first record of a part: its start, unless the index is wrong. A
/// chunk that begins before the start and ends after it belongs to the part that starts with
/// the chunk. If no part does, it belongs to this part.
pub(super) fn first(
    bag: &Bag,
    toplevel: &mut TopLevelReader,
    bounds: &[u64],
    part: Range<u64>,
) -> Result<u64> {
    let index = bounds.partition_point(|bound| *bound < part.start);
    let mut before = bounds.get(..index).unwrap_or_default().iter().rev();
    let Some(mut last) = before.next().filter(|_| !part.is_empty()) else {
        return Ok(part.start);
    };
    if toplevel.chunk(part.start)?.is_some() {
        return Ok(part.start);
    }
    // Several parts may start inside one chunk.
    for bound in before.take(MAX_CANDIDATES) {
        if toplevel.chunk(*last)?.is_some() || bag.listed_chunk(*last)?.is_none() {
            break;
        }
        last = bound;
    }
    let end = bounds.last().copied().unwrap_or(part.end);
    let mut at = *last;
    while let Some(TopLevelRecord { kind, data }) = toplevel.record_at(at)? {
        match kind {
            TopLevelKind::Chunk(_) | TopLevelKind::Index { .. }
                if data.end <= part.start =>
            {
                at = data.end;
            }
            TopLevelKind::Chunk(_) if at < part.start && data.end <= end => {
                let is_its_part = at == *last;
                return Ok(if is_its_part { data.end.min(part.end) } else { at });
            }
            _ => break,
        }
    }
    Ok(part.start)
}
