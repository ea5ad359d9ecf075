//! A coarse search for the offset over the whole of both signals.

use realfft::{RealFftPlanner, num_complex::Complex};

use crate::{
    grid::{GridAxis, resample},
    signal::Signal,
};

/// The rate in values per second, which suffices for a coarse search.
const COARSE_RATE: f64 = 25.0;
/// The maximum length of a grid.
const MAX_GRID_LEN: f64 = (1 << 20) as f64;
/// The maximum drift of the search, as a fraction.
pub(crate) const MAX_DRIFT: f64 = 200e-6;
/// The maximum number of drifts to try on each side of 0.
const MAX_DRIFTS: f64 = 20.0;
/// A peak ends where it has fallen to this fraction of its height.
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
    /// The distance in seconds from the peak to its foot.
    pub(crate) width: f64,
    height: f64,
}

/// Tries all offsets, and all drifts that clocks have.
pub(crate) fn search(a: &Signal, b: &Signal) -> Option<CoarseEstimate> {
    let max_span = a.span().max(b.span());
    let rate = COARSE_RATE
        .min(MAX_GRID_LEN / max_span.max(1.0))
        .min(1.0 / a.period.min(b.period));
    let len = |signal: &Signal| (signal.span() * rate) as usize + 1;
    let axis = |len| GridAxis { start: 0.0, rate, len };
    let mut planner = RealFftPlanner::<f64>::new();
    let size = (len(a) + len(b) + 2).next_power_of_two();
    let (forward, back) =
        (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let spectrum = |values: &[f64]| -> Option<Vec<Complex<f64>>> {
        let mut padded = values.to_vec();
        padded.resize(size, 0.0);
        let mut spectrum = forward.make_output_vec();
        forward.process(&mut padded, &mut spectrum).ok()?;
        Some(spectrum)
    };
    let resampled_a = resample(&a.seconds, &a.values, a.period, axis(len(a)));
    let spectrum_a = spectrum(&resampled_a)?;
    // A drift error of this size smears the peak by one value of the grid.
    let shorter = a.span().min(b.span()).max(1.0);
    let step = (2.0 / rate / shorter).max(MAX_DRIFT / MAX_DRIFTS);
    let tried = (MAX_DRIFT / step).floor() as i32;
    let middle = b.span() / 2.0;
    let mut best: Option<CoarseEstimate> = None;
    for drift in (-tried..=tried).map(|n| f64::from(n) * step) {
        let warped = |t: &f64| t + drift * (t - middle);
        let seconds: Vec<f64> = b.seconds.iter().map(warped).collect();
        let resampled_b = resample(&seconds, &b.values, b.period, axis(len(b)));
        let mut product = spectrum(&resampled_b)?;
        for (b, a) in product.iter_mut().zip(&spectrum_a) {
            *b = a * b.conj();
        }
        // The values at the ends are rounding errors otherwise.
        for end in [0, product.len() - 1] {
            product[end].im = 0.0;
        }
        let mut sums = back.make_output_vec();
        back.process(&mut product, &mut sums).ok()?;
        let scores = scores(&resampled_a, &resampled_b, &sums, rate, shorter);
        if let Some(candidate) = peak(&scores, resampled_b.len(), rate, drift)
            && best.is_none_or(|best| candidate.height > best.height)
        {
            best = Some(candidate);
        }
    }
    best
}

/// Returns the score of each offset: the correlation in its standard deviations under
/// chance. The first score belongs to the lowest offset, where the end of `b` is at the
/// start of `a`. It is 0 where the overlap is too short.
fn scores(a: &[f64], b: &[f64], sums: &[f64], rate: f64, shorter: f64) -> Vec<f64> {
    let energies = |values: &[f64]| {
        let sum = values.iter().scan(0.0, |sum, value| {
            *sum += value * value;
            Some(*sum)
        });
        let energies: Vec<f64> = [0.0].into_iter().chain(sum).collect();
        energies
    };
    let (energy_of_a, energy_of_b) = (energies(a), energies(b));
    let energy_of = |energies: &[f64], from: usize, to: usize| {
        let at = |index| energies.get(index).copied().unwrap_or(0.0);
        at(to) - at(from)
    };
    let min_overlap = (0.2 * shorter).max(shorter.min(20.0) / 2.0) * rate;
    let min_overlap = (min_overlap as usize).max(2);
    let score = |place: usize| {
        // a[i + lag] is compared with b[i].
        let (skip_a, skip_b) = if place + 1 >= b.len() {
            (place + 1 - b.len(), 0)
        } else {
            (0, b.len() - 1 - place)
        };
        let count = (a.len().saturating_sub(skip_a)).min(b.len() - skip_b);
        if count < min_overlap {
            return 0.0;
        }
        let energy = energy_of(&energy_of_a, skip_a, skip_a + count)
            * energy_of(&energy_of_b, skip_b, skip_b + count);
        let place = (place + 1 + sums.len() - b.len()) % sums.len();
        let sum = sums.get(place).copied().unwrap_or(0.0) / sums.len() as f64;
        // Constant sections have no match.
        let floor = 1e-4 * (count * count) as f64;
        sum / energy.max(floor).sqrt() * (count as f64).sqrt()
    };
    (0..a.len() + b.len() - 1).map(score).collect()
}

/// Returns the highest peak of `scores`.
fn peak(scores: &[f64], len_b: usize, rate: f64, drift: f64) -> Option<CoarseEstimate> {
    let highest = |range: &[f64]| range.iter().copied().max_by(f64::total_cmp);
    let height = highest(scores).filter(|height| *height > 0.0)?;
    let index = scores.iter().position(|score| *score == height)?;
    let (before, after) = scores.split_at(index);
    let is_foot = |score: &f64| *score < PEAK_END_FRACTION * height;
    let left = before.iter().rev().position(is_foot).unwrap_or(before.len());
    let right = after.iter().position(is_foot).unwrap_or(after.len());
    let peaks_elsewhere =
        [highest(&before[..before.len() - left]), highest(&after[right..])];
    let second_peak = peaks_elsewhere.into_iter().flatten().fold(0.0, f64::max);
    Some(CoarseEstimate {
        offset: (index as f64 - (len_b as f64 - 1.0)) / rate,
        drift,
        peak_ratio: height / second_peak.max(height / 100.0),
        width: left.max(right).max(1) as f64 / rate,
        height,
    })
}
