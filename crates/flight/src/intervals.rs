//! Sets of time intervals, and runs of rows that meet a condition.

use crate::series::{Series, seconds};

/// Disjoint intervals of time, sorted. Each is half-open: its first nanosecond, and the nanosecond
/// after its last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// Returns the intervals in which a state is on. Each lasts from the first row of `series` with
    /// the state on to the next row with the state off, or to the end of `log`. A row before the
    /// start of `log` sets the state at the start. Rows for which `is_on` returns `None` are
    /// skipped.
    pub(crate) fn from_state(
        series: &Series,
        log: (i64, i64),
        is_on: impl Fn(usize) -> Option<bool>,
    ) -> Self {
        let (mut intervals, mut start) = (Vec::new(), None);
        let mut add = |start: i64, end: i64| {
            let start = start.max(log.0);
            if start < end {
                intervals.push((start, end));
            }
        };
        for (row, time) in series.times.iter().enumerate() {
            match (is_on(row), start) {
                (Some(true), None) => start = Some(*time),
                (Some(false), Some(start_time)) => {
                    add(start_time, *time);
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(start_time) = start {
            add(start_time, log.1);
        }
        Self::from_unsorted(intervals)
    }

    /// Returns the union of intervals.
    pub(crate) fn from_unsorted(mut intervals: Vec<(i64, i64)>) -> Self {
        intervals.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
        for (start, end) in intervals {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    /// Returns the times that are in these intervals or in `others`.
    #[must_use]
    pub(crate) fn union(&self, others: &Self) -> Self {
        Self::from_unsorted([&*self.0, &*others.0].concat())
    }

    /// Returns the times that are in these intervals and not in `others`.
    #[must_use]
    pub(crate) fn without(&self, others: &Self) -> Self {
        let mut left = Vec::new();
        for (start, end) in &self.0 {
            let mut next = *start;
            let first = others.0.partition_point(|(_, end)| end <= start);
            let overlapping = others.0.iter().skip(first);
            for (other_start, other_end) in
                overlapping.take_while(|(other_start, _)| other_start < end)
            {
                if next < *other_start {
                    left.push((next, *other_start));
                }
                next = *other_end;
            }
            if next < *end {
                left.push((next, *end));
            }
        }
        Self(left)
    }

    /// Returns the times that are in these intervals and in `others`.
    #[must_use]
    pub(crate) fn intersection(&self, others: &Self) -> Self {
        self.without(&self.without(others))
    }

    /// Returns whether there are no intervals.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the intervals, each as its first nanosecond and the nanosecond after its last.
    pub fn list(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Returns the total duration of all intervals in seconds.
    pub fn seconds(&self) -> f64 {
        let lengths = self.0.iter().map(|(start, end)| end.saturating_sub(*start));
        lengths.map(seconds).fold(0.0, |sum, length| sum + length)
    }

    /// Returns whether `time` is in one of the intervals.
    pub fn contains(&self, time: i64) -> bool {
        self.find(time).is_some()
    }

    /// Returns whether one interval contains all times from `start` to `last`, inclusive.
    pub(crate) fn contains_all(&self, start: i64, last: i64) -> bool {
        self.find(start).is_some_and(|(_, end)| last < end)
    }

    /// Returns the interval that contains `time`.
    fn find(&self, time: i64) -> Option<(i64, i64)> {
        let next = self.0.partition_point(|(start, _)| *start <= time);
        let (start, end) = *self.0.get(next.checked_sub(1)?)?;
        (time < end).then_some((start, end))
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
    /// The time of the row after the run, or of its last row if a gap follows.
    pub(crate) end: i64,
}

impl Run {
    /// Returns the time from the first to the last row in seconds.
    pub(crate) fn observed_seconds(&self, series: &Series) -> f64 {
        let last = series.times.get(self.last).copied().unwrap_or(self.start);
        seconds(last.saturating_sub(self.start))
    }

    /// Returns the time from `start` to `end` in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        seconds(self.end.saturating_sub(self.start))
    }

    /// Returns the rows.
    pub(crate) fn rows(&self) -> std::ops::RangeInclusive<usize> {
        self.first..=self.last
    }
}

/// Returns the longest time between two rows of `series` that is not a gap, in nanoseconds: two
/// seconds, or five median intervals if that is longer.
pub(crate) fn longest_gap(series: &Series) -> i64 {
    series.median_interval().unwrap_or(0).saturating_mul(5).max(2_000_000_000)
}

/// Returns the runs of consecutive rows of `series` that meet a condition. A run ends at a gap in
/// the series, at a time that decreases, and at a row for which `is_met` returns `None`.
pub(crate) fn runs(
    series: &Series,
    is_met: impl Fn(usize) -> Option<bool>,
) -> Vec<Run> {
    let max_gap = longest_gap(series);
    let mut finished: Vec<Run> = Vec::new();
    let mut current: Option<Run> = None;
    let mut last_time: Option<i64> = None;
    for (row, time) in series.times.iter().enumerate() {
        let elapsed = last_time.map(|last_time| time.saturating_sub(last_time));
        last_time = Some(*time);
        if let Some(mut run) = current.take() {
            let is_contiguous =
                elapsed.is_some_and(|elapsed| (0..=max_gap).contains(&elapsed));
            if is_contiguous {
                run.end = *time;
                if is_met(row) == Some(true) {
                    run.last = row;
                    current = Some(run);
                    continue;
                }
            }
            finished.push(run);
        }
        if is_met(row) == Some(true) {
            current = Some(Run { first: row, last: row, start: *time, end: *time });
        }
    }
    finished.extend(current);
    finished
}

/// Joins runs that are at most `max_gap_nanos` apart.
pub(crate) fn join_runs(runs: Vec<Run>, max_gap_nanos: i64) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last) if run.start.saturating_sub(last.end) <= max_gap_nanos => {
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
            Intervals::from_state(&series, (0, 5 * SECOND), |row| Some(on[row]));
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
            Intervals::from_state(&series, (0, 5 * SECOND), |row| Some(on[row]));
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
    fn row_without_a_value_ends_a_run() {
        let series = series(&[0, 1, 2, 3]);
        let found = runs(&series, |row| (row != 1).then_some(true));
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].seconds(), found[0].observed_seconds(&series)),
            (1.0, 0.0)
        );
    }
}
