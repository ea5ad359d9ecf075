//! How regularly records come: rates, periods and gaps of each topic.

use std::collections::BTreeMap;

use logtool::time::{clock::Seconds, part_times::PartTimes};
use logtool_core::{Log, Result, Selection, Timestamp, Topic, TopicId};
use serde::Serialize;

/// How regularly the records of a topic come.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Frequency {
    /// One in a median period: as `rosbag info --freq` tells it. Nothing if most records
    /// have the time of the one before.
    pub(super) rate_hz: Option<f64>,
    pub(super) min_period_ns: u64,
    /// Exact, unless the log is so long that not all periods are kept: then to a
    /// thousandth.
    pub(super) median_period_ns: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) median_is_estimate: bool,
    pub(super) max_period_ns: u64,
    /// The standard deviation of the periods.
    pub(super) jitter_ns: f64,
    /// Where the longest period, the largest gap, begins.
    #[serde(skip)]
    pub(super) gap_at: Timestamp,
    /// The same, in seconds on the log's clock.
    pub(super) largest_gap_at_s: Seconds,
}

/// So many times that are not yet in order are kept, at most.
const PENDING: usize = 8 << 20;

/// So many periods of all topics are kept, for their medians.
const KEPT: usize = 4 << 20;

/// Measures all topics of `log`, by their numbers; those of which there are fewer than
/// two records have nothing to tell. Records of times that cannot be right are left out, as of
/// [rates](Topic::rate_hz).
pub(super) fn measure(log: &dyn Log) -> Result<Vec<Option<Frequency>>> {
    let manifest = log.manifest();
    let selection =
        Selection { topics: manifest.logged_topics(), ..Selection::default() };
    let mut measuring = Measuring {
        periods: manifest.topics.iter().map(|_| Periods::default()).collect(),
        pending: Vec::new(),
        left: 0,
        room: KEPT,
    };
    let mut times = PartTimes::new(log, selection);
    let is_right = |id: TopicId, time| {
        let is_it = |topic: &Topic| {
            (topic.odd_times, topic.before_start) == (0, 0)
                || topic.time.is_none_or(|right| right.contains(time))
        };
        manifest.get(id).is_ok_and(is_it)
    };
    while times.part(&mut |topic, time| {
        if is_right(topic, time) {
            measuring.add(topic, time);
        }
    })? {
        measuring.settle(times.parts().first().map(|part| part.time.start));
    }
    Ok(measuring.periods.into_iter().map(Periods::frequency).collect())
}

/// Times that are being put in order.
struct Measuring {
    periods: Vec<Periods>,
    pending: Vec<(TopicId, Timestamp)>,
    /// How many of them were left when they were last put in order.
    left: usize,
    /// How many more periods are kept.
    room: usize,
}

impl Measuring {
    /// Takes note of a record.
    fn add(&mut self, topic: TopicId, time: Timestamp) {
        self.pending.push((topic, time));
        if self.pending.len() > PENDING {
            self.settle(None);
        }
    }

    /// Counts what is before `next`, before which nothing more will come.
    fn settle(&mut self, next: Option<Timestamp>) {
        // Where many parts overlap, most are left each time: they are put in order again
        // only when they are twice as many.
        if next.is_some() && self.pending.len() < 2 * self.left {
            return;
        }
        let next = next.filter(|_| self.pending.len() <= PENDING);
        self.pending.sort_unstable_by_key(|(_, time)| *time);
        let is_done =
            |(_, time): &(TopicId, Timestamp)| next.is_none_or(|next| *time < next);
        let done = self.pending.partition_point(is_done);
        for (topic, time) in self.pending.drain(..done) {
            if let Some(periods) = self.periods.get_mut(topic.index()) {
                periods.add(time, &mut self.room);
            }
        }
        self.left = self.pending.len();
    }
}

/// The periods of a topic, counted.
#[derive(Default)]
struct Periods {
    last: Option<Timestamp>,
    count: u64,
    mean: f64,
    /// The sum of the squares of how far the periods are from the mean.
    squares: f64,
    min: u64,
    max: u64,
    max_at: Timestamp,
    /// How many periods are about as long, and their sum; a thousandth is told apart.
    about: BTreeMap<u64, (u64, u128)>,
    /// The periods, as far as there was room.
    kept: Vec<u64>,
}

impl Periods {
    /// Counts the period that ends at `time`, and keeps it if there is `room`.
    fn add(&mut self, time: Timestamp, room: &mut usize) {
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
        let off = period as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (period as f64 - self.mean);
        let (count, sum) = self.about.entry(about(period)).or_default();
        (*count, *sum) = (*count + 1, *sum + u128::from(period));
        if let Some(left) = room.checked_sub(1) {
            *room = left;
            self.kept.push(period);
        }
    }

    /// Whether all periods are kept.
    fn is_all_kept(&self) -> bool {
        self.kept.len() as u64 == self.count
    }

    /// The median; of an even number of periods, the lower one of the two in the middle.
    fn median(&mut self) -> u64 {
        let index = self.count.saturating_sub(1) / 2;
        if self.is_all_kept() && self.count > 0 {
            return *self.kept.select_nth_unstable(index as usize).1;
        }
        let mut seen = 0;
        let middle = self.about.values().find(|(count, _)| {
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
            gap_at: self.max_at,
            largest_gap_at_s: Seconds(self.max_at.as_nanos()),
        })
    }
}

/// A number that periods share that are alike in their 11 highest bits.
fn about(period: u64) -> u64 {
    let shift = (u64::BITS - period.leading_zeros()).saturating_sub(11);
    u64::from(shift) << 11 | period >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(times: &[i64]) -> Option<Frequency> {
        let (mut periods, mut room) = (Periods::default(), usize::MAX);
        let times = times.iter().map(|time| Timestamp::from_nanos(*time));
        times.for_each(|time| periods.add(time, &mut room));
        periods.frequency()
    }

    #[test]
    fn periods_and_gaps_are_as_worked_out_by_hand() {
        let ms = 1_000_000;
        // Periods of 10, 10, 50 and 10 ms: 20 ms on average.
        let times = [0, 10 * ms, 20 * ms, 70 * ms, 80 * ms];
        let told = frequency(&times).unwrap();
        assert_eq!(told.rate_hz, Some(100.0));
        assert_eq!(frequency(&[0, 0, 0, 5]).unwrap().rate_hz, None);
        assert_eq!(
            (told.min_period_ns, told.median_period_ns),
            (10_000_000, 10_000_000)
        );
        assert_eq!((told.max_period_ns, told.gap_at.as_nanos()), (50_000_000, 20 * ms));
        // (3 · 10² + 30²) / 4 = 300 ms².
        assert!((told.jitter_ns - 300_f64.sqrt() * 1e6).abs() < 1.0);
        assert!(frequency(&[5]).is_none() && frequency(&[]).is_none());
    }

    #[test]
    fn the_median_is_that_of_the_periods_to_the_nanosecond() {
        let start = 1_432_235_498_000_000_000;
        let periods = [10_000_003, 10_000_001, 10_000_002, 10_000_009, 10_000_000];
        let mut times = vec![start];
        times.extend(periods.iter().scan(start, |at, period| {
            *at += period;
            Some(*at)
        }));
        let told = frequency(&times).unwrap();
        assert_eq!(
            (told.median_period_ns, told.median_is_estimate),
            (10_000_002, false)
        );
        let at = serde_json::to_string(&told.largest_gap_at_s).unwrap();
        assert_eq!(at, "1432235498.030000006");
    }

    #[test]
    fn what_is_alike_is_so_to_a_thousandth() {
        assert!((0..5000).all(|period| about(period) <= about(period + 1)));
        assert_eq!(about(1_000_000), about(1_000_300));
        assert_ne!(about(1_000_000), about(1_001_000));
        assert!(about(u64::MAX) > about(u64::MAX >> 1));
    }
}
