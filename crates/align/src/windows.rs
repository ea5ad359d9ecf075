//! Windows of two signals that nearly match, and the offset that remains in each.

use crate::line::Point;

/// The division of two signals into windows, in values of their grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowLayout {
    /// The length of a window.
    pub(crate) len: usize,
    /// The maximum offset of a window.
    pub(crate) max_shift: usize,
    /// The number of values per second.
    pub(crate) rate: f64,
}

/// The offsets of the windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// A point for each active window with a best offset: `x` is the middle of the window in
    /// seconds since the start, and `y` is the number of seconds by which the second signal is
    /// early. The weight increases with the correlation of the signals.
    pub(crate) points: Vec<Point>,
    /// The number of active windows: those in which both signals change. It includes windows
    /// without a best offset.
    pub(crate) active_count: usize,
}

/// The minimum energy of an active window, relative to the mean energy of the signal.
const MIN_RELATIVE_ENERGY: f64 = 0.1;
/// The minimum correlation of the best offset of a window.
const MIN_CORRELATION: f64 = 0.2;

/// Divides `a` and `b`, which have the same grid, into windows, and measures their offsets.
pub(crate) fn measure_windows(a: &[f64], b: &[f64], layout: WindowLayout) -> Windows {
    let mut windows = Windows::default();
    let len = a.len().min(b.len());
    let mean_energy = |values: &[f64]| {
        values.iter().map(|value| value * value).sum::<f64>()
            / values.len().max(1) as f64
    };
    let min_energy_of_a = MIN_RELATIVE_ENERGY * mean_energy(a);
    let min_energy_of_b = MIN_RELATIVE_ENERGY * mean_energy(b);
    let mut start = layout.max_shift;
    while start + layout.len + layout.max_shift <= len {
        let end = start + layout.len;
        let (values_of_a, values_of_b) = (
            a.get(start - layout.max_shift..end + layout.max_shift),
            b.get(start..end),
        );
        let (values_of_a, values_of_b) =
            (values_of_a.unwrap_or_default(), values_of_b.unwrap_or_default());
        if mean_energy(values_of_a) >= min_energy_of_a
            && mean_energy(values_of_b) >= min_energy_of_b
        {
            windows.active_count += 1;
            if let Some((position, correlation)) =
                best_position(values_of_a, values_of_b)
            {
                let y = (position - layout.max_shift as f64) / layout.rate;
                let x = (start as f64 + layout.len as f64 / 2.0) / layout.rate;
                // The variance of a delay is proportional to that of the noise: 1/r² - 1.
                let weight = correlation * correlation
                    / (1.0 - correlation * correlation).max(0.01);
                windows.points.push(Point { x, y, weight });
            }
        }
        start = end;
    }
    windows
}

/// Returns the position in `a` at which the shorter `b` fits best, interpolated between
/// values, and the correlation there. Returns `None` if the position is at an end, or if the
/// correlation is too low.
fn best_position(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let energy_of_b: f64 = b.iter().map(|value| value * value).sum();
    let correlation_of = |part: &[f64]| {
        let (mut sum, mut energy) = (0.0, 0.0);
        for (a, b) in part.iter().zip(b) {
            sum += a * b;
            energy += a * a;
        }
        if energy * energy_of_b > 0.0 {
            sum / (energy * energy_of_b).sqrt()
        } else {
            0.0
        }
    };
    let correlations: Vec<f64> =
        a.windows(b.len().max(1)).map(correlation_of).collect();
    let highest = correlations.iter().copied().max_by(f64::total_cmp)?;
    let index = correlations.iter().position(|correlation| *correlation == highest)?;
    let before = *correlations.get(index.checked_sub(1)?)?;
    let after = *correlations.get(index + 1)?;
    // The vertex of the parabola through the three values.
    let curvature = before - 2.0 * highest + after;
    let fraction =
        if curvature < 0.0 { (before - after) / (2.0 * curvature) } else { 0.0 };
    (highest >= MIN_CORRELATION).then_some((index as f64 + fraction, highest))
}

/// Returns the correlation of `a` and `b` from -1 to 1, where both have values.
pub(crate) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let nonzero_pairs = || a.iter().zip(b).filter(|(a, b)| **a != 0.0 && **b != 0.0);
    let sum: f64 = nonzero_pairs().map(|(a, b)| a * b).sum();
    let energy_of_a: f64 = nonzero_pairs().map(|(a, _)| a * a).sum();
    let energy_of_b: f64 = nonzero_pairs().map(|(_, b)| b * b).sum();
    if energy_of_a * energy_of_b > 0.0 {
        sum / (energy_of_a * energy_of_b).sqrt()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_measure_delays_below_one_sample() {
        // 100 values per second, the second signal 12.3 ms early.
        let wave = |t: f64| (t * 7.0).sin() + (t * 17.3).sin() + (t * t * 0.9).sin();
        let a: Vec<f64> = (0..2000).map(|n| wave(f64::from(n) / 100.0)).collect();
        let b: Vec<f64> =
            (0..2000).map(|n| wave(f64::from(n) / 100.0 + 0.0123)).collect();
        let layout = WindowLayout { len: 200, max_shift: 20, rate: 100.0 };
        let windows = measure_windows(&a, &b, layout);
        assert_eq!((windows.active_count, windows.points.len()), (9, 9));
        for point in &windows.points {
            assert!((point.y - 0.0123).abs() < 5e-4, "{point:?}");
        }
        assert!(correlation(&a, &a) > 0.999 && correlation(&a, &b) > 0.9);
    }
}
