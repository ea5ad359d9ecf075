//! Skipping the damaged ranges that the first pass found.

use crate::{model::damage::Damage, record::record_scanner::ScanStep};

/// The next of the damaged ranges, in the order of the file, for a scanner that skips
/// them.
///
/// The ranges are stored in the private state of a format and are passed to each method.
#[derive(Clone, Copy, Debug)]
pub struct DamagedRangeCursor {
    index: usize,
    start: u64,
}

impl DamagedRangeCursor {
    /// Starts with the first of `ranges` that begins at `offset` or after it.
    pub fn new(ranges: &[Damage], offset: u64) -> Self {
        let index = ranges.partition_point(|gap| gap.bytes.start < offset);
        Self { index, start: start(ranges, index) }
    }

    /// Returns the step over the range if it begins exactly at `offset`, and moves on to the
    /// next range.
    #[inline]
    pub fn step(&mut self, ranges: &[Damage], offset: u64) -> Option<ScanStep> {
        if offset == self.start { self.take(ranges, offset) } else { None }
    }

    /// Returns the range if it begins exactly at `offset`, without moving on.
    #[inline]
    pub fn range_at<'g>(
        &self,
        ranges: &'g [Damage],
        offset: u64,
    ) -> Option<&'g Damage> {
        if offset == self.start { ranges.get(self.index) } else { None }
    }

    #[cold]
    fn take(&mut self, ranges: &[Damage], offset: u64) -> Option<ScanStep> {
        let gap = ranges.get(self.index)?.clone();
        self.index += 1;
        self.start = start(ranges, self.index);
        let len = gap.bytes.end.saturating_sub(offset).max(1);
        Some(ScanStep::Damaged { len, damage: Box::new(gap) })
    }
}

fn start(ranges: &[Damage], index: usize) -> u64 {
    ranges.get(index).map_or(u64::MAX, |gap| gap.bytes.start)
}
