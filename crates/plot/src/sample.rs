//! Downsamples a signal without losing visible details.
//!
//! Time is divided into as many columns as the chart has pixels. The first, the last, the lowest
//! and the highest value of each column are kept. So a spike of a single record stays visible, and
//! the memory does not depend on the length of the log. Values before or after the expected times
//! make the columns wider.

/// Downsamples a signal while its values are added.
#[derive(Clone, Debug)]
pub struct Sampler {
    start: i128,
    /// The width of a column in nanoseconds.
    width: i128,
    columns: Vec<Option<SampledColumn>>,
    /// The last column to which a value was added: its index, its start, and its end (exclusive).
    /// Most values are in the same column as the previous value.
    recent: (usize, i128, i128),
    /// The accepted times; the end is exclusive. Values at other times are dropped.
    range: (i64, i64),
    periods: Periods,
    last: Option<i64>,
    values: u64,
    dropped: u64,
    out_of_range: u64,
}

/// The kept values of a column.
#[derive(Clone, Copy, Debug)]
struct SampledColumn {
    first: TimedValue,
    low: TimedValue,
    high: TimedValue,
    last: TimedValue,
}

impl SampledColumn {
    fn new(value: TimedValue) -> Self {
        Self { first: value, low: value, high: value, last: value }
    }

    /// Adds a later value.
    fn add(&mut self, value: TimedValue) {
        if value.0 < self.first.0 {
            self.first = value;
        }
        if value.1 < self.low.1 {
            self.low = value;
        }
        if value.1 > self.high.1 {
            self.high = value;
        }
        if value.0 >= self.last.0 {
            self.last = value;
        }
    }

    /// Combines the column with the later values of `other`.
    fn merge(self, other: Self) -> Self {
        let choose = |is_other, ours, theirs| if is_other { theirs } else { ours };
        Self {
            first: choose(other.first.0 < self.first.0, self.first, other.first),
            low: choose(other.low.1 < self.low.1, self.low, other.low),
            high: choose(other.high.1 > self.high.1, self.high, other.high),
            last: choose(other.last.0 >= self.last.0, self.last, other.last),
        }
    }
}

/// A time in nanoseconds and a value.
type TimedValue = (i64, f64);

/// A signal as a sequence of lines, which are called runs. There is a pause between two runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signal {
    /// The runs in the order of time. Each has at least one pair of a time in nanoseconds on the
    /// log's clock and a finite value.
    pub runs: Vec<Vec<(i64, f64)>>,
    /// The number of values that were added.
    pub values: u64,
    /// The number of dropped values: they were missing or not finite, had no time, or were outside
    /// of the accepted times.
    pub dropped: u64,
    /// The number of dropped values that were finite, but outside of the accepted times.
    pub out_of_range: u64,
}

impl Sampler {
    /// Creates a sampler with `columns` columns for the nanoseconds from `start` to
    /// `end`, exclusive.
    pub fn new(start: i64, end: i64, columns: usize) -> Self {
        let columns = columns.clamp(1, 1 << 16);
        let span = i128::from(end) - i128::from(start);
        let width = span.max(1).div_euclid(columns as i128) + 1;
        Self {
            start: i128::from(start),
            width,
            range: (start, end),
            columns: vec![None; columns],
            recent: (0, 0, 0),
            periods: Periods::default(),
            last: None,
            values: 0,
            dropped: 0,
            out_of_range: 0,
        }
    }

    /// Also accepts values before and after the expected times, from `start` to `end`,
    /// exclusive.
    #[must_use]
    pub fn with_range(self, start: i64, end: i64) -> Self {
        Self { range: (start, end), ..self }
    }

    /// Adds the `value` at `nanos`.
    pub fn add(&mut self, nanos: i64, value: f64) {
        let (start, end) = self.range;
        let is_out_of_range = value.is_finite() && !(start..end).contains(&nanos);
        if is_out_of_range || !value.is_finite() {
            self.dropped += 1;
            self.out_of_range += u64::from(is_out_of_range);
            return;
        }
        self.values += 1;
        if let Some(last) = self.last.replace(nanos) {
            self.periods.add(nanos.saturating_sub(last));
        }
        self.store(nanos, value);
    }

    /// Adds the initial value, which was set before the start of the chart.
    pub fn add_initial(&mut self, nanos: i64, value: f64) {
        if value.is_finite() {
            self.values += 1;
            self.store(nanos, value);
        }
    }

    fn store(&mut self, nanos: i64, value: f64) {
        let time = i128::from(nanos);
        let (mut column, start, end) = self.recent;
        if !(start..end).contains(&time) {
            column = self.column_of(time);
            let start = self.start + self.width * column as i128;
            self.recent = (column, start, start + self.width);
        }
        match self.columns.get_mut(column) {
            Some(Some(sampled)) => sampled.add((nanos, value)),
            Some(slot) => *slot = Some(SampledColumn::new((nanos, value))),
            None => {}
        }
    }

    /// Returns the index of the column of `time`. Widens the columns until they contain it.
    fn column_of(&mut self, time: i128) -> usize {
        let offset = loop {
            let offset = time - self.start;
            let is_early = offset < 0;
            if !is_early && offset < self.width * self.columns.len() as i128 {
                break offset;
            }
            self.widen(is_early);
        };
        usize::try_from(offset / self.width).unwrap_or(usize::MAX)
    }

    /// Merges pairs of columns, which makes space for the same number of columns: before the first
    /// column if `is_early` is set, otherwise after the last one.
    fn widen(&mut self, is_early: bool) {
        let len = self.columns.len();
        let added_columns = if is_early { len } else { 0 };
        let mut columns: Vec<Option<SampledColumn>> = vec![None; len];
        for (index, column) in (added_columns..).zip(self.columns.drain(..)) {
            let Some((column, slot)) = column.zip(columns.get_mut(index / 2)) else {
                continue;
            };
            *slot = Some(
                slot.map_or(column, |sampled: SampledColumn| sampled.merge(column)),
            );
        }
        self.start -= self.width * added_columns as i128;
        self.width *= 2;
        self.columns = columns;
    }

    /// Counts a value without a time, or a missing value.
    pub fn add_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Returns the lines. A pause of more than five usual periods starts a new line.
    pub fn signal(&self) -> Signal {
        self.lines(self.periods.usual_period().saturating_mul(5))
    }

    /// Returns a single line, in which each value lasts until the next one, also during pauses.
    pub fn held_signal(&self) -> Signal {
        self.lines(i64::MAX)
    }

    /// Returns the lines. A pause of more than `max_pause` nanoseconds starts a new line.
    fn lines(&self, max_pause: i64) -> Signal {
        let mut runs: Vec<Vec<TimedValue>> = Vec::new();
        for column in self.columns.iter().flatten() {
            let mut values = [column.first, column.low, column.high, column.last];
            values.sort_by_key(|(nanos, _)| *nanos);
            let pause = |run: &Vec<TimedValue>| {
                run.last()
                    .map_or(i64::MAX, |(nanos, _)| values[0].0.saturating_sub(*nanos))
            };
            let run = match runs.last_mut() {
                Some(run) if pause(run) <= max_pause => run,
                _ => {
                    runs.push(Vec::new());
                    let Some(run) = runs.last_mut() else { break };
                    run
                }
            };
            for value in values {
                if run.last() != Some(&value) {
                    run.push(value);
                }
            }
        }
        let Self { values, dropped, out_of_range, .. } = *self;
        Signal { runs, values, dropped, out_of_range }
    }
}

impl Signal {
    /// Returns the lowest and the highest value.
    pub fn span(&self) -> Option<(f64, f64)> {
        let values = || self.runs.iter().flatten().map(|(_, value)| *value);
        Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
    }

    /// Returns the first and the last time.
    pub fn times(&self) -> Option<(i64, i64)> {
        let first = self.runs.first()?.first()?.0;
        Some((first, self.runs.last()?.last()?.0))
    }
}

/// A histogram of periods with eight classes per power of two.
#[derive(Clone, Debug, Default)]
struct Periods {
    classes: Vec<u32>,
    count: u64,
}

impl Periods {
    fn add(&mut self, nanos: i64) {
        let Some(nanos) = u64::try_from(nanos).ok().filter(|nanos| *nanos > 0) else {
            return;
        };
        self.classes.resize(8 * 64, 0);
        let bits = 63 - nanos.leading_zeros();
        let eighth = match bits {
            3.. => nanos >> (bits - 3) & 7,
            _ => nanos << (3 - bits) & 7,
        };
        if let Some(class) = self.classes.get_mut((bits as usize) * 8 + eighth as usize)
        {
            *class = class.saturating_add(1);
            self.count += 1;
        }
    }

    /// Returns an upper bound of nine tenths of the periods, or the maximum without periods.
    fn usual_period(&self) -> i64 {
        let (mut total, limit) = (0, self.count * 9 / 10);
        for (class, count) in self.classes.iter().enumerate() {
            total += u64::from(*count);
            if total > limit || total == self.count && total > 0 {
                let (bits, eighth) = (class / 8, class % 8);
                let end = (8 + eighth as u128 + 1) << bits >> 3;
                return i64::try_from(end).unwrap_or(i64::MAX);
            }
        }
        i64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_kept_and_no_more_than_four_values_of_a_column() {
        let mut sampler = Sampler::new(0, 1_000_000, 10);
        for n in 0..1_000_000 {
            let value = match n {
                123_456 => 1e6,
                777_777 => -1e6,
                n => (n as f64 / 1e5).sin(),
            };
            sampler.add(n, value);
        }
        let signal = sampler.signal();
        assert_eq!(signal.span(), Some((-1e6, 1e6)));
        assert_eq!(signal.runs.len(), 1);
        let run = &signal.runs[0];
        assert!(run.len() <= 40 && run.contains(&(123_456, 1e6)));
        assert_eq!((run[0].0, run.last().unwrap().0), (0, 999_999));
        assert!(run.is_sorted_by_key(|(nanos, _)| *nanos));
    }

    #[test]
    fn what_comes_before_and_after_makes_columns_wider_and_is_all_there() {
        for columns in [1, 7, 10] {
            let mut sampler = Sampler::new(0, 10, columns).with_range(-1000, 1000);
            let times = (0..10).chain(990..1000).chain(-1000..-990);
            times.for_each(|n| sampler.add(n, n as f64));
            sampler.add(1000, 0.0);
            sampler.add(-1001, 0.0);
            let signal = sampler.held_signal();
            assert_eq!((signal.values, signal.dropped), (30, 2));
            assert_eq!(signal.times(), Some((-1000, 999)));
            assert_eq!(signal.span(), Some((-1000.0, 999.0)));
            let run = &signal.runs[0];
            assert!(
                run.is_sorted_by_key(|(nanos, _)| *nanos) && run.len() <= 4 * columns
            );
        }
    }

    #[test]
    fn a_gap_ends_a_line_and_what_is_held_has_none() {
        let mut sampler = Sampler::new(0, 1000, 500);
        (0..100).chain(200..300).for_each(|n| sampler.add(n, 1.0));
        let runs = sampler.signal().runs;
        assert_eq!(
            runs.iter().map(|run| (run[0].0, run[run.len() - 1].0)).collect::<Vec<_>>(),
            [(0, 99), (200, 299)]
        );
        assert_eq!(sampler.held_signal().runs.len(), 1);
    }

    #[test]
    fn what_is_no_number_or_out_of_time_is_counted() {
        let mut sampler = Sampler::new(10, 20, 4);
        for (nanos, value) in [
            (10, 1.0),
            (11, f64::NAN),
            (9, 1.0),
            (25, 1.0),
            (12, f64::INFINITY),
            (i64::MIN, 0.0),
            (i64::MAX, 0.0),
        ] {
            sampler.add(nanos, value);
        }
        let signal = sampler.signal();
        assert_eq!((signal.values, signal.dropped, signal.out_of_range), (1, 6, 4));
        assert_eq!(signal.runs, [[(10, 1.0)]]);
        let mut all = Sampler::new(i64::MIN, i64::MAX, 4);
        all.add(i64::MAX - 1, 1.0);
        all.add(i64::MIN, 1.0);
        assert_eq!(all.signal().values, 2);
    }

    #[test]
    fn the_usual_period_is_known_to_an_eighth() {
        let mut periods = Periods::default();
        (0..99).for_each(|_| periods.add(1_000));
        periods.add(1_000_000);
        assert!(
            (1_000..=1_125).contains(&periods.usual_period()),
            "{}",
            periods.usual_period()
        );
        assert_eq!(Periods::default().usual_period(), i64::MAX);
    }
}
