//! The position of the first record of a part.

use std::ops::Range;

use logtool_core::Result;

use super::PartScanner;
use crate::file::{
    bag::Bag,
    toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
};

impl PartScanner {
    /// Returns whether the chunk at the current position belongs to the next part. `end` is its
    /// declared end.
    pub(super) fn belongs_to_next_part(&mut self, end: u64) -> Result<bool> {
        if self.at == self.start || end <= self.end {
            return Ok(false);
        }
        let following = self.bounds.partition_point(|bound| *bound <= self.end);
        let Some(next_end) = self.bounds.get(following) else { return Ok(false) };
        let next_part = self.end..*next_end;
        Ok(first_record_at(&self.bag, &mut self.toplevel, &self.bounds, next_part)?
            == self.at)
    }
}

/// The maximum number of preceding parts that are examined to find the one whose chunk extends into
/// a part.
const MAX_CANDIDATES: usize = 256;

/// Returns the position of the first record of `part`: its start, unless the index is wrong. A
/// chunk that begins before the start and ends after it belongs to the part that starts with the
/// chunk, or to `part` if there is no such part. `bounds` are the starts of all parts, and the end
/// of the last.
pub(super) fn first_record_at(
    bag: &Bag,
    toplevel: &mut TopLevelReader,
    bounds: &[u64],
    part: Range<u64>,
) -> Result<u64> {
    let index = bounds.partition_point(|bound| *bound < part.start);
    let mut before = bounds.get(..index).unwrap_or_default().iter().rev();
    let Some(mut candidate) = before.next().filter(|_| !part.is_empty()) else {
        return Ok(part.start);
    };
    if toplevel.chunk(part.start)?.is_some() {
        return Ok(part.start);
    }
    // Several parts may start inside one chunk.
    for bound in before.take(MAX_CANDIDATES) {
        if toplevel.chunk(*candidate)?.is_some()
            || bag.listed_chunk(*candidate)?.is_none()
        {
            break;
        }
        candidate = bound;
    }
    let end = bounds.last().copied().unwrap_or(part.end);
    let mut at = *candidate;
    while let Some(TopLevelRecord { kind, data }) = toplevel.record_at(at)? {
        match kind {
            TopLevelKind::Chunk(_) | TopLevelKind::Index { .. }
                if data.end <= part.start =>
            {
                at = data.end;
            }
            TopLevelKind::Chunk(_) if at < part.start && data.end <= end => {
                let has_own_part = at == *candidate;
                return Ok(if has_own_part { data.end.min(part.end) } else { at });
            }
            _ => break,
        }
    }
    Ok(part.start)
}
