//! Statistics of the values in a sliding time window.

use std::collections::{BTreeSet, VecDeque};

use crate::functions::seconds_between;

/// A statistic of a group of values that can be computed from the statistics of two parts of the
/// group.
pub(super) trait Summary: Copy {
    /// Returns the summary of a single value.
    fn from_value(value: f64) -> Self;

    /// Returns the summary of the values of `self` and of `other`.
    fn combine(self, other: Self) -> Self;

    /// Returns the statistic.
    fn result(self) -> f64;
}

/// Returns a statistic of the finite values in a sliding window. The window of each time t contains
/// the times after t - `seconds`, up to and including t. The result is NaN for an empty window.
///
/// The window is a queue that consists of two stacks. Each entry of a stack has the summary of the
/// values below it. So no value is subtracted, and rounding errors do not accumulate. The computing
/// time is linear.
pub(super) fn sliding_summaries<S: Summary>(
    times: &[i64],
    values: &[f64],
    seconds: f64,
) -> Vec<f64> {
    // The top of `older` is the oldest value, with the summary from it to the end of the stack.
    let mut older: Vec<(i64, S)> = Vec::new();
    let mut newer: Vec<(i64, S)> = Vec::new();
    let mut summary_of_newer: Option<S> = None;
    let mut results = Vec::with_capacity(values.len());
    for (time, value) in times.iter().zip(values) {
        if value.is_finite() {
            let value_summary = S::from_value(*value);
            newer.push((*time, value_summary));
            summary_of_newer = Some(
                summary_of_newer
                    .map_or(value_summary, |summary| summary.combine(value_summary)),
            );
        }
        loop {
            if older.is_empty() {
                let mut summary: Option<S> = None;
                while let Some((time, value_summary)) = newer.pop() {
                    let extended = summary.map_or(value_summary, |summary| {
                        value_summary.combine(summary)
                    });
                    summary = Some(extended);
                    older.push((time, extended));
                }
                summary_of_newer = None;
            }
            let is_expired = |(entry_time, _): &(i64, S)| {
                seconds_between(*entry_time, *time) >= seconds
            };
            if !older.last().is_some_and(is_expired) {
                break;
            }
            older.pop();
        }
        let combined =
            match (older.last().map(|(_, summary)| *summary), summary_of_newer) {
                (Some(older), Some(newer)) => Some(older.combine(newer)),
                (older, newer) => older.or(newer),
            };
        results.push(combined.map_or(f64::NAN, S::result));
    }
    results
}

/// The number, the mean, and the sum of the squares of the differences to the mean.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn from_value(value: f64) -> Self {
        Self { count: 1.0, mean: value, squares: 0.0 }
    }

    /// Chan, Golub and LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample
    /// Variances (1979).
    fn combine(self, other: Self) -> Self {
        let count = self.count + other.count;
        let step = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + step * other.count / count,
            squares: self.squares
                + other.squares
                + step * step * self.count * other.count / count,
        }
    }
}

macro_rules! summary {
    ($(#[$doc:meta])* $name:ident($inner:ty), $of:expr, $and:expr, $result:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name($inner);

        impl Summary for $name {
            fn from_value(value: f64) -> Self {
                let of: fn(f64) -> $inner = $of;
                Self(of(value))
            }

            fn combine(self, other: Self) -> Self {
                let and: fn($inner, $inner) -> $inner = $and;
                Self(and(self.0, other.0))
            }

            fn result(self) -> f64 {
                let result: fn($inner) -> f64 = $result;
                result(self.0)
            }
        }
    };
}

summary!(
    /// The mean.
    Mean(Moments),
    Moments::from_value,
    Moments::combine,
    |moments| moments.mean
);
summary!(
    /// The standard deviation of the population.
    Deviation(Moments),
    Moments::from_value,
    Moments::combine,
    |moments| (moments.squares / moments.count).sqrt()
);
summary!(
    /// The root of the mean of the squares.
    RootMeanSquare(Moments),
    |value| Moments::from_value(value * value),
    Moments::combine,
    |moments| moments.mean.sqrt()
);
summary!(
    /// The least value.
    Minimum(f64),
    |value| value,
    f64::min,
    |least| least
);
summary!(
    /// The greatest value.
    Maximum(f64),
    |value| value,
    f64::max,
    |greatest| greatest
);

/// Returns the median of the finite values in the same windows as [`sliding_summaries`].
pub(super) fn sliding_median(times: &[i64], values: &[f64], seconds: f64) -> Vec<f64> {
    let mut window: VecDeque<(i64, RankedRow)> = VecDeque::new();
    let mut halves = Halves::default();
    let mut results = Vec::with_capacity(values.len());
    for ((row, time), value) in times.iter().enumerate().zip(values) {
        if value.is_finite() {
            let ranked = RankedRow { rank: rank(*value), row };
            halves.insert(ranked);
            window.push_back((*time, ranked));
        }
        let is_expired = |(entry_time, _): &(i64, RankedRow)| {
            seconds_between(*entry_time, *time) >= seconds
        };
        while window.front().is_some_and(is_expired) {
            if let Some((_, ranked)) = window.pop_front() {
                halves.remove(&ranked);
            }
        }
        results.push(halves.median(values));
    }
    results
}

/// The rank of a value, and its row, which distinguishes equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RankedRow {
    rank: i64,
    row: usize,
}

/// Returns an integer that has the same order as the finite values.
fn rank(value: f64) -> i64 {
    // Like `f64::total_cmp`: all bits of negative values except the sign are inverted.
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Values in two halves. The low half has as many values as the high half, or one more.
#[derive(Default)]
struct Halves {
    low: BTreeSet<RankedRow>,
    high: BTreeSet<RankedRow>,
}

impl Halves {
    fn insert(&mut self, value: RankedRow) {
        if self.low.last().is_some_and(|last| value > *last) {
            self.high.insert(value);
        } else {
            self.low.insert(value);
        }
        self.balance();
    }

    fn remove(&mut self, value: &RankedRow) {
        if !self.low.remove(value) {
            self.high.remove(value);
        }
        self.balance();
    }

    fn balance(&mut self) {
        if self.low.len() > self.high.len() + 1 {
            self.high.extend(self.low.pop_last());
        } else if self.low.len() < self.high.len() {
            self.low.extend(self.high.pop_first());
        }
    }

    fn median(&self, values: &[f64]) -> f64 {
        let value = |ranked: &RankedRow| values.get(ranked.row).copied();
        match (self.low.last().and_then(value), self.high.first().and_then(value)) {
            (Some(low), Some(high)) if self.low.len() == self.high.len() => {
                low / 2.0 + high / 2.0
            }
            (Some(low), _) => low,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn window_contains_the_values_of_the_last_seconds() {
        let times: Vec<i64> = (0..5).map(|second| second * SECOND).collect();
        let values = [1.0, 2.0, f64::NAN, 4.0, 9.0];
        assert_eq!(
            sliding_summaries::<Mean>(&times, &values, 2.0),
            [1.0, 1.5, 2.0, 4.0, 6.5]
        );
        assert_eq!(
            sliding_summaries::<Minimum>(&times, &values, 3.0),
            [1.0, 1.0, 1.0, 2.0, 4.0]
        );
        assert_eq!(
            sliding_summaries::<Maximum>(&times, &values, 9.0),
            [1.0, 2.0, 2.0, 4.0, 9.0]
        );
        assert_eq!(sliding_median(&times, &values, 9.0), [1.0, 1.5, 1.5, 2.0, 3.0]);
        // The only value of the window is missing.
        assert!(sliding_summaries::<Mean>(&times, &values, 1.0)[2].is_nan());
        assert!(sliding_median(&times, &values, 1.0)[2].is_nan());
    }

    #[test]
    fn deviation_is_exact_far_from_zero() {
        let times: Vec<i64> = (0..4).map(|second| second * SECOND).collect();
        let values = [1e9, 1e9 + 2.0, 1e9, 1e9 + 2.0];
        // The sum of the squares is 4e18, of which a double keeps 16 digits.
        assert!(
            (sliding_summaries::<Deviation>(&times, &values, 9.0)[3] - 1.0).abs()
                < 1e-7
        );
        assert_eq!(
            sliding_summaries::<RootMeanSquare>(&times, &[3.0, 4.0, 3.0, 4.0], 9.0)[1],
            12.5_f64.sqrt()
        );
    }

    #[test]
    fn infinite_value_does_not_spoil_later_ones() {
        let values = [f64::INFINITY, 1.0, 3.0];
        assert_eq!(sliding_summaries::<Mean>(&[0, 1, 2], &values, 9.0)[2], 2.0);
    }
}
