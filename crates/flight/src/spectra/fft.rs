//! The Fourier transform of long series with uneven times.

use std::f64::consts::{FRAC_PI_4, FRAC_PI_8, SQRT_2, TAU};

use realfft::RealFftPlanner;

/// The maximum number of samples of a transform, which needs 48 MB of memory.
const MAX_BLOCK: usize = 1 << 19;

/// The number of grid points per sample, and the number of points on each side of a sample that it is
/// spread to. The error is about a millionth of the mean absolute value.
const OVERSAMPLING: usize = 2;
const SPREAD: i64 = 6;

/// Returns the number of samples in a block, and the amplitudes of its frequencies below half of
/// the mean sampling rate: `2 / N * |sum of value * exp(-i 2 pi frequency time)|`, averaged over the
/// blocks. The times are in nanoseconds, and the frequencies multiples of the rate divided by the number
/// of samples.
///
/// For even times, this is the discrete Fourier transform. Uneven times and gaps keep each frequency at
/// its place, as in a Lomb-Scargle periodogram. The sums are computed with a fast transform of a grid
/// that each sample is spread to by a Gaussian function (Greengard and Lee, "Accelerating the nonuniform
/// fast Fourier transform", 2004).
pub(super) fn amplitudes(
    times: &[i64],
    values: &[f32],
    rate_hz: f64,
) -> (usize, Vec<f64>) {
    let block_count = values.len().div_ceil(MAX_BLOCK).max(1);
    let length = values.len() / block_count;
    let mut sums = vec![0.0; length / 2];
    if length < 2 {
        return (length, sums);
    }
    let grid_length = OVERSAMPLING * length;
    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(grid_length);
    let mut spectrum = transform.make_output_vec();
    let cycles_per_nanosecond = rate_hz / length as f64 / 1e9;
    let steps = step_weights();
    let mut last_value = 0.0;
    let blocks = times.chunks_exact(length).zip(values.chunks_exact(length));
    for (times, values) in blocks.take(block_count) {
        let mut finite: Vec<f64> = Vec::with_capacity(length);
        for value in values {
            if value.is_finite() {
                last_value = f64::from(*value);
            }
            finite.push(last_value);
        }
        // Uneven times would spread the mean over all frequencies.
        let mean = finite.iter().sum::<f64>() / length as f64;
        let first = times.first().copied().unwrap_or_default();
        let mut grid = vec![0.0; grid_length];
        for (time, value) in times.iter().zip(&finite) {
            let elapsed = time.saturating_sub(first) as f64;
            let cycles = (elapsed * cycles_per_nanosecond).rem_euclid(1.0);
            spread(&mut grid, &steps, cycles * grid_length as f64, value - mean);
        }
        // Fails only if a buffer does not have the length of the plan.
        if transform.process(&mut grid, &mut spectrum).is_err() {
            continue;
        }
        let scale = 2.0 / length as f64 / block_count as f64;
        for (index, (sum, bin)) in sums.iter_mut().zip(&spectrum).enumerate() {
            let share = index as f64 / length as f64;
            // The transform of the Gaussian function is divided out.
            let gain = (TAU * share * share).exp() / (2.0 * SQRT_2);
            let zero = if index == 0 { mean.abs() * length as f64 } else { 0.0 };
            *sum += scale * (gain * bin.norm() + zero);
        }
    }
    (length, sums)
}

/// The grid points that a sample is spread to, relative to the one before it, and the part of their
/// weight that does not depend on the sample: exp(-step² pi / 8).
fn step_weights() -> Vec<(i64, f64)> {
    let weight = |step: i64| (-(step * step) as f64 * FRAC_PI_8).exp();
    (1 - SPREAD..=SPREAD).map(|step| (step, weight(step))).collect()
}

/// Adds `value` at `position` of `grid`, spread by a Gaussian function.
fn spread(grid: &mut [f64], steps: &[(i64, f64)], position: f64, value: f64) {
    let before = position.floor();
    let offset = position - before;
    // exp(-(offset - step)² pi / 8) is a product. Its second factor is a geometric sequence.
    let ratio = (offset * FRAC_PI_4).exp();
    let first = ratio.powi(1 - SPREAD as i32);
    let mut part = value * (-offset * offset * FRAC_PI_8).exp() * first;
    for (step, weight) in steps {
        let index = (before as i64 + step).rem_euclid(grid.len() as i64);
        if let Some(point) = grid.get_mut(index as usize) {
            *point += part * weight;
        }
        part *= ratio;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of `length` samples at 1 Hz.
    fn even_times(length: usize) -> Vec<i64> {
        (0..length as i64).map(|n| n * 1_000_000_000).collect()
    }

    #[test]
    fn amplitude_of_a_cosine_does_not_depend_on_the_length() {
        // 997 is a prime number.
        for length in [16_usize, 997] {
            let values: Vec<f32> = (0..length)
                .map(|n| (TAU * 3.0 * n as f64 / length as f64).cos() as f32)
                .collect();
            let (block, found) = amplitudes(&even_times(length), &values, 1.0);
            assert_eq!((block, found.len()), (length, length / 2));
            assert!((found[3] - 1.0).abs() < 1e-5, "{found:?}");
            assert!(found[1].abs() < 1e-5, "{found:?}");
        }
        assert_eq!(amplitudes(&[], &[], 1.0), (0, vec![]));
        assert_eq!(amplitudes(&[0], &[1.0], 1.0), (1, vec![]));
    }

    #[test]
    fn missing_value_takes_the_value_before() {
        let values = [1.0, f32::NAN, 1.0, f32::INFINITY];
        assert_eq!(amplitudes(&even_times(4), &values, 1.0), (4, vec![2.0, 0.0]));
    }

    #[test]
    fn amplitudes_of_uneven_times_are_the_sums_of_the_definition() {
        // 2, 2 and 5 ms, with a pause of a second, and a value that has no period.
        let (mut time, mut times, mut values) = (0_i64, Vec::new(), Vec::new());
        for n in 0..301_i64 {
            times.push(time);
            let seconds = time as f64 / 1e9;
            values.push(
                ((TAU * 40.3 * seconds).sin() + 7.0 + (n * n % 17) as f64) as f32,
            );
            time += [2, 2, 5][n as usize % 3] * 1_000_000;
            time += if n == 120 { 1_000_000_000 } else { 0 };
        }
        let (length, found) = amplitudes(&times, &values, 333.0);
        let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / 301.0;
        for (bin, amplitude) in found.iter().enumerate().skip(1) {
            let frequency = bin as f64 * 333.0 / length as f64;
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (time, value) in times.iter().zip(&values) {
                let angle = TAU * frequency * *time as f64 / 1e9;
                real += (f64::from(*value) - mean) * angle.cos();
                imaginary += (f64::from(*value) - mean) * angle.sin();
            }
            let expected = 2.0 / 301.0 * f64::hypot(real, imaginary);
            assert!(
                (amplitude - expected).abs() < 1e-4,
                "{bin}: {amplitude}, {expected}"
            );
        }
        assert!((found[0] - 2.0 * mean).abs() < 1e-4, "{}", found[0]);
    }
}
