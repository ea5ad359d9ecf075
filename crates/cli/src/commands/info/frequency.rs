//! How regularly records come: rates, periods and gaps of each topic.

use std::collections::BTreeMap;

use logtool_core::{
    Block, Log, Part, ReadAhead, Result, Selection, Timestamp, TopicId,
};
use serde::Serialize;

/// How regularly the records of a topic come.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Frequency {
    /// One in a median period: as `rosbag info --freq` tells it. Nothing if most records
    /// have the time of the one before.
    pub(super) rate_hz: Option<f64>,
    pub(super) min_period_ns: u64,
    pub(super) median_period_ns: u64,
    pub(super) max_period_ns: u64,
    /// The standard deviation of the periods.
    pub(super) jitter_ns: f64,
    /// Where the longest period, the largest gap, begins.
    #[serde(skip)]
    pub(super) gap_at: Timestamp,
    /// The same, in seconds on the log's clock.
    pub(super) largest_gap_at_s: f64,
}

/// So many times that are not yet in order are kept, at most.
const PENDING: usize = 8 << 20;

/// Measures all topics of `log`, by their numbers; those of which there are fewer than
/// two records have nothing to tell. What the index tells is not read.
pub(super) fn measure(log: &dyn Log) -> Result<Vec<Option<Frequency>>> {
    let manifest = log.manifest();
    let selection = Selection { topics: manifest.logged(), ..Selection::default() };
    let mut plan = manifest.plan(&selection, 0);
    plan.sort_by_key(|part| part.time.start);
    let mut measuring = Measuring {
        periods: manifest.topics.iter().map(|_| Periods::default()).collect(),
        pending: Vec::new(),
    };
    let mut ahead = ReadAhead::new(log, plan.clone(), selection);
    for (index, part) in plan.iter().enumerate() {
        match log.times(part, &mut measuring.pending)? {
            true => ahead.skip_part(),
            false => measuring.read(&mut ahead)?,
        }
        let next = plan.get(index + 1).map(|part: &Part| part.time.start);
        measuring.settle(next);
    }
    Ok(measuring.periods.iter().map(Periods::frequency).collect())
}

/// Times that are being put in order.
struct Measuring {
    periods: Vec<Periods>,
    pending: Vec<(TopicId, Timestamp)>,
}

impl Measuring {
    /// Reads the next part.
    fn read(&mut self, ahead: &mut ReadAhead<'_>) -> Result<()> {
        let mut block = Block::default();
        while ahead.fill_part(&mut block)? {
            self.pending.extend(block.iter().map(|record| (record.topic, record.time)));
            if self.pending.len() > PENDING {
                self.settle(None);
            }
        }
        Ok(())
    }

    /// Counts what is before `next`, before which nothing more will come.
    fn settle(&mut self, next: Option<Timestamp>) {
        let next = next.filter(|_| self.pending.len() <= PENDING);
        self.pending.sort_unstable_by_key(|(_, time)| *time);
        let is_done =
            |(_, time): &(TopicId, Timestamp)| next.is_none_or(|next| *time < next);
        let done = self.pending.partition_point(is_done);
        for (topic, time) in self.pending.drain(..done) {
            if let Some(periods) = self.periods.get_mut(topic.index()) {
                periods.add(time);
            }
        }
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
}

impl Periods {
    fn add(&mut self, time: Timestamp) {
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
    }

    fn median(&self) -> u64 {
        let mut seen = 0;
        let middle = self.about.values().find(|(count, _)| {
            seen += count;
            seen > (self.count - 1) / 2
        });
        middle.map_or(0, |(count, sum)| (sum / u128::from(*count)) as u64)
    }

    fn frequency(&self) -> Option<Frequency> {
        let median = (self.count > 0).then(|| self.median())?;
        Some(Frequency {
            rate_hz: (median > 0).then(|| 1e9 / median as f64),
            min_period_ns: self.min,
            median_period_ns: median,
            max_period_ns: self.max,
            jitter_ns: (self.squares / self.count as f64).sqrt(),
            gap_at: self.max_at,
            largest_gap_at_s: self.max_at.as_secs_f64(),
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
        let mut periods = Periods::default();
        times.iter().for_each(|time| periods.add(Timestamp::from_nanos(*time)));
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
    fn what_is_alike_is_so_to_a_thousandth() {
        assert!((0..5000).all(|period| about(period) <= about(period + 1)));
        assert_eq!(about(1_000_000), about(1_000_300));
        assert_ne!(about(1_000_000), about(1_001_000));
        assert!(about(u64::MAX) > about(u64::MAX >> 1));
    }
}
