//! Wiener deconvolution of windows.

use std::{f64::consts::TAU, sync::Arc};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex, num_complex::Complex};

/// The constants of PID-Analyzer: the durations of a window and of a response in seconds, the number
/// of windows that overlap, and the highest frequency of the input.
const WINDOW_S: f64 = 1.0;
const RESPONSE_S: f64 = 0.5;
const OVERLAP: usize = 16;
const INPUT_HZ: f64 = 25.0;
/// Signals are not filtered unless half of their sampling rate exceeds `INPUT_HZ` by this factor.
const FILTER_MARGIN: f64 = 1.2;
/// The length of a transform is a multiple of this (PID-Analyzer).
const PADDING: usize = 1024;
/// The signal-to-noise ratio below `INPUT_HZ` (PID-Analyzer).
const SIGNAL_TO_NOISE: f64 = 10.0;
/// The maximum number of windows. The windows of longer flights overlap less.
const MAX_WINDOWS: usize = 20_000;

/// The maximum number of median intervals between two samples of a window; longer intervals are
/// gaps.
pub(super) const GAP_INTERVALS: i64 = 3;

/// Computes step responses of windows with a fixed length.
pub(super) struct Deconvolution {
    pub(super) window: Vec<f64>,
    pub(super) response_length: usize,
    /// The inverse of the signal-to-noise ratio at each frequency.
    noise: Vec<f64>,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    padded_length: usize,
}

impl Deconvolution {
    pub(super) fn new(rate: f64) -> Self {
        let length = ((WINDOW_S * rate).round() as usize).max(2);
        let angle = |n: usize| TAU * n as f64 / (length - 1) as f64;
        let padded_length = length + PADDING - length % PADDING;
        let mut planner = RealFftPlanner::new();
        Self {
            window: (0..length).map(|n| 0.5 - 0.5 * angle(n).cos()).collect(),
            response_length: ((RESPONSE_S * rate).round() as usize).max(1),
            noise: noise(padded_length, rate),
            forward: planner.plan_fft_forward(padded_length),
            backward: planner.plan_fft_inverse(padded_length),
            padded_length,
        }
    }

    /// Returns the number of samples between the starts of successive windows.
    pub(super) fn shift(&self, samples: usize) -> usize {
        // Resampling creates up to `GAP_INTERVALS` values for each interval between samples.
        let max_starts = samples.saturating_mul(GAP_INTERVALS as usize);
        (self.window.len() / OVERLAP).max(max_starts.div_ceil(MAX_WINDOWS)).max(1)
    }

    /// Returns the highest absolute value of the input after the window function is applied.
    pub(super) fn strength(&self, input: &[f64]) -> f64 {
        let products =
            input.iter().zip(&self.window).map(|(value, w)| (value * w).abs());
        products.fold(0.0, f64::max)
    }

    /// Returns the step response of a window with this input and output. `None` if the transform
    /// fails.
    pub(super) fn response(
        &mut self,
        input: Vec<f64>,
        output: Vec<f64>,
    ) -> Option<Vec<f64>> {
        let transform = |signal: Vec<f64>| -> Option<Vec<Complex<f64>>> {
            let mut padded: Vec<f64> =
                signal.iter().zip(&self.window).map(|(value, w)| value * w).collect();
            padded.resize(self.padded_length, 0.0);
            let mut spectrum = self.forward.make_output_vec();
            self.forward.process(&mut padded, &mut spectrum).ok()?;
            Some(spectrum)
        };
        let (input, output) = (transform(input)?, transform(output)?);
        let frequencies = input.iter().zip(&output).zip(&self.noise);
        let mut quotient: Vec<Complex<f64>> = frequencies
            .map(|((h, g), noise)| g * h.conj() / (h.norm_sqr() + noise))
            .collect();
        // The first and the last value are real for real signals, except for rounding errors.
        if let Some(zero) = quotient.first_mut() {
            zero.im = 0.0;
        }
        if let Some(highest) = quotient.last_mut() {
            highest.im = 0.0;
        }
        let mut impulse = self.backward.make_output_vec();
        self.backward.process(&mut quotient, &mut impulse).ok()?;
        let scale = 1.0 / self.padded_length as f64;
        let mut sum = 0.0;
        let steps = impulse.iter().take(self.response_length).map(|value| {
            sum += value * scale;
            sum
        });
        Some(steps.collect())
    }
}

/// Returns the inverse of the signal-to-noise ratio at each frequency from zero to half of the
/// sampling rate. It increases smoothly at the highest frequency of the input (PID-Analyzer).
fn noise(padded_length: usize, rate: f64) -> Vec<f64> {
    let half = padded_length / 2 + 1;
    let ratio = |mask: f64| 1.0 / (SIGNAL_TO_NOISE * (1.0 - mask + 1e-9));
    if rate / 2.0 < INPUT_HZ * FILTER_MARGIN {
        return vec![ratio(0.0); half];
    }
    // In the order of the complex transform, whose second half has negative frequencies.
    let frequency =
        |bin: usize| bin.min(padded_length - bin) as f64 * rate / padded_length as f64;
    let mask: Vec<f64> = (0..padded_length)
        .map(|bin| f64::from(u8::from(frequency(bin) >= INPUT_HZ)))
        .collect();
    let pass_bins = mask.iter().filter(|value| **value == 0.0).count() as f64;
    let smooth = gaussian(&mask, pass_bins / 6.0);
    let lowest = smooth.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = smooth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (highest - lowest).max(1e-10);
    smooth.iter().take(half).map(|value| ratio((value - lowest) / range)).collect()
}

/// Smooths values with a Gaussian kernel that is truncated at four standard deviations. The values
/// are mirrored at both ends (`scipy.ndimage.gaussian_filter1d`).
fn gaussian(values: &[f64], deviation: f64) -> Vec<f64> {
    let kernel = gaussian_kernel(deviation);
    let radius = (kernel.len() / 2) as i64;
    let length = values.len() as i64;
    let mirrored = |index: i64| {
        let index = index.rem_euclid(2 * length);
        let index = if index < length { index } else { 2 * length - 1 - index };
        values.get(index as usize).copied().unwrap_or_default()
    };
    let smooth = |center: i64| {
        let weights = kernel.iter().zip(-radius..);
        weights.map(|(weight, offset)| weight * mirrored(center + offset)).sum()
    };
    (0..length).map(smooth).collect()
}

/// Returns the weights of a Gaussian kernel. Their sum is one.
pub(super) fn gaussian_kernel(deviation: f64) -> Vec<f64> {
    let radius = (4.0 * deviation + 0.5) as i64;
    let weight = |offset: i64| (-0.5 * (offset as f64 / deviation).powi(2)).exp();
    let weights: Vec<f64> = (-radius..=radius).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_is_that_of_scipy() {
        // scipy.ndimage.gaussian_filter1d([0, 0, 0, 1, 1, 1], 1.0)
        let expected =
            [0.00469952, 0.05855682, 0.30052827, 0.69947173, 0.94144318, 0.99530048];
        let found = gaussian(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], 1.0);
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5),
            "{found:?}"
        );
    }
}
