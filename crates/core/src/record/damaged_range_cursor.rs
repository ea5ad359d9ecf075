//! Skipping the damaged ranges that were found when the log was opened.

use crate::{model::damage::Damage, record::record_scanner::ScanStep};

/// The next of the damaged ranges, in the order of the file, for a scanner that skips
/// them.
///
/// The ranges are stored in the private state of a format and are passed to each method.
#[derive(Clone, Copy, Debug)]
pub struct DamagedRangeCursor {
    /// The index of the next range, and its start.
    index: usize,
    start: u64,
}

impl DamagedRangeCursor {
    /// Starts with the first of `ranges` that begins at `offset` or after it.
    pub fn new(ranges: &[Damage], offset: u64) -> Self {
        let index = ranges.partition_point(|range| range.bytes.start < offset);
        Self { index, start: range_start(ranges, index) }
    }

    /// Returns the step over the next range if it begins exactly at `offset`, and advances to
    /// the range after it.
    #[inline]
    pub fn step(&mut self, ranges: &[Damage], offset: u64) -> Option<ScanStep> {
        if offset == self.start { self.advance(ranges, offset) } else { None }
    }

    /// Returns the next range if it begins exactly at `offset`, without advancing.
    #[inline]
    pub fn range_at<'r>(
        &self,
        ranges: &'r [Damage],
        offset: u64,
    ) -> Option<&'r Damage> {
        if offset == self.start { ranges.get(self.index) } else { None }
    }

    #[cold]
    fn advance(&mut self, ranges: &[Damage], offset: u64) -> Option<ScanStep> {
        let damage = ranges.get(self.index)?.clone();
        self.index += 1;
        self.start = range_start(ranges, self.index);
        let len = damage.bytes.end.saturating_sub(offset).max(1);
        Some(ScanStep::Damaged { len, damage: Box::new(damage) })
    }
}

/// Returns the start of the range with this `index`, or the maximum offset after the last range.
fn range_start(ranges: &[Damage], index: usize) -> u64 {
    ranges.get(index).map_or(u64::MAX, |range| range.bytes.start)
}
