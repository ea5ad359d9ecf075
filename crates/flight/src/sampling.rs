//! How regularly topics were logged.

use serde::Serialize;

use crate::data::{Series, seconds};

/// How regularly a topic was logged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SamplingRegularity {
    /// The topic, with its instance unless that is 0.
    pub topic: String,
    /// The number of intervals between rows.
    pub intervals: usize,
    /// The median interval in seconds.
    pub median_s: f64,
    /// The mean interval in seconds.
    pub mean_s: f64,
    /// The standard deviation of the intervals in seconds.
    pub deviation_s: f64,
    /// The longest interval in seconds.
    pub max_s: f64,
    /// The number of intervals that are more than three times as long as the median.
    pub gaps: usize,
    /// The number of rows whose time is before the time of the preceding row.
    pub backwards: usize,
}

impl SamplingRegularity {
    /// Computes the regularity of a series. Returns `None` without two successive rows in the order
    /// of time.
    pub fn new(series: &Series) -> Option<Self> {
        let pairs = series.times.iter().zip(series.times.iter().skip(1));
        let intervals = pairs.map(|(a, b)| b.saturating_sub(*a));
        let mut forward_intervals: Vec<i64> =
            intervals.filter(|step| *step >= 0).collect();
        if forward_intervals.is_empty() {
            return None;
        }
        let count = forward_intervals.len() as f64;
        let mean =
            forward_intervals.iter().map(|step| seconds(*step)).sum::<f64>() / count;
        let squares =
            forward_intervals.iter().map(|step| (seconds(*step) - mean).powi(2));
        let deviation_s = (squares.sum::<f64>() / count).sqrt();
        let longest = forward_intervals.iter().copied().max().unwrap_or_default();
        let middle = forward_intervals.len() / 2;
        let (_, median, _) = forward_intervals.select_nth_unstable(middle);
        let median = *median;
        let intervals = series.times.len() - 1;
        Some(Self {
            topic: series.label("").trim_end_matches('.').to_owned(),
            intervals,
            median_s: seconds(median),
            mean_s: mean,
            deviation_s,
            max_s: seconds(longest),
            gaps: forward_intervals
                .iter()
                .filter(|step| **step > median.saturating_mul(3))
                .count(),
            backwards: intervals - forward_intervals.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_and_backward_time_are_counted() {
        let times = [0, 10, 20, 30, 80, 70, 80].map(|ms| ms * 1_000_000).to_vec();
        let found = SamplingRegularity::new(&Series::new("t", 1, times)).unwrap();
        assert_eq!(found.topic, "t.1");
        assert_eq!((found.intervals, found.gaps, found.backwards), (6, 1, 1));
        assert_eq!((found.median_s, found.max_s), (0.01, 0.05));
        assert!((found.mean_s - 0.018).abs() < 1e-12, "{found:?}");
        assert!((found.deviation_s - 0.016).abs() < 1e-12, "{found:?}");
        assert_eq!(SamplingRegularity::new(&Series::new("t", 0, vec![1])), None);
    }
}
