//! The time grid of the table.

use crate::{
    error::{Error, ErrorKind, Result},
    model::time::{TimeRange, Timestamp},
};

/// The maximum number of rows of a table.
const MAX_ROWS: u64 = 1 << 31;

/// Regular points in time, numbered from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The time of point 0 in nanoseconds. Unspecified if there are no points.
    first_nanos: i64,
    /// Nanoseconds between points. Not 0.
    period_nanos: u64,
    /// The number of points.
    pub(super) rows: u32,
}

impl Grid {
    /// Creates the grid of the multiples of `period_nanos` that are in both `logged_range`
    /// and `requested_range`.
    ///
    /// # Errors
    /// `Unsupported` if the period is 0, and `Limit` if there are too many points.
    pub(super) fn new(
        logged_range: TimeRange,
        requested_range: TimeRange,
        period_nanos: u64,
    ) -> Result<Self> {
        if period_nanos == 0 {
            let message = "the rows of a table cannot be 0 ns apart";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let period = i128::from(period_nanos);
        let start = logged_range.start.max(requested_range.start);
        let end = logged_range.end.min(requested_range.end);
        let (start, last) =
            (i128::from(start.as_nanos()), i128::from(end.as_nanos()) - 1);
        let first = -(-start).div_euclid(period) * period;
        let rows = if first <= last { (last - first) / period + 1 } else { 0 };
        match u32::try_from(rows) {
            Ok(rows) if u64::from(rows) <= MAX_ROWS => {
                // This only fails if there are no points.
                let first_nanos = i64::try_from(first).unwrap_or_default();
                Ok(Self { first_nanos, period_nanos, rows })
            }
            _ => {
                let message = format!(
                    "a table of {rows} rows, {MAX_ROWS} at most: take a lower rate or a \
                     shorter time"
                );
                Err(Error::new(ErrorKind::Limit, message))
            }
        }
    }

    /// Returns the time of point `row` in nanoseconds.
    pub(super) fn time(&self, row: u32) -> i64 {
        let elapsed = u64::from(row).saturating_mul(self.period_nanos);
        self.first_nanos.saturating_add_unsigned(elapsed)
    }

    /// Returns the first point at `time` or later, or the number of points if there is
    /// none.
    pub(super) fn first_row_from(&self, time: Timestamp) -> u32 {
        let nanos = time.as_nanos();
        if nanos <= self.first_nanos {
            return 0;
        }
        let row = nanos.abs_diff(self.first_nanos).div_ceil(self.period_nanos);
        u32::try_from(row).map_or(self.rows, |row| row.min(self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: i64, end: i64) -> TimeRange {
        let [start, end] = [start, end].map(Timestamp::from_nanos);
        TimeRange { start, end }
    }

    #[test]
    fn points_are_multiples_of_the_period_also_before_zero() {
        let grid = Grid::new(range(-25, 31), TimeRange::ALL, 10).unwrap();
        let times: Vec<i64> = (0..grid.rows).map(|row| grid.time(row)).collect();
        assert_eq!(times, [-20, -10, 0, 10, 20, 30]);
        let rows = [-30, -20, -19, -10, 0, 1, 30, 31]
            .map(|nanos| grid.first_row_from(Timestamp::from_nanos(nanos)));
        assert_eq!(rows, [0, 0, 1, 1, 2, 3, 5, 6]);
    }

    #[test]
    fn end_of_the_range_is_exclusive() {
        assert_eq!(Grid::new(range(0, 20), TimeRange::ALL, 10).unwrap().rows, 2);
        assert_eq!(Grid::new(range(0, 21), range(1, 20), 10).unwrap().rows, 1);
        assert_eq!(Grid::new(range(1, 9), TimeRange::ALL, 10).unwrap().rows, 0);
        assert_eq!(Grid::new(TimeRange::EMPTY, TimeRange::ALL, 1).unwrap().rows, 0);
    }

    #[test]
    fn more_rows_than_two_to_the_31_are_refused() {
        let rows = 1_i64 << 31;
        assert_eq!(
            Grid::new(range(0, rows), TimeRange::ALL, 1).unwrap().rows,
            1_u32 << 31
        );
        for end in [rows + 1, i64::MAX] {
            let err = Grid::new(range(0, end), TimeRange::ALL, 1).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Limit);
        }
        let grid = Grid::new(TimeRange::ALL, TimeRange::ALL, u64::MAX).unwrap();
        assert_eq!((grid.rows, grid.time(0)), (1, 0));
    }

    #[test]
    fn period_of_zero_is_refused() {
        assert!(Grid::new(range(0, 1), TimeRange::ALL, 0).is_err());
    }
}
