//! A coarse search for the offset over the whole of both signals.

use realfft::{RealFftPlanner, num_complex::Complex};

use crate::{
    grid::{GridAxis, resample},
    signal::Signal,
};

/// The maximum rate of a grid in values per second, which suffices for a coarse search.
const COARSE_RATE: f64 = 25.0;
/// The maximum number of values of a grid.
const MAX_GRID_LEN: f64 = (1 << 20) as f64;
/// The maximum drift of the search in seconds per second.
pub(crate) const MAX_DRIFT: f64 = 200e-6;
/// The maximum number of drifts that are tried on each side of 0.
const MAX_DRIFTS: f64 = 20.0;
/// A peak ends where the score falls below this fraction of its height.
const PEAK_END_FRACTION: f64 = 0.3;

/// The result of the coarse search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoarseEstimate {
    /// Seconds to add to the times of the second signal, at its middle.
    pub(crate) offset: f64,
    /// The change of the offset per second of the second signal.
    pub(crate) drift: f64,
    /// The ratio of the highest peak of the correlation to the second highest.
    pub(crate) peak_ratio: f64,
    /// The distance in seconds from the peak to its end, on its wider side.
    pub(crate) width: f64,
    /// The score of the peak.
    height: f64,
}

/// Tries all offsets with each drift up to [`MAX_DRIFT`], and returns the best estimate, or
/// `None` if no offset has a positive correlation.
pub(crate) fn search(a: &Signal, b: &Signal) -> Option<CoarseEstimate> {
    let max_span = a.span().max(b.span());
    let rate = COARSE_RATE
        .min(MAX_GRID_LEN / max_span.max(1.0))
        .min(1.0 / a.period.min(b.period));
    let len = |signal: &Signal| (signal.span() * rate) as usize + 1;
    let axis = |len| GridAxis { start: 0.0, rate, len };
    let mut planner = RealFftPlanner::<f64>::new();
    let size = (len(a) + len(b) + 2).next_power_of_two();
    let (fft, inverse_fft) =
        (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let spectrum = |values: &[f64]| -> Option<Vec<Complex<f64>>> {
        let mut padded = values.to_vec();
        padded.resize(size, 0.0);
        let mut spectrum = fft.make_output_vec();
        fft.process(&mut padded, &mut spectrum).ok()?;
        Some(spectrum)
    };
    let resampled_a = resample(&a.seconds, &a.values, a.period, axis(len(a)));
    let spectrum_a = spectrum(&resampled_a)?;
    // The error of the drift is at most half a step, which smears the peak by one value of the
    // grid.
    let shorter_span = a.span().min(b.span()).max(1.0);
    let drift_step = (2.0 / rate / shorter_span).max(MAX_DRIFT / MAX_DRIFTS);
    let drift_count = (MAX_DRIFT / drift_step).floor() as i32;
    let middle = b.span() / 2.0;
    let mut best: Option<CoarseEstimate> = None;
    for drift in (-drift_count..=drift_count).map(|n| f64::from(n) * drift_step) {
        let with_drift = |time: &f64| time + drift * (time - middle);
        let seconds: Vec<f64> = b.seconds.iter().map(with_drift).collect();
        let resampled_b = resample(&seconds, &b.values, b.period, axis(len(b)));
        let mut product = spectrum(&resampled_b)?;
        for (value_of_b, value_of_a) in product.iter_mut().zip(&spectrum_a) {
            *value_of_b = value_of_a * value_of_b.conj();
        }
        // The first and the last value are real; the inverse transform rejects rounding errors
        // in their imaginary parts.
        for end in [0, product.len() - 1] {
            product[end].im = 0.0;
        }
        let mut sums = inverse_fft.make_output_vec();
        inverse_fft.process(&mut product, &mut sums).ok()?;
        let scores = scores(&resampled_a, &resampled_b, &sums, rate, shorter_span);
        if let Some(candidate) = peak(&scores, resampled_b.len(), rate, drift)
            && best.is_none_or(|best| candidate.height > best.height)
        {
            best = Some(candidate);
        }
    }
    best
}

/// Returns the score of each offset: the correlation in units of the standard deviation that
/// it has between unrelated signals. The first score belongs to the lowest offset, at which
/// the end of `b` is at the start of `a`. It is 0 where the overlap is too short.
///
/// `sums` are the sums of products for each offset, multiplied by their number, in the order
/// of the inverse transform. `shorter_span` is the length of the shorter signal in seconds.
fn scores(
    a: &[f64],
    b: &[f64],
    sums: &[f64],
    rate: f64,
    shorter_span: f64,
) -> Vec<f64> {
    // The energy of the values before each index.
    let energies = |values: &[f64]| -> Vec<f64> {
        let sums = values.iter().scan(0.0, |sum, value| {
            *sum += value * value;
            Some(*sum)
        });
        [0.0].into_iter().chain(sums).collect()
    };
    let (energies_of_a, energies_of_b) = (energies(a), energies(b));
    let range_energy = |energies: &[f64], start: usize, end: usize| {
        let energy_before = |index| energies.get(index).copied().unwrap_or(0.0);
        energy_before(end) - energy_before(start)
    };
    let min_overlap = (0.2 * shorter_span).max(shorter_span.min(20.0) / 2.0) * rate;
    let min_overlap = (min_overlap as usize).max(2);
    let score = |index: usize| {
        // With this offset, a[skip_a + i] is compared with b[skip_b + i].
        let (skip_a, skip_b) = if index + 1 >= b.len() {
            (index + 1 - b.len(), 0)
        } else {
            (0, b.len() - 1 - index)
        };
        let count = (a.len().saturating_sub(skip_a)).min(b.len() - skip_b);
        if count < min_overlap {
            return 0.0;
        }
        let energy = range_energy(&energies_of_a, skip_a, skip_a + count)
            * range_energy(&energies_of_b, skip_b, skip_b + count);
        // Negative offsets are at the end of the sums.
        let sum_index = (index + 1 + sums.len() - b.len()) % sums.len();
        let sum = sums.get(sum_index).copied().unwrap_or(0.0) / sums.len() as f64;
        // Sections that hardly change must not match by their noise.
        let min_energy = 1e-4 * (count * count) as f64;
        sum / energy.max(min_energy).sqrt() * (count as f64).sqrt()
    };
    (0..a.len() + b.len() - 1).map(score).collect()
}

/// Returns the estimate of the highest peak of `scores`, or `None` if no score is positive.
fn peak(scores: &[f64], len_b: usize, rate: f64, drift: f64) -> Option<CoarseEstimate> {
    let highest = |range: &[f64]| range.iter().copied().max_by(f64::total_cmp);
    let height = highest(scores).filter(|height| *height > 0.0)?;
    let index = scores.iter().position(|score| *score == height)?;
    let (before, after) = scores.split_at(index);
    let is_end = |score: &f64| *score < PEAK_END_FRACTION * height;
    let width_before = before.iter().rev().position(is_end).unwrap_or(before.len());
    let width_after = after.iter().position(is_end).unwrap_or(after.len());
    let other_peaks = [
        highest(&before[..before.len() - width_before]),
        highest(&after[width_after..]),
    ];
    let second_peak = other_peaks.into_iter().flatten().fold(0.0, f64::max);
    Some(CoarseEstimate {
        offset: (index as f64 - (len_b as f64 - 1.0)) / rate,
        drift,
        peak_ratio: height / second_peak.max(height / 100.0),
        width: width_before.max(width_after).max(1) as f64 / rate,
        height,
    })
}
