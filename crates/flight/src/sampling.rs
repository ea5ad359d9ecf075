//! How regularly topics were logged.

use serde::Serialize;

use crate::series::Series;

/// How regularly a topic was logged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SamplingRegularity {
    /// The topic, with its instance unless that is 0.
    pub topic: String,
    /// The number of intervals between rows.
    pub intervals: u64,
    /// The median interval in seconds.
    pub median_s: f64,
    /// The mean interval in seconds.
    pub mean_s: f64,
    /// The standard deviation of the intervals in seconds.
    pub deviation_s: f64,
    /// The longest interval in seconds.
    pub max_s: f64,
    /// The number of intervals that are more than three times as long as the median.
    pub gaps: u64,
    /// The number of rows whose time is before the time of the preceding row.
    pub backwards: u64,
}

impl SamplingRegularity {
    /// Computes the regularity of a series. Returns `None` without two successive rows in the order
    /// of time.
    pub fn new(series: &Series) -> Option<Self> {
        let pairs = series.times.iter().zip(series.times.iter().skip(1));
        let intervals = pairs.map(|(a, b)| b.saturating_sub(*a));
        let mut forward: Vec<u64> =
            intervals.filter_map(|interval| u64::try_from(interval).ok()).collect();
        let backwards = series.times.len().saturating_sub(1) - forward.len();
        let backwards = backwards as u64;
        forward.sort_unstable();
        let equal = forward.chunk_by(|a, b| a == b);
        let counts =
            equal.filter_map(|equal| Some((*equal.first()?, equal.len() as u64)));
        let topic = series.label("").trim_end_matches('.').to_owned();
        Self::from_intervals(topic, &counts.collect::<Vec<_>>(), backwards)
    }

    /// Computes the regularity of a topic from its different intervals in nanoseconds, in ascending
    /// order, with the number of times that each occurs, and from the number of rows whose time is
    /// before that of the preceding row. Returns `None` without intervals.
    pub fn from_intervals(
        topic: impl Into<String>,
        counts: &[(u64, u64)],
        backwards: u64,
    ) -> Option<Self> {
        let (longest, _) = counts.last()?;
        let forward: u64 = counts.iter().map(|(_, count)| count).sum();
        let seconds = |interval: u64| interval as f64 / 1e9;
        let mean_of = |value: &dyn Fn(f64) -> f64| {
            let sum: f64 = counts
                .iter()
                .map(|(interval, count)| value(seconds(*interval)) * *count as f64)
                .sum();
            sum / forward as f64
        };
        let mean_s = mean_of(&|interval| interval);
        let mut counted = 0;
        let (median, _) = counts.iter().find(|(_, count)| {
            counted += count;
            counted > forward / 2
        })?;
        let is_gap = |interval: u64| interval > median.saturating_mul(3);
        let gaps = counts.iter().filter(|(interval, _)| is_gap(*interval));
        Some(Self {
            topic: topic.into(),
            intervals: forward + backwards,
            median_s: seconds(*median),
            mean_s,
            deviation_s: mean_of(&|interval| (interval - mean_s).powi(2)).sqrt(),
            max_s: seconds(*longest),
            gaps: gaps.map(|(_, count)| count).sum(),
            backwards,
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
