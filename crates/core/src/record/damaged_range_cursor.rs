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
    /// Starts with the first of `ranges` that begins at `at` or after it.
    pub fn new(gaps: &[Damage], at: u64) -> Self {
        let index = gaps.partition_point(|gap| gap.bytes.start < at);
        Self { index, start: start(gaps, index) }
    }

    /// Returns the step over the range if it begins exactly at `at`, and moves on to the
    /// next range.
    #[inline]
    pub fn step(&mut self, gaps: &[Damage], at: u64) -> Option<ScanStep> {
        if at == self.start { self.take(gaps, at) } else { None }
    }

    /// Returns the range if it begins exactly at `at`, without moving on.
    #[inline]
    pub fn range_at<'g>(&self, gaps: &'g [Damage], at: u64) -> Option<&'g Damage> {
        if at == self.start { gaps.get(self.index) } else { None }
    }

    #[cold]
    fn take(&mut self, gaps: &[Damage], at: u64) -> Option<ScanStep> {
        let gap = gaps.get(self.index)?.clone();
        self.index += 1;
        self.start = start(gaps, self.index);
        let len = gap.bytes.end.saturating_sub(at).max(1);
        Some(ScanStep::Damaged { len, damage: Box::new(gap) })
    }
}

fn start(gaps: &[Damage], index: usize) -> u64 {
    gaps.get(index).map_or(u64::MAX, |gap| gap.bytes.start)
}
