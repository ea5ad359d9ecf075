//! Sets of time intervals, and runs of rows that meet a condition.

use crate::data::{Series, seconds};

/// Disjoint intervals of time, sorted: the first nanosecond, and that after the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// Returns the times from a row of `series` in which the state is true to the next one in
    /// which it is not, or to the end of `log`. Rows before its start have the state at the start.
    /// Rows without a state are skipped.
    pub(crate) fn of_state(
        series: &Series,
        log: (i64, i64),
        is_on: impl Fn(usize) -> Option<bool>,
    ) -> Self {
        let (mut all, mut start) = (Vec::new(), None);
        let mut add = |start: i64, end: i64| {
            let start = start.max(log.0);
            if start < end {
                all.push((start, end));
            }
        };
        for (row, time) in series.times.iter().enumerate() {
            match (is_on(row), start) {
                (Some(true), None) => start = Some(*time),
                (Some(false), Some(begun)) => {
                    add(begun, *time);
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(begun) = start {
            add(begun, log.1);
        }
        Self::from_unsorted(all)
    }

    /// Returns the union of intervals.
    pub(crate) fn from_unsorted(mut all: Vec<(i64, i64)>) -> Self {
        all.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(all.len());
        for (start, end) in all {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    /// Returns whether there are no intervals.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the intervals: the first nanosecond, and that after the last.
    pub fn list(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Returns the length of all intervals together in seconds.
    pub fn seconds(&self) -> f64 {
        let lengths = self.0.iter().map(|(start, end)| end.saturating_sub(*start));
        lengths.map(seconds).fold(0.0, |sum, length| sum + length)
    }

    /// Returns whether `time` is in one of the intervals.
    pub fn contains(&self, time: i64) -> bool {
        self.find(time).is_some()
    }

    /// Returns whether one of the intervals has all times from `start` to `last`.
    pub(crate) fn contains_all(&self, start: i64, last: i64) -> bool {
        self.find(start).is_some_and(|(_, end)| last < end)
    }

    fn find(&self, time: i64) -> Option<(i64, i64)> {
        let after = self.0.partition_point(|(start, _)| *start <= time);
        let found = self.0.get(after.checked_sub(1)?).copied();
        found.filter(|(_, end)| time < *end)
    }
}

/// Consecutive rows that meet a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first row.
    pub(crate) first: usize,
    /// The last row.
    pub(crate) last: usize,
    /// The time of the first row.
    pub(crate) start: i64,
    /// The time of the next row, or that of the last row if the next one is too late.
    pub(crate) end: i64,
}

impl Run {
    /// Returns the time from the first to the last row in seconds, which was observed.
    pub(crate) fn observed_seconds(&self, series: &Series) -> f64 {
        let last = series.times.get(self.last).copied().unwrap_or(self.start);
        seconds(last.saturating_sub(self.start))
    }

    /// Returns the length in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        seconds(self.end.saturating_sub(self.start))
    }

    /// Returns the rows.
    pub(crate) fn rows(&self) -> std::ops::RangeInclusive<usize> {
        self.first..=self.last
    }
}

/// Returns the longest time between two rows of `series` that are one observation: two
/// seconds, or five usual intervals if that is longer. What happens in longer gaps is unknown.
pub(crate) fn longest_gap(series: &Series) -> i64 {
    series.median_interval().unwrap_or(0).saturating_mul(5).max(2_000_000_000)
}

/// Returns the runs of rows of `series` that meet a condition. A gap in the series, a time that
/// goes back, and a row without the answer end a run.
pub(crate) fn runs(
    series: &Series,
    is_met: impl Fn(usize) -> Option<bool>,
) -> Vec<Run> {
    let longest = longest_gap(series);
    let mut all: Vec<Run> = Vec::new();
    let mut current: Option<Run> = None;
    let mut before: Option<i64> = None;
    for (row, time) in series.times.iter().enumerate() {
        let step = before.map(|before| time.saturating_sub(before));
        before = Some(*time);
        if let Some(mut run) = current.take() {
            let continues = step.is_some_and(|step| (0..=longest).contains(&step));
            if continues {
                run.end = *time;
                if is_met(row) == Some(true) {
                    run.last = row;
                    current = Some(run);
                    continue;
                }
            }
            all.push(run);
        }
        if is_met(row) == Some(true) {
            current = Some(Run { first: row, last: row, start: *time, end: *time });
        }
    }
    all.extend(current);
    all
}

/// Joins runs that are at most `nanos` apart.
pub(crate) fn join_runs(runs: Vec<Run>, nanos: i64) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last) if run.start.saturating_sub(last.end) <= nanos => {
                last.last = run.last;
                last.end = last.end.max(run.end);
            }
            _ => joined.push(run),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn series(times: &[i64]) -> Series {
        Series::new("t", 0, times.iter().map(|time| time * SECOND).collect())
    }

    #[test]
    fn last_state_lasts_until_the_end() {
        let series = series(&[0, 1, 2, 3]);
        let on = [false, true, false, true];
        let intervals =
            Intervals::of_state(&series, (0, 5 * SECOND), |row| Some(on[row]));
        assert_eq!(intervals.list(), [(SECOND, 2 * SECOND), (3 * SECOND, 5 * SECOND)]);
        assert_eq!(intervals.seconds(), 3.0);
        assert!(intervals.contains(SECOND) && !intervals.contains(2 * SECOND));
        assert!(intervals.contains_all(3 * SECOND, 4 * SECOND));
        assert!(!intervals.contains_all(SECOND, 3 * SECOND));
    }

    #[test]
    fn row_before_the_start_has_the_state_at_the_start() {
        let series = series(&[-7, 2]);
        let on = [true, false];
        let intervals =
            Intervals::of_state(&series, (0, 5 * SECOND), |row| Some(on[row]));
        assert_eq!(intervals.list(), [(0, 2 * SECOND)]);
    }

    #[test]
    fn gap_ends_a_run() {
        // The usual interval is a second, so that 20 seconds are a gap.
        let series = series(&[0, 1, 2, 22, 23, 24]);
        let found = runs(&series, |row| Some(row > 0));
        let rows: Vec<_> = found.iter().map(|run| (run.first, run.last)).collect();
        assert_eq!(rows, [(1, 2), (3, 5)]);
        assert_eq!(found[0].end, 2 * SECOND);
        assert_eq!(join_runs(found, 20 * SECOND).len(), 1);
    }

    #[test]
    fn row_without_an_answer_ends_a_run() {
        let series = series(&[0, 1, 2, 3]);
        let found = runs(&series, |row| (row != 1).then_some(true));
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].seconds(), found[0].observed_seconds(&series)),
            (1.0, 0.0)
        );
    }
}
