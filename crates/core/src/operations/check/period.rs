//! Finding gaps in topics with a regular period.

use std::fmt;

use crate::{
    model::{
        finding::{Finding, FindingCode, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static GAP: FindingCode = FindingCode::warning(
    "time.gap",
    "a regular topic has a gap of more than ten of its periods and a fifth of a second",
);

/// The minimum number of records of a topic with a period.
const MIN_RECORDS: u64 = 20;
/// The minimum length of a gap.
const MIN_GAP_NANOS: u64 = 200_000_000;
/// The minimum length of a gap in periods.
const MIN_GAP_PERIODS: u64 = 10;
/// The number of histogram bins per power of two.
const BINS_PER_POWER: u32 = 4;
const BIN_COUNT: usize = (64 * BINS_PER_POWER) as usize;

/// Follows the intervals between the records of each topic.
pub(super) struct RecordIntervals {
    by_topic: Vec<TopicIntervals>,
    /// The start of logging. Older records are ignored.
    start: Timestamp,
}

#[derive(Clone, Default)]
struct TopicIntervals {
    /// The time of the last record.
    last_time: Option<Timestamp>,
    /// A histogram of the intervals, created with the first one.
    bins: Option<Box<[IntervalBin; BIN_COUNT]>>,
    /// The longest intervals, in descending order.
    longest: Vec<TimeRange>,
    /// The length of the shortest interval in `longest` if the list is full, otherwise 0.
    min_longest_nanos: u64,
}

/// The intervals of similar length: their number and their total length.
#[derive(Clone, Copy, Default)]
struct IntervalBin {
    count: u32,
    nanos: u64,
}

/// The maximum number of intervals in the list of the longest ones.
const MAX_LONGEST: usize = 8;

impl RecordIntervals {
    pub(super) fn new(topic_count: usize, start: Timestamp) -> Self {
        Self { by_topic: vec![TopicIntervals::default(); topic_count], start }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader) {
        if record.time < self.start {
            return;
        }
        let Some(intervals) = self.by_topic.get_mut(record.topic.index()) else {
            return;
        };
        let Some(last_time) = intervals.last_time else {
            intervals.last_time = Some(record.time);
            return;
        };
        if record.time > last_time {
            intervals.last_time = Some(record.time);
            intervals.add(TimeRange { start: last_time, end: record.time });
        }
    }

    pub(super) fn report(&self, findings: &mut Findings) {
        for (id, intervals) in (0..).map(TopicId).zip(&self.by_topic) {
            if let Some(finding) = intervals.finding() {
                findings.add(finding.with_topic(id));
            }
        }
    }
}

impl TopicIntervals {
    /// Adds the next interval.
    fn add(&mut self, interval: TimeRange) {
        let nanos = interval_nanos(&interval);
        let bins = self
            .bins
            .get_or_insert_with(|| Box::new([IntervalBin::default(); BIN_COUNT]));
        if let Some(bin) = bins.get_mut(bin_index(nanos)) {
            bin.count = bin.count.saturating_add(1);
            bin.nanos = bin.nanos.saturating_add(nanos);
        }
        if nanos > self.min_longest_nanos {
            self.insert_longest(interval);
        }
    }

    /// Inserts an interval into the list of the longest ones.
    #[cold]
    fn insert_longest(&mut self, interval: TimeRange) {
        let nanos = interval_nanos(&interval);
        let index =
            self.longest.partition_point(|longer| interval_nanos(longer) >= nanos);
        self.longest.truncate(MAX_LONGEST - 1);
        self.longest.insert(index, interval);
        self.min_longest_nanos =
            self.longest.get(MAX_LONGEST - 1).map_or(0, interval_nanos);
    }

    fn finding(&self) -> Option<Finding> {
        let bins = self.bins.as_deref()?;
        let total: u64 = bins.iter().map(|bin| u64::from(bin.count)).sum();
        let median = interval_with_rank(bins, total / 2);
        let ninth_decile = interval_with_rank(bins, total * 9 / 10);
        // A topic without a regular period has no gaps.
        if total < MIN_RECORDS || ninth_decile > median.saturating_mul(3) {
            return None;
        }
        let min_gap = ninth_decile.saturating_mul(MIN_GAP_PERIODS).max(MIN_GAP_NANOS);
        let gaps: Vec<&TimeRange> = self
            .longest
            .iter()
            .filter(|interval| interval_nanos(interval) > min_gap)
            .collect();
        let longest_gap = gaps.first()?;
        let mut count = gaps.len() as u64;
        if gaps.len() == MAX_LONGEST {
            // There may be more gaps than the list contains.
            let gap_bins = bins.iter().skip(bin_index(min_gap) + 1);
            count = count.max(gap_bins.map(|bin| u64::from(bin.count)).sum());
        }
        let time = gaps.iter().fold(**longest_gap, |range, gap| range.cover(gap));
        let text = format!(
            "a gap of {} at most; the usual period is {}",
            Nanos(interval_nanos(longest_gap)),
            Nanos(median)
        );
        Some(Finding::new(&GAP, text).with_time(time).with_count(count))
    }
}

/// Returns the length of an interval in nanoseconds.
fn interval_nanos(interval: &TimeRange) -> u64 {
    interval.end.as_nanos().abs_diff(interval.start.as_nanos())
}

/// Returns the index of the bin of an interval of `nanos` nanoseconds.
fn bin_index(nanos: u64) -> usize {
    let power = nanos.max(1).ilog2();
    // The two bits after the highest one.
    let quarter = match power {
        ..2 => 0,
        _ => (nanos >> (power - 2)) as u32 & (BINS_PER_POWER - 1),
    };
    (power * BINS_PER_POWER + quarter) as usize
}

/// Estimates the interval with this `rank` as the mean of its bin.
fn interval_with_rank(bins: &[IntervalBin; BIN_COUNT], rank: u64) -> u64 {
    let mut count = 0;
    let bin = bins.iter().find(|bin| {
        count += u64::from(bin.count);
        count > rank
    });
    bin.map_or(0, |bin| bin.nanos / u64::from(bin.count).max(1))
}

/// Formats nanoseconds with a suitable unit.
pub(super) struct Nanos(pub(super) u64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} ns", self.0),
            1_000..=999_999 => write!(f, "{:.3} µs", nanos / 1e3),
            1_000_000..=999_999_999 => write!(f, "{:.3} ms", nanos / 1e6),
            _ => write!(f, "{:.3} s", nanos / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic_intervals(lengths: impl IntoIterator<Item = i64>) -> TopicIntervals {
        let mut intervals = TopicIntervals::default();
        for nanos in lengths {
            let (start, end) = (Timestamp::from_nanos(0), Timestamp::from_nanos(nanos));
            intervals.add(TimeRange { start, end });
        }
        intervals
    }

    #[test]
    fn period_of_400_ms_is_reported() {
        let lengths = [400_000_000; 40].into_iter().chain([9_000_000_000]);
        let text = topic_intervals(lengths).finding().unwrap().text;
        assert_eq!(text, "a gap of 9.000 s at most; the usual period is 400.000 ms");
    }

    #[test]
    fn bin_covers_at_most_a_quarter_of_its_value() {
        for nanos in [4_i64, 5, 1_000, 5_000_000, 123_456_789_012] {
            let longer = nanos + nanos / 4 + 1;
            assert_ne!(
                bin_index(nanos.unsigned_abs()),
                bin_index(longer.unsigned_abs()),
                "{nanos}"
            );
            assert!(
                bin_index(nanos.unsigned_abs()) <= bin_index(longer.unsigned_abs())
            );
        }
    }
}
