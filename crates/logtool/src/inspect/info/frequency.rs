//! Measures how regularly records come: rates, periods and gaps of each topic.

use std::collections::BTreeMap;

use logtool_core::{Log, Selection, Timestamp, Topic, TopicId};
use serde::Serialize;

use crate::{
    error::Result,
    time::{clock::Seconds, part_times::PartTimes},
};

/// The periods and gaps between the records of a topic. A period is the time from one record
/// to the next.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Frequency {
    /// One record per median period, like `rosbag info --freq` computes it. `None` if most
    /// records have the time of the record before.
    pub rate_hz: Option<f64>,
    /// The shortest period, in nanoseconds.
    pub min_period_ns: u64,
    /// The median period, in nanoseconds.
    pub median_period_ns: u64,
    /// Whether the median is only exact to a thousandth, because the log has too many
    /// records to keep all periods in memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub median_is_estimate: bool,
    /// The longest period, in nanoseconds.
    pub max_period_ns: u64,
    /// The standard deviation of the periods, in nanoseconds.
    pub jitter_ns: f64,
    /// The time at which the longest period starts, on the clock of the log.
    pub largest_gap_at_s: Seconds,
}

/// The maximum number of times that wait to be sorted.
const MAX_UNSORTED_TIMES: usize = 8 << 20;

/// The maximum number of periods of all topics that are kept for their medians.
const MAX_KEPT_PERIODS: usize = 4 << 20;

/// Measures all topics of `log` and returns their frequencies, indexed by topic. A topic with
/// fewer than two records has none. Records with impossible times are left out, as in
/// [`Topic::rate_hz`].
///
/// # Errors
/// If reading fails.
pub(super) fn measure(log: &dyn Log) -> Result<Vec<Option<Frequency>>> {
    let manifest = log.manifest();
    let selection =
        Selection { topics: manifest.logged_topics(), ..Selection::default() };
    let mut sorter = TimeSorter {
        periods: manifest.topics.iter().map(|_| Periods::default()).collect(),
        unsorted: Vec::new(),
        remaining: 0,
        free_periods: MAX_KEPT_PERIODS,
    };
    let mut times = PartTimes::new(log, selection);
    let is_possible = |id: TopicId, time| {
        manifest.get(id).is_ok_and(|topic: &Topic| {
            (topic.implausible_times, topic.before_start) == (0, 0)
                || topic.time.is_none_or(|possible| possible.contains(time))
        })
    };
    while times.part(&mut |topic, time| {
        if is_possible(topic, time) {
            sorter.add(topic, time);
        }
    })? {
        sorter.count_before(times.parts().first().map(|part| part.time.start));
    }
    Ok(sorter.periods.into_iter().map(Periods::frequency).collect())
}

/// Sorts the times of records, and counts the periods between them.
struct TimeSorter {
    periods: Vec<Periods>,
    unsorted: Vec<(TopicId, Timestamp)>,
    /// The number of times that remained after the last sorting.
    remaining: usize,
    /// The number of periods that may still be kept.
    free_periods: usize,
}

impl TimeSorter {
    fn add(&mut self, topic: TopicId, time: Timestamp) {
        self.unsorted.push((topic, time));
        if self.unsorted.len() > MAX_UNSORTED_TIMES {
            self.count_before(None);
        }
    }

    /// Counts the periods that end before `next`, the earliest time that may still be added;
    /// `None` counts all.
    fn count_before(&mut self, next: Option<Timestamp>) {
        // If many parts overlap, most times remain after each part. Sorting them only after
        // their number has doubled keeps the cost linear.
        if next.is_some() && self.unsorted.len() < 2 * self.remaining {
            return;
        }
        let next = next.filter(|_| self.unsorted.len() <= MAX_UNSORTED_TIMES);
        self.unsorted.sort_unstable_by_key(|(_, time)| *time);
        let complete = self
            .unsorted
            .partition_point(|(_, time)| next.is_none_or(|next| *time < next));
        for (topic, time) in self.unsorted.drain(..complete) {
            if let Some(periods) = self.periods.get_mut(topic.index()) {
                periods.add(time, &mut self.free_periods);
            }
        }
        self.remaining = self.unsorted.len();
    }
}

/// Statistics of the periods of a topic.
#[derive(Default)]
struct Periods {
    last: Option<Timestamp>,
    count: u64,
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
    min: u64,
    max: u64,
    max_at: Timestamp,
    /// The number and the sum of the periods of each [bucket](bucket).
    buckets: BTreeMap<u64, (u64, u128)>,
    /// The periods, unless there are too many.
    kept: Vec<u64>,
}

impl Periods {
    /// Counts the period that ends at `time`. It is kept if `free_periods` is not zero.
    fn add(&mut self, time: Timestamp, free_periods: &mut usize) {
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
        let (count, sum) = self.buckets.entry(bucket(period)).or_default();
        (*count, *sum) = (*count + 1, *sum + u128::from(period));
        if let Some(free) = free_periods.checked_sub(1) {
            *free_periods = free;
            self.kept.push(period);
        }
    }

    /// Returns whether all periods are kept.
    fn is_all_kept(&self) -> bool {
        self.kept.len() as u64 == self.count
    }

    /// Returns the median; of an even number of periods, the lower one of the two in the
    /// middle.
    fn median(&mut self) -> u64 {
        let index = self.count.saturating_sub(1) / 2;
        if self.is_all_kept() && self.count > 0 {
            return *self.kept.select_nth_unstable(index as usize).1;
        }
        let mut seen = 0;
        let middle = self.buckets.values().find(|(count, _)| {
            seen += count;
            seen > index
        });
        middle.map_or(0, |(count, sum)| (sum / u128::from(*count)) as u64)
    }

    fn frequency(mut self) -> Option<Frequency> {
        let median = (self.count > 0).then(|| self.median())?;
        Some(Frequency {
            rate_hz: (median > 0).then(|| 1e9 / median as f64),
            min_period_ns: self.min,
            median_period_ns: median,
            median_is_estimate: !self.is_all_kept(),
            max_period_ns: self.max,
            jitter_ns: (self.squares / self.count as f64).sqrt(),
            largest_gap_at_s: Seconds(self.max_at.as_nanos()),
        })
    }
}

/// Returns the bucket of `period`. Periods whose 11 highest bits are the same share one.
fn bucket(period: u64) -> u64 {
    let shift = (u64::BITS - period.leading_zeros()).saturating_sub(11);
    u64::from(shift) << 11 | period >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(times: &[i64]) -> Option<Frequency> {
        let (mut periods, mut free) = (Periods::default(), usize::MAX);
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
    fn periods_of_a_bucket_differ_by_less_than_a_thousandth() {
        assert!((0..5000).all(|period| bucket(period) <= bucket(period + 1)));
        assert_eq!(bucket(1_000_000), bucket(1_000_300));
        assert_ne!(bucket(1_000_000), bucket(1_001_000));
        assert!(bucket(u64::MAX) > bucket(u64::MAX >> 1));
    }
}
