//! Where the records of a part begin.

use std::ops::Range;

use logtool_core::Result;

use super::Traverse;
use crate::{
    bag::Bag,
    toplevel::{Top, TopKind, Tops},
};

impl Traverse {
    /// Whether the chunk that begins here and says to end at `end` is read with the next part.
    pub(super) fn is_of_next(&mut self, end: u64) -> Result<bool> {
        if self.at == self.start || end <= self.end {
            return Ok(false);
        }
        let after = self.bounds.partition_point(|bound| *bound <= self.end);
        let Some(next) = self.bounds.get(after) else { return Ok(false) };
        Ok(first(&self.bag, &mut self.tops, &self.bounds, self.end..*next)? == self.at)
    }
}

/// So many parts before one are looked at that begin nowhere.
const LOOKS: usize = 256;

/// Where the records of a part begin. That is at its start, unless the index lies: the
/// chunk before that goes beyond it is its part's, and one that no part begins with, this
/// one's.
pub(super) fn first(
    bag: &Bag,
    tops: &mut Tops,
    bounds: &[u64],
    part: Range<u64>,
) -> Result<u64> {
    let index = bounds.partition_point(|bound| *bound < part.start);
    let mut before = bounds.get(..index).unwrap_or_default().iter().rev();
    let Some(mut last) = before.next().filter(|_| !part.is_empty()) else {
        return Ok(part.start);
    };
    if tops.chunk(part.start)?.is_some() {
        return Ok(part.start);
    }
    // Several of them may be said to begin in one chunk.
    for bound in before.take(LOOKS) {
        if tops.chunk(*last)?.is_some() || bag.told_of(*last)?.is_none() {
            break;
        }
        last = bound;
    }
    let end = bounds.last().copied().unwrap_or(part.end);
    let mut at = *last;
    while let Some(Top { kind, data }) = tops.look(at)? {
        match kind {
            TopKind::Chunk(_) | TopKind::Index { .. } if data.end <= part.start => {
                at = data.end;
            }
            TopKind::Chunk(_) if at < part.start && data.end <= end => {
                let is_its_part = at == *last;
                return Ok(if is_its_part { data.end.min(part.end) } else { at });
            }
            _ => break,
        }
    }
    Ok(part.start)
}
