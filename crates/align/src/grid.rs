//! Resampling a signal at a constant rate without its slow changes.

/// Slower changes, in seconds, are removed: offsets and trends contain no information
/// about time.
const REMOVED_PERIOD_SECONDS: f64 = 20.0;

/// A pause of this many median periods is a gap.
const GAP_PERIODS: f64 = 5.0;

/// Values above this multiple of the root mean square are clipped, so that one outlier is
/// no match.
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

/// Returns the samples at `seconds`, which are ascending, resampled at the times of
/// `axis`. Their root mean square is 1, and gaps are 0.
pub(crate) fn resample(
    seconds: &[f64],
    values: &[f64],
    period: f64,
    axis: GridAxis,
) -> Vec<f64> {
    let cells = sample_at(seconds, values, period, axis);
    let half_width = ((REMOVED_PERIOD_SECONDS / 2.0 * axis.rate) as usize)
        .clamp(1, (axis.len / 4).max(1));
    let mut smoothed = without_mean(&cells, half_width);
    let energy: f64 = smoothed.iter().map(|value| value * value).sum();
    let count = cells.iter().filter(|cell| cell.is_some()).count();
    let effective = (energy / count.max(1) as f64).sqrt();
    if effective > 0.0 {
        let scaled = |value: &f64| (value / effective).clamp(-CLIP_FACTOR, CLIP_FACTOR);
        smoothed = smoothed.iter().map(scaled).collect();
    }
    smoothed
}

/// Returns the value at each time of `axis`: interpolated, or the mean of several samples
/// around it.
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
    let mut last: Option<(f64, f64)> = None;
    let mut cells = Vec::with_capacity(axis.len);
    for (index, (sum, count)) in sums.into_iter().enumerate() {
        let time = axis.start + index as f64 / axis.rate;
        while let Some(sample) = samples.next_if(|(next, _)| *next <= time) {
            last = Some(sample);
        }
        let gap_cells = match (last, samples.peek()) {
            (Some((before, from)), Some((after, to)))
                if after - before <= GAP_PERIODS * period =>
            {
                Some(from + (to - from) * (time - before) / (after - before))
            }
            (Some((before, from)), None) if before == time => Some(from),
            _ => None,
        };
        cells.push(match count {
            0 => gap_cells,
            count => Some(sum / f64::from(count)),
        });
    }
    cells
}

/// Returns `cells` minus the mean of the cells up to `half_width` before and after each, or 0
/// for missing values.
fn without_mean(cells: &[Option<f64>], half_width: usize) -> Vec<f64> {
    // Sums of large numbers would lose the small changes.
    let first = cells.iter().flatten().next().copied().unwrap_or(0.0);
    let mut sums = vec![(0.0, 0_u64)];
    let (mut sum, mut count) = (0.0, 0);
    for cell in cells {
        sum += cell.map_or(0.0, |value| value - first);
        count += u64::from(cell.is_some());
        sums.push((sum, count));
    }
    let sum_before =
        |index: usize| sums.get(index.min(cells.len())).copied().unwrap_or_default();
    let less = |(index, cell): (usize, &Option<f64>)| {
        let Some(value) = cell else { return 0.0 };
        let (from, to) = (
            sum_before(index.saturating_sub(half_width)),
            sum_before(index + half_width + 1),
        );
        value - first - (to.0 - from.0) / (to.1 - from.1).max(1) as f64
    };
    cells.iter().enumerate().map(less).collect()
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
        let all = resample(&seconds, &values, 0.1, axis);
        let middle = &all[300..700];
        let mean = middle.iter().sum::<f64>() / 400.0;
        assert!(mean.abs() < 0.05, "{mean}");
        assert!(middle.iter().all(|value| value.abs() < 2.0));
    }
}
