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
    /// The number of times that are before that of the row before.
    pub backwards: usize,
}

impl SamplingRegularity {
    /// Returns the regularity of a series with at least two rows in the order of time.
    pub fn new(series: &Series) -> Option<Self> {
        let pairs = series.times.iter().zip(series.times.iter().skip(1));
        let steps: Vec<i64> = pairs.map(|(a, b)| b.saturating_sub(*a)).collect();
        let forward: Vec<i64> =
            steps.iter().copied().filter(|step| *step >= 0).collect();
        if forward.is_empty() {
            return None;
        }
        let mut sorted = forward.clone();
        let middle = sorted.len() / 2;
        let (_, median, _) = sorted.select_nth_unstable(middle);
        let median = *median;
        let count = forward.len() as f64;
        let mean = forward.iter().map(|step| seconds(*step)).sum::<f64>() / count;
        let squares = forward.iter().map(|step| (seconds(*step) - mean).powi(2));
        Some(Self {
            topic: series.label("").trim_end_matches('.').to_owned(),
            intervals: steps.len(),
            median_s: seconds(median),
            mean_s: mean,
            deviation_s: (squares.sum::<f64>() / count).sqrt(),
            max_s: seconds(forward.iter().copied().max().unwrap_or_default()),
            gaps: forward
                .iter()
                .filter(|step| **step > median.saturating_mul(3))
                .count(),
            backwards: steps.len() - forward.len(),
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
