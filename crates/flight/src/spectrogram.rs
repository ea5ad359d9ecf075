//! Spectrograms, built while samples are read.

use std::{collections::VecDeque, f64::consts::TAU, sync::Arc};

use realfft::{RealFftPlanner, RealToComplex};
use serde::Serialize;

/// The number of samples in a window. Successive windows overlap by half (Flight Review,
/// `DataPlotSpec`).
pub const WINDOW_LENGTH: usize = 256;
const HOP: usize = WINDOW_LENGTH / 2;

/// The maximum number of columns. Neighbouring columns of longer signals are averaged.
pub const MAX_SPECTROGRAM_COLUMNS: usize = 1024;

/// The power spectral density of a signal over time, summed over three axes. It is computed as
/// `scipy.signal.spectrogram` does with a Hann window and constant detrending.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spectrogram {
    /// The measured quantity, e.g. "angular velocity".
    pub title: String,
    /// The topic.
    pub topic: String,
    /// The sampling rate in Hz.
    pub sample_rate_hz: f64,
    /// The difference between neighbouring frequencies; the first frequency is zero.
    pub frequency_step_hz: f64,
    /// The time of the middle of each column in nanoseconds on the clock of the log.
    pub times_ns: Vec<i64>,
    /// The number of windows that are averaged in each column. The last column may average fewer.
    pub windows_per_column: usize,
    /// The density of each column at each frequency, in the square of the unit of the signal per Hz.
    pub density: Vec<Vec<f32>>,
}

/// Builds a [`Spectrogram`] from samples in the order of time, with bounded memory.
pub struct SpectrogramBuilder {
    transform: Arc<dyn RealToComplex<f64>>,
    window: Vec<f64>,
    /// The latest samples of each axis, and their times.
    samples: [VecDeque<f64>; 3],
    times: VecDeque<i64>,
    columns: Vec<Column>,
    windows_per_column: usize,
}

/// The sum of the power spectra of successive windows.
struct Column {
    /// The mean time of the windows in nanoseconds.
    time: i64,
    windows: usize,
    power: Vec<f64>,
}

impl SpectrogramBuilder {
    /// Creates a builder without samples.
    pub fn new() -> Self {
        let angle = |n: usize| TAU * n as f64 / WINDOW_LENGTH as f64;
        Self {
            transform: RealFftPlanner::new().plan_fft_forward(WINDOW_LENGTH),
            window: (0..WINDOW_LENGTH).map(|n| 0.5 - 0.5 * angle(n).cos()).collect(),
            samples: Default::default(),
            times: VecDeque::new(),
            columns: Vec::new(),
            windows_per_column: 1,
        }
    }

    /// Adds a sample of three axes. A value that is not finite is replaced by the value before it.
    pub fn add(&mut self, time_ns: i64, values: [f32; 3]) {
        for (samples, value) in self.samples.iter_mut().zip(values) {
            let last_value = samples.back().copied().unwrap_or(0.0);
            samples.push_back(if value.is_finite() {
                f64::from(value)
            } else {
                last_value
            });
        }
        self.times.push_back(time_ns);
        if self.times.len() == WINDOW_LENGTH {
            self.add_window();
            self.times.drain(..HOP);
            self.samples.iter_mut().for_each(|samples| drop(samples.drain(..HOP)));
        }
    }

    /// Adds the power spectrum of the latest [`WINDOW_LENGTH`] samples.
    fn add_window(&mut self) {
        let mut power = vec![0.0; HOP + 1];
        let mut spectrum = self.transform.make_output_vec();
        for samples in &self.samples {
            let mean = samples.iter().sum::<f64>() / WINDOW_LENGTH as f64;
            let windowed = samples.iter().zip(&self.window);
            let mut input: Vec<f64> = windowed.map(|(s, w)| (s - mean) * w).collect();
            // Fails only if a buffer does not have the length of the plan.
            if self.transform.process(&mut input, &mut spectrum).is_err() {
                continue;
            }
            for (sum, bin) in power.iter_mut().zip(&spectrum) {
                *sum += bin.norm_sqr();
            }
        }
        let time = self.times.get(HOP).copied().unwrap_or_default();
        match self.columns.last_mut() {
            Some(last) if last.windows < self.windows_per_column => {
                last.add(&Column { time, windows: 1, power });
            }
            _ => self.columns.push(Column { time, windows: 1, power }),
        }
        if self.columns.len() > MAX_SPECTROGRAM_COLUMNS {
            self.merge_pairs();
        }
    }

    /// Halves the number of columns by averaging pairs of columns.
    fn merge_pairs(&mut self) {
        self.windows_per_column *= 2;
        let mut merged: Vec<Column> = Vec::with_capacity(MAX_SPECTROGRAM_COLUMNS);
        for (index, column) in self.columns.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if index % 2 == 1 => last.add(&column),
                _ => merged.push(column),
            }
        }
        self.columns = merged;
    }

    /// Returns the spectrogram of the samples at the sampling rate `rate_hz`. `None` without a whole
    /// window, or if the rate is not positive.
    pub fn finish(self, title: &str, topic: &str, rate_hz: f64) -> Option<Spectrogram> {
        if self.columns.is_empty() || rate_hz.is_nan() || rate_hz <= 0.0 {
            return None;
        }
        let energy: f64 = self.window.iter().map(|weight| weight * weight).sum();
        let density = |column: &Column| {
            let scale = 1.0 / (rate_hz * energy * column.windows as f64);
            let bins = column.power.iter().enumerate();
            // One-sided spectra double all frequencies except the first and the last.
            let sides = |bin: usize| if bin == 0 || bin == HOP { 1.0 } else { 2.0 };
            bins.map(|(bin, power)| (power * scale * sides(bin)) as f32).collect()
        };
        Some(Spectrogram {
            title: title.to_owned(),
            topic: topic.to_owned(),
            sample_rate_hz: rate_hz,
            frequency_step_hz: rate_hz / WINDOW_LENGTH as f64,
            times_ns: self.columns.iter().map(|column| column.time).collect(),
            windows_per_column: self.windows_per_column,
            density: self.columns.iter().map(density).collect(),
        })
    }
}

impl Default for SpectrogramBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for SpectrogramBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.columns.len();
        f.debug_struct("SpectrogramBuilder")
            .field("columns", &columns)
            .finish_non_exhaustive()
    }
}

impl Column {
    fn add(&mut self, other: &Self) {
        // The mean time of all windows, without overflow.
        let share = other.windows as f64 / (self.windows + other.windows) as f64;
        let step = other.time.saturating_sub(self.time) as f64 * share;
        self.time = self.time.saturating_add(step as i64);
        self.windows += other.windows;
        self.power.iter_mut().zip(&other.power).for_each(|(sum, power)| *sum += power);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_signals_have_averaged_columns() {
        let mut builder = SpectrogramBuilder::new();
        for n in 0..300_000_i64 {
            let value = (n as f32 * 0.5).sin();
            builder.add(n * 1_000_000, [value, 0.0, f32::NAN]);
        }
        let found = builder.finish("a", "t", 1000.0).unwrap();
        // 2342 windows, four in each column.
        assert_eq!((found.windows_per_column, found.times_ns.len()), (4, 586));
        assert!(found.times_ns.is_sorted());
        let power = |column: &Vec<f32>| -> f64 {
            column.iter().map(|d| f64::from(*d) * found.frequency_step_hz).sum()
        };
        assert!(found.density.iter().all(|column| (power(column) - 0.5).abs() < 0.01));
    }

    #[test]
    fn short_signals_have_no_spectrogram() {
        let mut builder = SpectrogramBuilder::new();
        (0..255).for_each(|n| builder.add(n, [1.0; 3]));
        assert_eq!(builder.finish("a", "t", 100.0), None);
    }
}
