//! A measured signal.

use std::{error, fmt};

/// The minimum number of samples.
const MIN_SAMPLES: usize = 50;

/// The reason why a signal cannot be aligned with any other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnusableSignal {
    /// It has only this number of values at different times.
    TooFewValues(usize),
    /// All of its values are equal to this one.
    Constant(f64),
}

impl fmt::Display for UnusableSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewValues(count) => write!(
                f,
                "it has only {count} values, and at least {MIN_SAMPLES} are required"
            ),
            Self::Constant(value) => write!(f, "it is always {value}"),
        }
    }
}

impl error::Error for UnusableSignal {}

/// A signal: values at ascending times.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// The time of the first sample in nanoseconds of its clock.
    pub(crate) first_nanos: i64,
    /// The times in seconds since the first sample.
    pub(crate) seconds: Vec<f64>,
    pub(crate) values: Vec<f64>,
    /// The median time between samples in seconds.
    pub(crate) period: f64,
}

impl Signal {
    /// Creates a signal from `samples`: times in nanoseconds and values, in any order. Of
    /// several samples with the same time, the last is used. Values that are not finite are
    /// ignored.
    pub(crate) fn new(samples: &[(i64, f64)]) -> Result<Self, UnusableSignal> {
        let mut samples: Vec<(i64, f64)> =
            samples.iter().copied().filter(|(_, value)| value.is_finite()).collect();
        samples.sort_by_key(|(time, _)| *time);
        samples.dedup_by(|next, retained| {
            let is_same_time = next.0 == retained.0;
            if is_same_time {
                retained.1 = next.1;
            }
            is_same_time
        });
        if samples.len() < MIN_SAMPLES {
            return Err(UnusableSignal::TooFewValues(samples.len()));
        }
        let (first_nanos, first_value) = samples.first().copied().unwrap_or_default();
        if samples.iter().all(|(_, value)| *value == first_value) {
            return Err(UnusableSignal::Constant(first_value));
        }
        let seconds =
            |time: i64| (i128::from(time) - i128::from(first_nanos)) as f64 / 1e9;
        let seconds: Vec<f64> =
            samples.iter().map(|(time, _)| seconds(*time)).collect();
        let mut periods: Vec<f64> = seconds
            .iter()
            .zip(seconds.iter().skip(1))
            .map(|(sample, next)| next - sample)
            .collect();
        let period = median(&mut periods).max(1e-6);
        let values = samples.iter().map(|(_, value)| *value).collect();
        Ok(Self { first_nanos, seconds, values, period })
    }

    /// Returns the seconds from the first sample to the last.
    pub(crate) fn span(&self) -> f64 {
        self.seconds.last().copied().unwrap_or(0.0)
    }
}

/// Returns the median of `numbers`, or 0 for an empty slice. The numbers are reordered.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    let middle = numbers.len() / 2;
    if numbers.is_empty() {
        return 0.0;
    }
    *numbers.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_sorted_without_duplicates() {
        let mut samples: Vec<(i64, f64)> =
            (0..100).map(|n| (1_000 + n * 10_000_000, n as f64)).collect();
        samples.reverse();
        samples.push((1_000, 7.0));
        samples.push((2_000, f64::NAN));
        let signal = Signal::new(&samples).unwrap();
        assert_eq!((signal.first_nanos, signal.seconds.len()), (1_000, 100));
        assert_eq!((signal.values[0], signal.values[1]), (7.0, 1.0));
        assert!(
            (signal.period - 0.01).abs() < 1e-9 && (signal.span() - 0.99).abs() < 1e-9
        );
    }

    #[test]
    fn constant_and_short_signals_are_rejected() {
        let samples: Vec<(i64, f64)> = (0..100).map(|n| (n, 1.0)).collect();
        assert!(matches!(Signal::new(&samples), Err(UnusableSignal::Constant(_))));
        assert!(matches!(
            Signal::new(&samples[..3]),
            Err(UnusableSignal::TooFewValues(3))
        ));
    }
}
