//! Samples with times far from all others, e.g. of a clock that was not yet set.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// Times that are further apart belong to different segments: one hour.
const APART: i64 = 3_600_000_000_000;

/// The maximum number of segments. With more, none of them dominates.
const MOST: usize = 1 << 16;

/// Segments of time with samples that are more than one hour apart.
#[derive(Clone, Debug, Default)]
pub struct Stretches {
    /// The last time of each segment and its number of samples, by its first time.
    found: BTreeMap<i64, (i64, u64)>,
    count: u64,
}

impl Stretches {
    /// Adds a sample at `time` in nanoseconds.
    pub fn add(&mut self, time: i64) {
        self.count += 1;
        let (mut first, mut last, mut count) = (time, time, 1);
        let before = self.found.range(..=time).next_back();
        if let Some((start, (end, others))) = before.map(|(start, of)| (*start, *of))
            && time.saturating_sub(APART) <= end
        {
            (first, last, count) = (start, end.max(time), others + 1);
        }
        let after = self.found.range(time.saturating_add(1)..).next();
        if let Some((start, (end, others))) = after.map(|(start, of)| (*start, *of))
            && start.saturating_sub(APART) <= last
        {
            self.found.remove(&start);
            (last, count) = (end, count + others);
        }
        if self.found.len() < MOST || self.found.contains_key(&first) {
            self.found.insert(first, (last, count));
        }
    }

    /// Returns the first and the last time of the segment with at least nine tenths of
    /// the samples, if there are other segments.
    pub fn main(&self) -> Option<RangeInclusive<i64>> {
        let is_main = |(_, (_, count)): &(&i64, &(i64, u64))| {
            *count < self.count && u128::from(*count) * 10 >= u128::from(self.count) * 9
        };
        self.found.iter().find(is_main).map(|(first, (last, _))| *first..=*last)
    }

    /// Returns the first and the last time of all samples.
    pub fn ends(&self) -> Option<RangeInclusive<i64>> {
        let (first, (_, (last, _))) =
            (self.found.keys().next()?, self.found.last_key_value()?);
        Some(*first..=*last)
    }
}

/// Removes those of `samples`, times in nanoseconds and values, that are more than one
/// hour away from the others, if at least nine tenths are together. Returns the number of
/// removed samples, and sorts the others by time.
pub fn without_strays(samples: &mut Vec<(i64, f64)>) -> usize {
    samples.sort_by_key(|(time, _)| *time);
    let mut stretches = Stretches::default();
    samples.iter().for_each(|(time, _)| stretches.add(*time));
    let Some(main) = stretches.main() else { return 0 };
    let all = samples.len();
    samples.retain(|(time, _)| main.contains(time));
    all - samples.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_1970_is_left_out_and_a_pause_is_not() {
        let second = 1_000_000_000;
        let of = |start: i64, count: i64| {
            (start..start + count).map(move |n| (n * second, n as f64))
        };
        let now: Vec<_> = of(1_700_000_000, 95).collect();
        let mut samples: Vec<_> = now.iter().copied().chain(of(0, 5)).collect();
        assert_eq!((without_strays(&mut samples), &samples), (5, &now));
        let mut pause: Vec<_> = of(0, 50).chain(of(7200, 50)).collect();
        assert_eq!((without_strays(&mut pause), pause.len()), (0, 100));
        assert_eq!(without_strays(&mut samples), 0);
        assert_eq!(without_strays(&mut Vec::new()), 0);
    }

    #[test]
    fn times_in_any_order_are_of_the_same_stretches() {
        let hour = 3_600_000_000_000;
        // Every half hour, from both ends to the middle, and one sample far away.
        let times = (0..20).flat_map(|n| [n, 39 - n]).map(|n| n * hour / 2);
        let mut stretches = Stretches::default();
        times.for_each(|time| stretches.add(time));
        assert_eq!(stretches.main(), None);
        stretches.add(i64::MAX);
        assert_eq!(stretches.main(), Some(0..=39 * hour / 2));
        assert_eq!(stretches.ends(), Some(0..=i64::MAX));
        stretches.add(i64::MIN);
        assert_eq!(stretches.main(), Some(0..=39 * hour / 2));
    }

    #[test]
    fn of_times_all_over_the_ages_none_counts_and_memory_is_bounded() {
        let mut stretches = Stretches::default();
        (0..100_000).for_each(|n| stretches.add(n * 2 * APART));
        assert_eq!((stretches.found.len(), stretches.main()), (MOST, None));
    }
}
