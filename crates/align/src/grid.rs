//! Resampling a signal at a constant rate, and removing its slow changes.

/// The length in seconds of the moving average that is subtracted. Offsets and trends
/// contain no information about time.
const MOVING_AVERAGE_SECONDS: f64 = 20.0;

/// A pause of more than this number of median periods is a gap.
const GAP_PERIODS: f64 = 5.0;

/// Values above this multiple of the root mean square are clipped, so that a single outlier
/// in each signal is not a match.
const CLIP_FACTOR: f64 = 6.0;

/// The times of the values of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridAxis {
    /// The time of the first value in seconds.
    pub(crate) start: f64,
    /// The number of values per second.
    pub(crate) rate: f64,
    pub(crate) len: usize,
}

/// Returns the signal at the times of `axis`, without its slow changes. `seconds` are the
/// times of `values`, in ascending order, and `period` is their median distance. The root
/// mean square of the result is 1, and the values in gaps are 0.
pub(crate) fn resample(
    seconds: &[f64],
    values: &[f64],
    period: f64,
    axis: GridAxis,
) -> Vec<f64> {
    let cells = sample_at(seconds, values, period, axis);
    let half_width = ((MOVING_AVERAGE_SECONDS / 2.0 * axis.rate) as usize)
        .clamp(1, (axis.len / 4).max(1));
    let mut values = subtract_moving_average(&cells, half_width);
    let energy: f64 = values.iter().map(|value| value * value).sum();
    let count = cells.iter().filter(|cell| cell.is_some()).count();
    let root_mean_square = (energy / count.max(1) as f64).sqrt();
    if root_mean_square > 0.0 {
        for value in &mut values {
            *value = (*value / root_mean_square).clamp(-CLIP_FACTOR, CLIP_FACTOR);
        }
    }
    values
}

/// Returns the value at each time of `axis`: the mean of the samples around it if there are
/// several per value, or else interpolated between two samples. It is `None` in gaps.
fn sample_at(
    seconds: &[f64],
    values: &[f64],
    period: f64,
    axis: GridAxis,
) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u32); axis.len];
    if period * axis.rate <= 0.5 {
        for (time, value) in seconds.iter().zip(values) {
            let cell = ((time - axis.start) * axis.rate).round();
            if cell >= 0.0
                && let Some((sum, count)) = sums.get_mut(cell as usize)
            {
                *sum += value;
                *count += 1;
            }
        }
    }
    let mut samples = seconds.iter().copied().zip(values.iter().copied()).peekable();
    let mut previous: Option<(f64, f64)> = None;
    let mut cells = Vec::with_capacity(axis.len);
    for (index, (sum, count)) in sums.into_iter().enumerate() {
        let time = axis.start + index as f64 / axis.rate;
        while let Some(sample) = samples.next_if(|(next, _)| *next <= time) {
            previous = Some(sample);
        }
        let interpolated = match (previous, samples.peek()) {
            (Some((time_before, value_before)), Some((time_after, value_after)))
                if time_after - time_before <= GAP_PERIODS * period =>
            {
                let fraction = (time - time_before) / (time_after - time_before);
                Some(value_before + (value_after - value_before) * fraction)
            }
            (Some((last_time, last_value)), None) if last_time == time => {
                Some(last_value)
            }
            _ => None,
        };
        cells.push(match count {
            0 => interpolated,
            count => Some(sum / f64::from(count)),
        });
    }
    cells
}

/// Subtracts from each of `cells` the mean of the cells up to `half_width` before and after
/// it. Missing values become 0.
fn subtract_moving_average(cells: &[Option<f64>], half_width: usize) -> Vec<f64> {
    // The sums are relative to the first value: sums of large values would be too inexact for
    // small changes.
    let first = cells.iter().flatten().next().copied().unwrap_or(0.0);
    // The sum and the number of the values before each index.
    let mut sums = vec![(0.0, 0_u64)];
    let (mut sum, mut count) = (0.0, 0);
    for cell in cells {
        sum += cell.map_or(0.0, |value| value - first);
        count += u64::from(cell.is_some());
        sums.push((sum, count));
    }
    let sum_before =
        |index: usize| sums.get(index.min(cells.len())).copied().unwrap_or_default();
    let subtract_mean = |(index, cell): (usize, &Option<f64>)| {
        let Some(value) = cell else { return 0.0 };
        let (start_sum, start_count) = sum_before(index.saturating_sub(half_width));
        let (end_sum, end_count) = sum_before(index + half_width + 1);
        value - first - (end_sum - start_sum) / (end_count - start_count).max(1) as f64
    };
    cells.iter().enumerate().map(subtract_mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_interpolated_and_gaps_are_empty() {
        let seconds = [0.0, 0.1, 0.2, 2.0, 2.1];
        let axis = GridAxis { start: 0.0, rate: 20.0, len: 42 };
        let cells = sample_at(&seconds, &[0.0, 1.0, 0.0, 4.0, 4.0], 0.1, axis);
        assert!((cells[1].unwrap() - 0.5).abs() < 1e-9);
        assert!(cells[10].is_none() && (cells[41].unwrap() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn many_values_are_averaged() {
        let seconds: Vec<f64> = (0..100).map(|n| f64::from(n) / 100.0).collect();
        let values: Vec<f64> = (0..100).map(|n| f64::from(n % 2)).collect();
        let axis = GridAxis { start: 0.0, rate: 5.0, len: 5 };
        let cells = sample_at(&seconds, &values, 0.01, axis);
        assert!(
            cells.iter().all(|cell| (cell.unwrap() - 0.5).abs() < 0.06),
            "{cells:?}"
        );
    }

    #[test]
    fn resampling_removes_the_trend() {
        let seconds: Vec<f64> = (0..1000).map(|n| f64::from(n) / 10.0).collect();
        let values: Vec<f64> =
            seconds.iter().map(|t| 1e6 + 5.0 * t + (t * 6.0).sin()).collect();
        let axis = GridAxis { start: 0.0, rate: 10.0, len: 1000 };
        let resampled = resample(&seconds, &values, 0.1, axis);
        let middle = &resampled[300..700];
        let mean = middle.iter().sum::<f64>() / 400.0;
        assert!(mean.abs() < 0.05, "{mean}");
        assert!(middle.iter().all(|value| value.abs() < 2.0));
    }
}
