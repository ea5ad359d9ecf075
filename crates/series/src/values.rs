//! Values over time: the arguments and results of functions.

use std::sync::Arc;

/// One or several values for each time, or constants.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// The times in nanoseconds, in ascending order; `None` if the values are constants.
    pub(crate) times: Option<Arc<[i64]>>,
    /// The values of each component, as many as there are times, or one constant.
    pub(crate) columns: Vec<Arc<[f64]>>,
}

impl Values {
    /// Returns a constant.
    pub(crate) fn constant(value: f64) -> Self {
        Self { times: None, columns: vec![[value].into()] }
    }

    /// Returns the last values up to each time of `clock`; NaN before the first time. Constants are
    /// repeated.
    pub(crate) fn held_at(&self, clock: &Arc<[i64]>) -> Self {
        let Some(times) = &self.times else {
            let repeated = |column: &Arc<[f64]>| -> Arc<[f64]> {
                let value = column.first().copied().unwrap_or(f64::NAN);
                std::iter::repeat_n(value, clock.len()).collect()
            };
            let columns = self.columns.iter().map(repeated).collect();
            return Self { times: Some(clock.clone()), columns };
        };
        if Arc::ptr_eq(times, clock) || times == clock {
            return Self { times: Some(clock.clone()), columns: self.columns.clone() };
        }
        let hold = |column: &Arc<[f64]>| -> Arc<[f64]> {
            // The number of own times up to that of the clock.
            let mut next = 0;
            let value_at = |time: &i64| {
                while times.get(next).is_some_and(|next_time| next_time <= time) {
                    next += 1;
                }
                let last = next.checked_sub(1).and_then(|last| column.get(last));
                last.copied().unwrap_or(f64::NAN)
            };
            clock.iter().map(value_at).collect()
        };
        let columns = self.columns.iter().map(hold).collect();
        Self { times: Some(clock.clone()), columns }
    }

    /// Returns the values at each time of `clock`, interpolated linearly; NaN before the first and
    /// after the last time.
    pub(crate) fn interpolated_at(&self, clock: Arc<[i64]>) -> Self {
        let Some(times) = &self.times else { return self.held_at(&clock) };
        let interpolate = |column: &Arc<[f64]>| -> Arc<[f64]> {
            let mut next = 0;
            let value_at = |time: &i64| {
                while times.get(next).is_some_and(|next_time| next_time <= time) {
                    next += 1;
                }
                let point = |index: usize| {
                    times.get(index).copied().zip(column.get(index).copied())
                };
                let previous = next.checked_sub(1).and_then(point);
                match (previous, point(next)) {
                    (Some((start, value)), _) if start == *time => value,
                    (Some((start, value)), Some((end, end_value))) => {
                        let elapsed =
                            |end: i64| (i128::from(end) - i128::from(start)) as f64;
                        value + (end_value - value) * (elapsed(*time) / elapsed(end))
                    }
                    _ => f64::NAN,
                }
            };
            clock.iter().map(value_at).collect()
        };
        let columns = self.columns.iter().map(interpolate).collect();
        Self { times: Some(clock.clone()), columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(times: &[i64], values: &[f64]) -> Values {
        Values { times: Some(times.into()), columns: vec![values.into()] }
    }

    #[test]
    fn value_is_held_until_the_next_one() {
        let held = values(&[10, 20, 20], &[1.0, 2.0, 3.0]);
        let held = held.held_at(&[5, 10, 19, 20, 99].into());
        let [first, rest @ ..] = &held.columns[0][..] else { panic!("no values") };
        assert!(first.is_nan());
        assert_eq!(rest, [1.0, 1.0, 3.0, 3.0]);
    }

    #[test]
    fn interpolation_is_linear_and_ends_with_the_values() {
        let line = values(&[0, 10, 30], &[0.0, 1.0, 5.0]);
        let line = line.interpolated_at([0, 5, 10, 20, 30].into());
        assert_eq!(&*line.columns[0], [0.0, 0.5, 1.0, 3.0, 5.0]);
        let outside = values(&[0, 10], &[0.0, 1.0]).interpolated_at([-1, 11].into());
        assert!(outside.columns[0].iter().all(|value| value.is_nan()));
    }
}
