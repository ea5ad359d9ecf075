//! The alignment: a coarse search, then several rounds of refinement in windows.

use crate::{
    coarse_search::{CoarseEstimate, search},
    confidence::{Confidence, Estimate},
    grid::{GridAxis, resample},
    line::Line,
    signal::{Signal, UnusableSignal},
    windows::{WindowLayout, Windows, correlation, measure_windows},
};

/// The maximum number of compared values per second.
const MAX_RATE: f64 = 200.0;
/// The number of windows in the overlap, unless it is very short or long.
const WINDOWS: f64 = 24.0;
/// The maximum offset of a window in values of the grid.
const MAX_SHIFT_VALUES: f64 = 120.0;
/// In signals with a short overlap, the maximum offset of a window is the overlap divided
/// by this number.
const SHORT_OVERLAP_DIVISOR: f64 = 40.0;
/// The minimum error of the offset, as a fraction of the period of the grid: values between
/// two samples are interpolated, so the offset cannot be more exact, however well the
/// windows agree.
const MIN_PERIOD_FRACTION: f64 = 1e-3;
/// The number of rounds. Each corrects the model by the offset and the drift that remain.
const ROUNDS: usize = 4;
/// The maximum number of values of a grid. The rate is reduced for longer signals.
const MAX_GRID_LEN: f64 = (1 << 22) as f64;

/// Estimates the offset to add to the times of `b` to get times of the clock of `a`. Both
/// signals measure one motion: times in nanoseconds and values, in any order. The values
/// can differ by a factor and a constant, and each signal can have its own noise.
///
/// No initial guess of the offset is needed. Clocks with a drift of more than 200 ppm are
/// not aligned. If both signals are usable, an estimate is always returned; its
/// [doubts](Estimate::doubts) state why it is unreliable.
///
/// # Errors
/// The index of the unusable signal (0 for `a`, 1 for `b`), and the reason.
pub fn align(
    a: &[(i64, f64)],
    b: &[(i64, f64)],
) -> Result<Estimate, (usize, UnusableSignal)> {
    let a = Signal::new(a).map_err(|err| (0, err))?;
    let b = Signal::new(b).map_err(|err| (1, err))?;
    let Some(coarse) = search(&a, &b) else {
        let doubts = vec!["no offset makes the signals similar".to_owned()];
        let model = Model { offset: 0.0, drift: 0.0, reference: 0.0 };
        return Ok(model.estimate(&a, &b, Confidence::default(), doubts));
    };
    let initial_model =
        Model { offset: coarse.offset, drift: coarse.drift, reference: b.span() / 2.0 };
    let (forward, fit) = refine(&a, &b, initial_model, &coarse);
    // With the signals swapped, a systematic error has the opposite sign, so that it cancels
    // out in the mean.
    let (backward, _) = refine(&b, &a, forward.inverse(), &coarse);
    let (mut model, offset_error, drift_error) = forward.mean_with(backward.inverse());
    let mut confidence = fit.confidence;
    confidence.offset_error_seconds =
        confidence.offset_error_seconds.hypot(offset_error);
    confidence.drift_error_ppm = confidence.drift_error_ppm.hypot(drift_error * 1e6);
    let doubts = confidence.doubts(model.drift * 1e6);
    if confidence.is_short() && !confidence.is_drift_known() {
        // The reference is the middle of the overlap, where the offset does not depend on the
        // drift, so the offset stays as it is.
        model.drift = 0.0;
    }
    Ok(model.estimate(&a, &b, confidence, doubts))
}

/// Refines `model` with the offsets of windows of `a` and `b`. Returns the refined model and
/// its last fit.
fn refine(
    a: &Signal,
    b: &Signal,
    mut model: Model,
    coarse: &CoarseEstimate,
) -> (Model, Fit) {
    let mut fit = Fit::default();
    for _ in 0..ROUNDS {
        model = model.with_reference(model.overlap_middle(a, b));
        fit = Fit::new(a, b, &model, coarse);
        model.offset += fit.line.height;
        // The slope is per second of `a`, and the drift per second of `b`.
        model.drift += fit.line.slope * (1.0 + model.drift);
    }
    (model, fit)
}

/// The model that maps times of `b` to times of `a`, in seconds since the first sample of
/// each.
#[derive(Clone, Copy, Debug)]
struct Model {
    /// The seconds to add to a time of `b` at the reference.
    offset: f64,
    /// The seconds to add per second after the reference.
    drift: f64,
    /// The time of `b` at which the offset is exact.
    reference: f64,
}

impl Model {
    /// Maps a time of `b` to a time of `a`.
    fn map(&self, seconds: f64) -> f64 {
        seconds + self.offset + self.drift * (seconds - self.reference)
    }

    /// Returns the equivalent model with another reference.
    fn with_reference(self, reference: f64) -> Self {
        Self { offset: self.map(reference) - reference, reference, ..self }
    }

    /// Returns the model that maps times of `a` to times of `b`.
    fn inverse(self) -> Self {
        let drift = 1.0 / (1.0 + self.drift) - 1.0;
        Self { offset: -self.offset, drift, reference: self.map(self.reference) }
    }

    /// Returns the mean of both models, and half of the differences of their offsets and
    /// drifts.
    fn mean_with(self, second: Self) -> (Self, f64, f64) {
        let second = second.with_reference(self.reference);
        let mean = Self {
            offset: f64::midpoint(self.offset, second.offset),
            drift: f64::midpoint(self.drift, second.drift),
            ..self
        };
        let half_difference = |first: f64, second: f64| (first - second).abs() / 2.0;
        let offset_error = half_difference(self.offset, second.offset);
        (mean, offset_error, half_difference(self.drift, second.drift))
    }

    /// Returns the range in which both signals have samples, on the clock of `a`.
    fn overlap(&self, a: &Signal, b: &Signal) -> (f64, f64) {
        let start = self.map(0.0).max(0.0);
        (start, self.map(b.span()).min(a.span()).max(start))
    }

    /// Returns the middle of the overlap, on the clock of `b`.
    fn overlap_middle(&self, a: &Signal, b: &Signal) -> f64 {
        let (start, end) = self.overlap(a, b);
        let seconds_of_a = (start + end) / 2.0 - self.map(0.0);
        seconds_of_a / (1.0 + self.drift)
    }

    fn estimate(
        self,
        a: &Signal,
        b: &Signal,
        confidence: Confidence,
        doubts: Vec<String>,
    ) -> Estimate {
        let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
        Estimate {
            offset_nanos: a
                .first_nanos
                .saturating_sub(b.first_nanos)
                .saturating_add(nanos(self.offset)),
            reference: b.first_nanos.saturating_add(nanos(self.reference)),
            drift_ppm: self.drift * 1e6,
            confidence,
            doubts,
        }
    }
}

/// The offset and the drift that remain between two signals after a model was applied, and
/// the confidence in the model.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    /// The remaining offset over the time since the reference.
    line: Line,
    confidence: Confidence,
}

impl Fit {
    fn new(a: &Signal, b: &Signal, model: &Model, coarse: &CoarseEstimate) -> Self {
        let (start, end) = model.overlap(a, b);
        let overlap = end - start;
        // Short signals have short windows, so that there are several to compare.
        let search_seconds =
            (3.0 * coarse.width).min(overlap / SHORT_OVERLAP_DIVISOR).clamp(0.2, 2.0);
        let sample_rate = 1.0 / a.period.min(b.period);
        let rate = MAX_RATE
            .min(sample_rate)
            .min(MAX_SHIFT_VALUES / search_seconds)
            .min(MAX_GRID_LEN / overlap.max(1.0));
        let len = (overlap * rate) as usize + 1;
        let axis = GridAxis { start, rate, len };
        let seconds: Vec<f64> = b.seconds.iter().map(|time| model.map(*time)).collect();
        let resampled_a = resample(&a.seconds, &a.values, a.period, axis);
        let resampled_b = resample(&seconds, &b.values, b.period, axis);
        let max_window_seconds = (overlap / 200.0).max(60.0);
        let window_seconds = (overlap / WINDOWS)
            .clamp(2.0, max_window_seconds)
            .max(4.0 * search_seconds);
        let max_shift = ((search_seconds * rate) as usize).max(2);
        let layout = WindowLayout {
            len: ((window_seconds * rate) as usize).max(8),
            max_shift,
            rate,
        };
        let mut windows: Windows = measure_windows(&resampled_a, &resampled_b, layout);
        let reference = model.map(model.reference) - start;
        windows.points.iter_mut().for_each(|point| point.x -= reference);
        let line = Line::fit(&windows.points);

        // Half a value of the grid is always allowed, also if `max_shift` is very small.
        let min_tolerance = 0.5 / rate;
        let max_tolerance = (max_shift as f64 / rate / 5.0).max(min_tolerance);
        let tolerance = (4.0 * line.scale).clamp(min_tolerance, max_tolerance);
        let residuals = windows.points.iter().map(|point| line.residual(point));
        let agreeing: Vec<f64> =
            residuals.filter(|residual| residual.abs() <= tolerance).collect();
        let squares: f64 = agreeing.iter().map(|residual| residual * residual).sum();
        let confidence = Confidence {
            overlap_seconds: overlap,
            rate_hz: rate,
            correlation: correlation(&resampled_a, &resampled_b),
            peak_ratio: coarse.peak_ratio,
            windows: windows.active_count,
            agreeing_windows: agreeing.len(),
            residual_seconds: (squares / agreeing.len().max(1) as f64).sqrt(),
            offset_error_seconds: line.height_error.hypot(MIN_PERIOD_FRACTION / rate),
            drift_error_ppm: line.slope_error * 1e6,
        };
        Self { line, confidence }
    }
}

#[cfg(test)]
mod tests;
