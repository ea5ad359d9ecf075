//! The intervals between the samples of a topic, without their order.

use logtool_flight::{SamplingRegularity, mean_interval};

use crate::time::period_values::{FreeSlots, PeriodValues};

/// Collects the intervals between the samples of a topic in bounded memory.
pub(super) struct SampleIntervals {
    last_time: Option<i64>,
    /// The positive intervals, and their number.
    intervals: PeriodValues,
    free_slots: FreeSlots,
    /// The number of samples with the same time as the preceding one.
    repeated: u64,
    /// The number of samples whose time is before that of the preceding one.
    backwards: u64,
}

impl SampleIntervals {
    /// Creates the intervals before the first sample.
    pub(super) fn new() -> Self {
        Self {
            last_time: None,
            intervals: PeriodValues::default(),
            free_slots: FreeSlots::new(),
            repeated: 0,
            backwards: 0,
        }
    }

    /// Adds a sample at `time`, in nanoseconds.
    pub(super) fn add(&mut self, time: i64) {
        let Some(last) = self.last_time.replace(time) else { return };
        match u64::try_from(time.saturating_sub(last)) {
            Ok(0) => self.repeated += 1,
            Ok(interval) => {
                self.intervals.add(interval, &mut self.free_slots);
            }
            Err(_) => self.backwards += 1,
        }
    }

    /// Returns the mean of the positive intervals without gaps, in nanoseconds.
    pub(super) fn into_mean(self) -> Option<f64> {
        mean_interval(self.intervals.into_counts().into_iter())
    }

    /// Returns the sampling regularity of the topic called `label`; `None` without two successive
    /// samples in the order of time.
    pub(super) fn into_regularity(self, label: &str) -> Option<SamplingRegularity> {
        let repeated = (self.repeated > 0).then_some((0, self.repeated));
        let intervals = self.intervals.into_counts();
        let counts: Vec<(u64, u64)> = repeated.into_iter().chain(intervals).collect();
        SamplingRegularity::from_intervals(label, &counts, self.backwards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regularity_counts_repeated_and_backward_times() {
        let mut intervals = SampleIntervals::new();
        [0, 10, 10, 20, 70, 60, 70].into_iter().for_each(|time| intervals.add(time));
        let regularity = intervals.into_regularity("t").unwrap();
        // 10, 0, 10, 50, -10 and 10.
        assert_eq!((regularity.intervals, regularity.backwards), (6, 1));
        assert_eq!((regularity.median_s, regularity.max_s), (10e-9, 50e-9));
        assert_eq!(regularity.gaps, 1);
        assert!((regularity.mean_s - 16e-9).abs() < 1e-20);
    }

    #[test]
    fn mean_is_that_of_positive_intervals() {
        let mut intervals = SampleIntervals::new();
        [0, 0, 0, 0, 5, 4, 11].into_iter().for_each(|time| intervals.add(time));
        assert_eq!(intervals.into_mean(), Some(6.0));
        assert_eq!(SampleIntervals::new().into_mean(), None);
    }
}
