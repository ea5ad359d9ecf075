//! Wiener deconvolution of windows.

use std::{f64::consts::TAU, sync::Arc};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex, num_complex::Complex};

/// The constants of PID-Analyzer: the length of a window and of the response in seconds, the
/// number of windows that overlap, and the highest frequency of the input.
const WINDOW_S: f64 = 1.0;
const RESPONSE_S: f64 = 0.5;
const OVERLAP: usize = 16;
const INPUT_HZ: f64 = 25.0;
/// Signals whose highest frequency is not well above the limit are not filtered.
const FILTER_MARGIN: f64 = 1.2;
/// Transforms have a multiple of this length (PID-Analyzer).
const PADDING: usize = 1024;
/// The ratio of signal and noise below the highest frequency (PID-Analyzer).
const SIGNAL_TO_NOISE: f64 = 10.0;
/// The maximum number of windows. Longer flights have less overlap.
const MAX_WINDOWS: usize = 20_000;

/// The number of median intervals beyond which an interval is a gap, which no window has.
pub(super) const GAP_INTERVALS: i64 = 3;

/// Deconvolves windows of one length.
pub(super) struct Deconvolution {
    pub(super) window: Vec<f64>,
    pub(super) response_length: usize,
    /// The inverse of the ratio of signal and noise of each frequency.
    noise: Vec<f64>,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    padded: usize,
}

impl Deconvolution {
    pub(super) fn new(rate: f64) -> Self {
        let length = ((WINDOW_S * rate).round() as usize).max(2);
        let angle = |n: usize| TAU * n as f64 / (length - 1) as f64;
        let padded = length + PADDING - length % PADDING;
        let mut planner = RealFftPlanner::new();
        Self {
            window: (0..length).map(|n| 0.5 - 0.5 * angle(n).cos()).collect(),
            response_length: ((RESPONSE_S * rate).round() as usize).max(1),
            noise: noise(padded, rate),
            forward: planner.plan_fft_forward(padded),
            backward: planner.plan_fft_inverse(padded),
            padded,
        }
    }

    /// Returns by how many samples a window starts after the one before.
    pub(super) fn shift(&self, samples: usize) -> usize {
        // Segments may have up to three times as many places as samples.
        let most = samples.saturating_mul(GAP_INTERVALS as usize);
        (self.window.len() / OVERLAP).max(most.div_ceil(MAX_WINDOWS)).max(1)
    }

    /// Returns the highest absolute value of the input times the window.
    pub(super) fn strength(&self, input: &[f64]) -> f64 {
        let products =
            input.iter().zip(&self.window).map(|(value, w)| (value * w).abs());
        products.fold(0.0, f64::max)
    }

    /// Returns the response to a step.
    pub(super) fn response(
        &mut self,
        input: Vec<f64>,
        output: Vec<f64>,
    ) -> Option<Vec<f64>> {
        let transform = |signal: Vec<f64>| -> Option<Vec<Complex<f64>>> {
            let mut padded: Vec<f64> =
                signal.iter().zip(&self.window).map(|(value, w)| value * w).collect();
            padded.resize(self.padded, 0.0);
            let mut spectrum = self.forward.make_output_vec();
            self.forward.process(&mut padded, &mut spectrum).ok()?;
            Some(spectrum)
        };
        let (input, output) = (transform(input)?, transform(output)?);
        let bins = input.iter().zip(&output).zip(&self.noise);
        let mut quotient: Vec<Complex<f64>> =
            bins.map(|((h, g), noise)| g * h.conj() / (h.norm_sqr() + noise)).collect();
        // Both ends are real for real signals, up to rounding.
        if let Some(zero) = quotient.first_mut() {
            zero.im = 0.0;
        }
        if let Some(highest) = quotient.last_mut() {
            highest.im = 0.0;
        }
        let mut impulse = self.backward.make_output_vec();
        self.backward.process(&mut quotient, &mut impulse).ok()?;
        let scale = 1.0 / self.padded as f64;
        let mut sum = 0.0;
        let steps = impulse.iter().take(self.response_length).map(|value| {
            sum += value * scale;
            sum
        });
        Some(steps.collect())
    }
}

/// Returns the inverse of the ratio of signal and noise for each frequency from zero to half of
/// the rate: a smooth step at the highest frequency of the input (PID-Analyzer).
fn noise(padded: usize, rate: f64) -> Vec<f64> {
    let half = padded / 2 + 1;
    let ratio = |mask: f64| 1.0 / (SIGNAL_TO_NOISE * (1.0 - mask + 1e-9));
    if rate / 2.0 < INPUT_HZ * FILTER_MARGIN {
        return vec![ratio(0.0); half];
    }
    // In the order of the complex transform, whose second half has negative frequencies.
    let frequency = |bin: usize| bin.min(padded - bin) as f64 * rate / padded as f64;
    let mask: Vec<f64> = (0..padded)
        .map(|bin| f64::from(u8::from(frequency(bin) >= INPUT_HZ)))
        .collect();
    let below = mask.iter().filter(|value| **value == 0.0).count() as f64;
    let smooth = gaussian(&mask, below / 6.0);
    let lowest = smooth.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = smooth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (highest - lowest).max(1e-10);
    smooth.iter().take(half).map(|value| ratio((value - lowest) / range)).collect()
}

/// Smooths values with a Gaussian of this standard deviation, cut off at four of them. Beyond the
/// ends, the values are mirrored (`scipy.ndimage.gaussian_filter1d`).
fn gaussian(values: &[f64], deviation: f64) -> Vec<f64> {
    let kernel = gaussian_kernel(deviation);
    let radius = (kernel.len() / 2) as i64;
    let length = values.len() as i64;
    let mirrored = |place: i64| {
        let place = place.rem_euclid(2 * length);
        let place = if place < length { place } else { 2 * length - 1 - place };
        values.get(place as usize).copied().unwrap_or_default()
    };
    let smooth = |at: i64| {
        let weights = kernel.iter().zip(-radius..);
        weights.map(|(weight, offset)| weight * mirrored(at + offset)).sum()
    };
    (0..length).map(smooth).collect()
}

/// Returns the weights of a Gaussian, whose sum is one.
pub(super) fn gaussian_kernel(deviation: f64) -> Vec<f64> {
    let radius = (4.0 * deviation + 0.5) as i64;
    let weight = |place: i64| (-0.5 * (place as f64 / deviation).powi(2)).exp();
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
