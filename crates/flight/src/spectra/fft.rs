//! The discrete Fourier transform of long series.

use realfft::RealFftPlanner;

/// The maximum number of samples of a transform, which needs 48 MB of memory.
const MAX_BLOCK: usize = 1 << 20;

/// Returns the number of samples in a block, and the amplitudes of its frequencies below half of
/// the sampling rate: `2 / N * |FFT|`, averaged over the blocks.
pub(super) fn amplitudes(values: &[f32]) -> (usize, Vec<f64>) {
    let block_count = values.len().div_ceil(MAX_BLOCK).max(1);
    let length = values.len() / block_count;
    let mut sums = vec![0.0; length / 2];
    if length < 2 {
        return (length, sums);
    }
    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(length);
    let mut spectrum = transform.make_output_vec();
    let mut last_value = 0.0;
    for block in values.chunks_exact(length).take(block_count) {
        let mut input: Vec<f64> = Vec::with_capacity(length);
        for value in block {
            if value.is_finite() {
                last_value = f64::from(*value);
            }
            input.push(last_value);
        }
        // Fails only if a buffer does not have the length of the plan.
        if transform.process(&mut input, &mut spectrum).is_err() {
            continue;
        }
        for (sum, bin) in sums.iter_mut().zip(&spectrum) {
            *sum += 2.0 / length as f64 * bin.norm() / block_count as f64;
        }
    }
    (length, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplitude_of_a_cosine_does_not_depend_on_the_length() {
        // 997 is a prime number.
        for length in [16_usize, 997] {
            let values: Vec<f32> = (0..length)
                .map(|n| {
                    (std::f64::consts::TAU * 3.0 * n as f64 / length as f64).cos()
                        as f32
                })
                .collect();
            let (block, found) = amplitudes(&values);
            assert_eq!((block, found.len()), (length, length / 2));
            assert!((found[3] - 1.0).abs() < 1e-6, "{found:?}");
            assert!(found[1].abs() < 1e-6);
        }
        assert_eq!(amplitudes(&[]), (0, vec![]));
        assert_eq!(amplitudes(&[1.0]), (1, vec![]));
    }

    #[test]
    fn missing_value_takes_the_value_before() {
        let (_, found) = amplitudes(&[1.0, f32::NAN, 1.0, f32::INFINITY]);
        assert_eq!(found, [2.0, 0.0]);
    }
}
