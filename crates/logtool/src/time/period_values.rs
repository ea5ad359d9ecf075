//! Medians of many periods in bounded memory.

use std::{collections::BTreeMap, mem};

/// The maximum number of periods that are kept for medians.
const MAX_KEPT_PERIODS: usize = 4 << 20;

/// The fewest periods of a topic that are counted together.
const MIN_COUNTED: usize = 1 << 10;

/// The number of slots that a pair in [`KeptPeriods::counts`] takes.
const SLOTS_PER_COUNT: usize = 2;

/// The number of periods that may still be kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FreeSlots(usize);

/// The periods between the records of a topic, without their order, in bounded memory.
pub(crate) enum PeriodValues {
    /// All periods.
    Kept(KeptPeriods),
    /// The number and the sum of the periods of each [bucket](bucket), because there are too
    /// many different periods.
    Buckets(BTreeMap<u64, (u64, u128)>),
}

/// All periods of a topic. If most of them occur many times, each different one is kept once.
#[derive(Default)]
pub(crate) struct KeptPeriods {
    /// The different periods in ascending order, and how often each occurs.
    counts: Vec<(u64, u64)>,
    /// The periods that are not in `counts`.
    uncounted: Vec<u64>,
    /// The number of uncounted periods at which they are counted.
    count_at: usize,
}

impl FreeSlots {
    /// Creates the slots before any period is kept.
    pub(crate) fn new() -> Self {
        Self(MAX_KEPT_PERIODS)
    }
}

impl Default for PeriodValues {
    fn default() -> Self {
        Self::Kept(KeptPeriods::default())
    }
}

impl PeriodValues {
    /// Adds a period.
    pub(crate) fn add(&mut self, period: u64, free: &mut FreeSlots) {
        if let Self::Kept(kept) = self {
            if kept.add(period, free) {
                return;
            }
            free.0 += kept.slots();
            let mut buckets = BTreeMap::new();
            for (period, count) in mem::take(kept).into_counts() {
                add_to_bucket(&mut buckets, period, count);
            }
            *self = Self::Buckets(buckets);
        }
        if let Self::Buckets(buckets) = self {
            add_to_bucket(buckets, period, 1);
        }
    }

    /// Removes all periods.
    pub(crate) fn clear(&mut self, free: &mut FreeSlots) {
        if let Self::Kept(kept) = mem::take(self) {
            free.0 += kept.slots();
        }
    }

    /// Returns the different periods in ascending order, and how often each occurs. If there were
    /// too many, it returns the mean of each bucket, which is exact to a thousandth.
    #[cfg(feature = "flight")]
    pub(crate) fn into_counts(self) -> Vec<(u64, u64)> {
        match self {
            Self::Kept(kept) => kept.into_counts(),
            Self::Buckets(buckets) => {
                let mean = |(count, sum): &(u64, u128)| {
                    ((sum / u128::from(*count)) as u64, *count)
                };
                buckets.values().map(mean).collect()
            }
        }
    }

    /// Returns the period with this index in ascending order, and whether it is only the mean of
    /// its bucket, which is exact to a thousandth. Without such a period, it returns 0.
    pub(crate) fn nth(self, index: u64) -> (u64, bool) {
        match self {
            Self::Kept(kept) => (kept.nth(index), false),
            Self::Buckets(buckets) => {
                let counts = buckets.values().map(|(count, _)| *count);
                let middle = position_of(counts, index);
                let middle = middle.and_then(|index| buckets.values().nth(index));
                let mean =
                    middle.map_or(0, |(count, sum)| (sum / u128::from(*count)) as u64);
                (mean, true)
            }
        }
    }
}

impl KeptPeriods {
    /// Keeps `period`. Returns whether there is a free slot for it.
    fn add(&mut self, period: u64, free: &mut FreeSlots) -> bool {
        if self.uncounted.len() >= self.count_at.max(MIN_COUNTED) {
            self.count(free);
        }
        let Some(rest) = free.0.checked_sub(1) else { return false };
        free.0 = rest;
        self.uncounted.push(period);
        true
    }

    /// Moves the uncounted periods to the counts, if that takes fewer slots.
    fn count(&mut self, free: &mut FreeSlots) {
        let before = self.slots();
        self.uncounted.sort_unstable();
        let different = self.uncounted.chunk_by(|a, b| a == b).count();
        if different * SLOTS_PER_COUNT > self.uncounted.len() {
            // Sorting again only after the number has doubled keeps the cost linear.
            self.count_at = 2 * self.uncounted.len();
            return;
        }
        let periods = mem::take(self);
        self.counts = periods.into_counts();
        // Each count moves all others. So it is done only for as many periods.
        self.count_at = self.counts.len();
        free.0 += before.saturating_sub(self.slots());
    }

    /// Returns the number of slots that the periods take.
    fn slots(&self) -> usize {
        self.uncounted.len() + SLOTS_PER_COUNT * self.counts.len()
    }

    /// Returns the different periods in ascending order, and how often each occurs.
    fn into_counts(mut self) -> Vec<(u64, u64)> {
        self.uncounted.sort_unstable();
        let more = self.uncounted.chunk_by(|a, b| a == b);
        let more = more.filter_map(|equal| Some((*equal.first()?, equal.len() as u64)));
        let mut counts = self.counts;
        counts.extend(more);
        // Both halves are sorted, which the stable sort recognises.
        counts.sort_by_key(|(period, _)| *period);
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        counts
    }

    /// Returns the period with this index in ascending order.
    fn nth(mut self, index: u64) -> u64 {
        if self.counts.is_empty() {
            let positions = 0..self.uncounted.len();
            let index = usize::try_from(index)
                .ok()
                .filter(|position| positions.contains(position));
            return index
                .map_or(0, |position| *self.uncounted.select_nth_unstable(position).1);
        }
        let counts = self.into_counts();
        let position = position_of(counts.iter().map(|(_, count)| *count), index);
        position
            .and_then(|position| counts.get(position))
            .map_or(0, |(period, _)| *period)
    }
}

/// Returns the index of the count that has the element `index` of all.
fn position_of(mut counts: impl Iterator<Item = u64>, index: u64) -> Option<usize> {
    let mut seen = 0;
    counts.position(|count| {
        seen += count;
        seen > index
    })
}

/// Adds periods of the same length to their bucket.
fn add_to_bucket(buckets: &mut BTreeMap<u64, (u64, u128)>, period: u64, number: u64) {
    let (count, sum) = buckets.entry(bucket(period)).or_default();
    *count += number;
    *sum += u128::from(period) * u128::from(number);
}

/// Returns the bucket of `period`. Periods whose 11 highest bits are the same share one.
fn bucket(period: u64) -> u64 {
    let shift = (u64::BITS - period.leading_zeros()).saturating_sub(11);
    u64::from(shift) << 11 | period >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the median and whether it is an estimate, of `periods` with this many free places.
    fn median(periods: impl Iterator<Item = u64>, free: usize) -> (u64, bool) {
        let (mut values, mut free) = (PeriodValues::default(), FreeSlots(free));
        let mut count = 0;
        for period in periods {
            values.add(period, &mut free);
            count += 1;
        }
        values.nth((count - 1) / 2)
    }

    #[test]
    fn median_of_periods_that_repeat_is_exact_in_few_places() {
        // 20,000 times each of five periods.
        let repeated = (0..100_000).map(|n| 1_000_000 + n * 3 % 5);
        assert_eq!(median(repeated, 4 * MIN_COUNTED), (1_000_002, false));
        // More than half of the periods are the shortest one, and all others differ.
        let uneven = (0..100_000).map(|n| if n % 20 < 11 { 7 } else { n });
        assert_eq!(median(uneven, 100_000), (7, false));
    }

    #[test]
    fn median_of_too_many_different_periods_is_an_estimate() {
        let different = || (0..100_001).map(|n| 1_000_000 + n * 7_919 % 100_001);
        assert_eq!(median(different(), 100_001), (1_050_000, false));
        let (estimate, is_estimate) = median(different(), 50_000);
        assert!(is_estimate && estimate.abs_diff(1_050_000) < 1_050, "{estimate}");
    }

    #[test]
    fn periods_of_a_bucket_differ_by_less_than_a_thousandth() {
        assert!((0..5000).all(|period| bucket(period) <= bucket(period + 1)));
        assert_eq!(bucket(1_000_000), bucket(1_000_300));
        assert_ne!(bucket(1_000_000), bucket(1_001_000));
        assert!(bucket(u64::MAX) > bucket(u64::MAX >> 1));
    }
}
