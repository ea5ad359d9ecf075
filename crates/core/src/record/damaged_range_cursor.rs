//! Stepping over what the survey found to be no record.

use crate::{model::damage::Damage, record::record_scanner::ScanStep};

/// The next of some gaps, in the order of the file, that a walk comes to.
///
/// The gaps themselves stay where they are, in a format's notes, and are handed in.
#[derive(Clone, Copy, Debug)]
pub struct DamagedRangeCursor {
    index: usize,
    start: u64,
}

impl DamagedRangeCursor {
    /// The first of `gaps` that begins at `at` or after it.
    pub fn new(gaps: &[Damage], at: u64) -> Self {
        let index = gaps.partition_point(|gap| gap.bytes.start < at);
        Self { index, start: start(gaps, index) }
    }

    /// The step over it if it begins `at`, and then on to the next.
    #[inline]
    pub fn step(&mut self, gaps: &[Damage], at: u64) -> Option<ScanStep> {
        if at == self.start { self.take(gaps, at) } else { None }
    }

    /// The gap that begins `at`, without stepping over it.
    #[inline]
    pub fn at<'g>(&self, gaps: &'g [Damage], at: u64) -> Option<&'g Damage> {
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
