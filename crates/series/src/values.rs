//! Values over time, as functions take and return them.

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

    /// Returns the last values at each time of `clock`; NaN before the first time. Constants are
    /// repeated.
    pub(crate) fn held_at(&self, clock: &Arc<[i64]>) -> Self {
        let Some(own) = &self.times else {
            let repeated = |column: &Arc<[f64]>| -> Arc<[f64]> {
                let value = column.first().copied().unwrap_or(f64::NAN);
                std::iter::repeat_n(value, clock.len()).collect()
            };
            let columns = self.columns.iter().map(repeated).collect();
            return Self { times: Some(clock.clone()), columns };
        };
        if Arc::ptr_eq(own, clock) || own == clock {
            return Self { times: Some(clock.clone()), columns: self.columns.clone() };
        }
        let held = |column: &Arc<[f64]>| -> Arc<[f64]> {
            // The number of own times up to that of the clock.
            let mut passed = 0;
            let at = |time: &i64| {
                while own.get(passed).is_some_and(|own| own <= time) {
                    passed += 1;
                }
                let last = passed.checked_sub(1).and_then(|last| column.get(last));
                last.copied().unwrap_or(f64::NAN)
            };
            clock.iter().map(at).collect()
        };
        let columns = self.columns.iter().map(held).collect();
        Self { times: Some(clock.clone()), columns }
    }

    /// Returns the values at each time of `clock`, on straight lines between the values; NaN
    /// before the first and after the last time.
    pub(crate) fn interpolated_at(&self, clock: Arc<[i64]>) -> Self {
        let Some(own) = &self.times else { return self.held_at(&clock) };
        let between = |column: &Arc<[f64]>| -> Arc<[f64]> {
            let mut passed = 0;
            let at = |time: &i64| {
                while own.get(passed).is_some_and(|own| own <= time) {
                    passed += 1;
                }
                let point =
                    |at: usize| own.get(at).copied().zip(column.get(at).copied());
                let before = passed.checked_sub(1).and_then(point);
                match (before, point(passed)) {
                    (Some((from, value)), _) if from == *time => value,
                    (Some((from, value)), Some((to, next))) => {
                        let distance =
                            |to: i64| (i128::from(to) - i128::from(from)) as f64;
                        value + (next - value) * (distance(*time) / distance(to))
                    }
                    _ => f64::NAN,
                }
            };
            clock.iter().map(at).collect()
        };
        let columns = self.columns.iter().map(between).collect();
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
