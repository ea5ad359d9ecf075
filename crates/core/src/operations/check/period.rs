//! Finding gaps in topics with a regular period.

use std::fmt;

use crate::{
    model::{
        finding::{Code, Finding, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static GAP: Code = Code::warning(
    "time.gap",
    "a regular topic has a gap of more than ten of its periods and a fifth of a second",
);

/// The minimum number of records of a topic with a period.
const MIN_RECORDS: u64 = 20;
/// The minimum length of a gap.
const MIN_GAP_NANOS: u64 = 200_000_000;
/// The minimum length of a gap in periods.
const PERIODS: u64 = 10;
/// The number of histogram bins per power of two.
const STEPS: u32 = 4;
const BINS: usize = (64 * STEPS) as usize;

/// Follows the intervals between the records of each topic.
pub(super) struct RecordIntervals {
    topics: Vec<TopicPeriods>,
    /// The start of logging. Older records are ignored.
    start: Timestamp,
}

#[derive(Clone, Default)]
struct TopicPeriods {
    last: Option<Timestamp>,
    /// A histogram of the intervals, created with the first one.
    bins: Option<Box<[IntervalBin; BINS]>>,
    /// The longest intervals, in descending order.
    longest: Vec<TimeRange>,
    /// The shortest of the longest intervals if their list is full, otherwise 0.
    shortest_kept: u64,
}

/// The intervals of similar length: their number and their total length.
#[derive(Clone, Copy, Default)]
struct IntervalBin {
    count: u32,
    nanos: u64,
}

/// The number of longest intervals to keep.
const KEPT: usize = 8;

impl RecordIntervals {
    pub(super) fn new(topics: usize, start: Timestamp) -> Self {
        Self { topics: vec![TopicPeriods::default(); topics], start }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader) {
        if record.time < self.start {
            return;
        }
        let Some(topic) = self.topics.get_mut(record.topic.index()) else { return };
        let Some(last) = topic.last else {
            topic.last = Some(record.time);
            return;
        };
        if record.time > last {
            topic.last = Some(record.time);
            topic.step(TimeRange { start: last, end: record.time });
        }
    }

    pub(super) fn report(&self, findings: &mut Findings) {
        for (id, topic) in (0..).map(TopicId).zip(&self.topics) {
            topic
                .finding()
                .into_iter()
                .for_each(|finding| findings.add(finding.with_topic(id)));
        }
    }
}

impl TopicPeriods {
    fn step(&mut self, step: TimeRange) {
        let bins =
            self.bins.get_or_insert_with(|| Box::new([IntervalBin::default(); BINS]));
        if let Some(bin) = bins.get_mut(bin(len(&step))) {
            bin.count = bin.count.saturating_add(1);
            bin.nanos = bin.nanos.saturating_add(len(&step));
        }
        if len(&step) > self.shortest_kept {
            self.insert_longest(step);
        }
    }

    /// Inserts an interval into the list of the longest ones.
    #[cold]
    fn insert_longest(&mut self, step: TimeRange) {
        let index = self.longest.partition_point(|known| len(known) >= len(&step));
        self.longest.truncate(KEPT - 1);
        self.longest.insert(index, step);
        self.shortest_kept = self.longest.get(KEPT - 1).map_or(0, len);
    }

    fn finding(&self) -> Option<Finding> {
        let bins = self.bins.as_deref()?;
        let total: u64 = bins.iter().map(|bin| u64::from(bin.count)).sum();
        let (median, nearly_all) =
            (interval_at(bins, total / 2), interval_at(bins, total * 9 / 10));
        // A topic without a regular period has no gaps.
        if total < MIN_RECORDS || nearly_all > median.saturating_mul(3) {
            return None;
        }
        let min_gap = nearly_all.saturating_mul(PERIODS).max(MIN_GAP_NANOS);
        let gaps = self.longest.iter().filter(|step| len(step) > min_gap);
        let gaps: Vec<&TimeRange> = gaps.collect();
        let longest = gaps.first()?;
        let more: u64 = match gaps.len() {
            // There may be more gaps than the list contains.
            KEPT => {
                bins.iter().skip(bin(min_gap) + 1).map(|bin| u64::from(bin.count)).sum()
            }
            _ => 0,
        };
        let time = gaps.iter().fold(**longest, |range, gap| range.cover(gap));
        let text = format!(
            "a gap of {} at most; the usual period is {}",
            Nanos(len(longest)),
            Nanos(median)
        );
        let count = more.max(gaps.len() as u64);
        Some(Finding::new(&GAP, text).with_time(time).with_count(count))
    }
}

fn len(step: &TimeRange) -> u64 {
    step.end.as_nanos().abs_diff(step.start.as_nanos())
}

/// Returns the bin of an interval of `nanos` nanoseconds.
fn bin(nanos: u64) -> usize {
    let power = nanos.max(1).ilog2();
    let rest = match power {
        ..2 => 0,
        _ => (nanos >> (power - 2)) as u32 & (STEPS - 1),
    };
    (power * STEPS + rest) as usize
}

/// Estimates the interval with this `rank` as the mean of its bin.
fn interval_at(bins: &[IntervalBin; BINS], rank: u64) -> u64 {
    let mut before = 0;
    let bin = bins.iter().find(|bin| {
        before += u64::from(bin.count);
        before > rank
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

    fn topic(steps: impl IntoIterator<Item = i64>) -> TopicPeriods {
        let mut topic = TopicPeriods::default();
        for nanos in steps {
            let (start, end) = (Timestamp::from_nanos(0), Timestamp::from_nanos(nanos));
            topic.step(TimeRange { start, end });
        }
        topic
    }

    #[test]
    fn period_of_400_ms_is_reported() {
        let steps = [400_000_000; 40].into_iter().chain([9_000_000_000]);
        let text = topic(steps).finding().unwrap().text;
        assert_eq!(text, "a gap of 9.000 s at most; the usual period is 400.000 ms");
    }

    #[test]
    fn bin_covers_at_most_a_quarter_of_its_value() {
        for nanos in [4_i64, 5, 1_000, 5_000_000, 123_456_789_012] {
            let longer = nanos + nanos / 4 + 1;
            assert_ne!(
                bin(nanos.unsigned_abs()),
                bin(longer.unsigned_abs()),
                "{nanos}"
            );
            assert!(bin(nanos.unsigned_abs()) <= bin(longer.unsigned_abs()));
        }
    }
}
