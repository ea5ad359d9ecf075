//! Statistics of the periods between the records of a topic.

use logtool_core::Timestamp;

use crate::{
    inspect::info::frequency::Frequency,
    time::{
        clock::Seconds,
        period_values::{FreeSlots, PeriodValues},
    },
};

/// Statistics of the periods of a topic.
#[derive(Default)]
pub(super) struct Periods {
    last: Option<Timestamp>,
    count: u64,
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
    min: u64,
    max: u64,
    max_at: Timestamp,
    values: PeriodValues,
}

impl Periods {
    /// Returns whether a record at `time` is earlier than the last one.
    pub(super) fn is_late(&self, time: Timestamp) -> bool {
        self.last.is_some_and(|last| time < last)
    }

    /// Counts the period that ends at `time`.
    pub(super) fn add(&mut self, time: Timestamp, free: &mut FreeSlots) {
        let Some(last) = self.last.replace(time) else { return };
        let period = i128::from(time.as_nanos()) - i128::from(last.as_nanos());
        let period = u64::try_from(period).unwrap_or(0);
        if self.count == 0 || period < self.min {
            self.min = period;
        }
        if self.count == 0 || period > self.max {
            (self.max, self.max_at) = (period, last);
        }
        self.count += 1;
        // Welford's algorithm.
        let deviation = period as f64 - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (period as f64 - self.mean);
        self.values.add(period, free);
    }

    /// Removes all periods.
    pub(super) fn clear(&mut self, free: &mut FreeSlots) {
        self.values.clear(free);
        *self = Self::default();
    }

    /// Returns the frequency, unless there are no periods.
    pub(super) fn frequency(self) -> Option<Frequency> {
        // Of an even number of periods, the lower one of the two in the middle.
        let middle = self.count.checked_sub(1)? / 2;
        let (median, is_estimate) = self.values.nth(middle);
        Some(Frequency {
            rate_hz: (median > 0).then(|| 1e9 / median as f64),
            min_period_ns: self.min,
            median_period_ns: median,
            median_is_estimate: is_estimate,
            max_period_ns: self.max,
            jitter_ns: (self.squares / self.count as f64).sqrt(),
            largest_gap_at_s: Seconds(self.max_at.as_nanos()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(times: &[i64]) -> Option<Frequency> {
        let (mut periods, mut free) = (Periods::default(), FreeSlots::new());
        let times = times.iter().map(|time| Timestamp::from_nanos(*time));
        times.for_each(|time| periods.add(time, &mut free));
        periods.frequency()
    }

    #[test]
    fn frequency_has_the_periods_jitter_and_largest_gap_of_the_records() {
        let ms = 1_000_000;
        // Periods of 10, 10, 50 and 10 ms: 20 ms on average.
        let times = [0, 10 * ms, 20 * ms, 70 * ms, 80 * ms];
        let measured = frequency(&times).unwrap();
        assert_eq!(measured.rate_hz, Some(100.0));
        assert_eq!(frequency(&[0, 0, 0, 5]).unwrap().rate_hz, None);
        assert_eq!(
            (measured.min_period_ns, measured.median_period_ns),
            (10_000_000, 10_000_000)
        );
        assert_eq!(
            (measured.max_period_ns, measured.largest_gap_at_s.0),
            (50_000_000, 20 * ms)
        );
        // (3 · 10² + 30²) / 4 = 300 ms².
        assert!((measured.jitter_ns - 300_f64.sqrt() * 1e6).abs() < 1.0);
        assert!(frequency(&[5]).is_none() && frequency(&[]).is_none());
    }

    #[test]
    fn median_period_is_exact_to_the_nanosecond() {
        let start = 1_432_235_498_000_000_000;
        let periods = [10_000_003, 10_000_001, 10_000_002, 10_000_009, 10_000_000];
        let mut times = vec![start];
        times.extend(periods.iter().scan(start, |at, period| {
            *at += period;
            Some(*at)
        }));
        let measured = frequency(&times).unwrap();
        assert_eq!(
            (measured.median_period_ns, measured.median_is_estimate),
            (10_000_002, false)
        );
        let at = serde_json::to_string(&measured.largest_gap_at_s).unwrap();
        assert_eq!(at, "1432235498.030000006");
    }

    #[test]
    fn places_of_removed_periods_are_free_again() {
        let (mut periods, mut free) = (Periods::default(), FreeSlots::new());
        for n in 0..4_000 {
            periods.add(Timestamp::from_nanos(n * 10 + n % 3), &mut free);
        }
        assert!(free != FreeSlots::new());
        periods.clear(&mut free);
        assert_eq!(free, FreeSlots::new());
    }
}
