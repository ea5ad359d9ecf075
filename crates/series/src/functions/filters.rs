//! Filters and moving statistics.

use std::f64::consts::{FRAC_PI_4, TAU};

use crate::functions::{
    ColumnKernel, Function, Group, Kernel, Kind, Output, Parameter, UnitRule, constant,
    number, optional, parameter, seconds_between,
    sliding_window::{
        Deviation, Maximum, Mean, Minimum, RootMeanSquare, Summary, sliding_median,
        sliding_summaries,
    },
    time_series::positive,
};

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    source: &'static str,
    kernel: ColumnKernel,
) -> Function {
    Function {
        name,
        group: Group::Filters,
        parameters,
        summary,
        source,
        is_variadic: false,
        output: Output::Each(UnitRule::Same),
        kernel: Kernel::Column(kernel),
    }
}

const X_AND_CUTOFF: &[Parameter] = &[parameter("x", Kind::Series), constant("cutoff")];
const X_AND_SECONDS: &[Parameter] =
    &[parameter("x", Kind::Series), constant("seconds")];
const PLOT_JUGGLER: &str = "PlotJuggler";

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "low_pass",
        X_AND_CUTOFF,
        "a low-pass filter of the first order: y += (1 - exp(-2π · `cutoff` · dt)) · (x - y), \
         with the cutoff in Hz and the seconds dt since the previous value",
        "an RC circuit whose input is constant during dt",
        |times, values, numbers| low_pass(times, values, positive(numbers, "cutoff")?),
    ),
    function(
        "low_pass2",
        X_AND_CUTOFF,
        "a Butterworth low-pass filter of the second order, for the median rate of the values; \
         the cutoff is in Hz",
        "PX4's LowPassFilter2p",
        butterworth,
    ),
    function(
        "high_pass",
        X_AND_CUTOFF,
        "`x` - low_pass(`x`, `cutoff`)",
        "",
        |times, values, numbers| {
            let low = low_pass(times, values, positive(numbers, "cutoff")?)?;
            Ok(values.iter().zip(low).map(|(value, low)| value - low).collect())
        },
    ),
    function(
        "moving_average",
        X_AND_SECONDS,
        "the mean of the last `seconds`",
        PLOT_JUGGLER,
        moving_statistic::<Mean>,
    ),
    function(
        "moving_rms",
        X_AND_SECONDS,
        "the square root of the mean of the squares of the last `seconds`",
        PLOT_JUGGLER,
        moving_statistic::<RootMeanSquare>,
    ),
    function(
        "moving_std",
        X_AND_SECONDS,
        "the standard deviation of the last `seconds`",
        PLOT_JUGGLER,
        moving_statistic::<Deviation>,
    ),
    function(
        "moving_min",
        X_AND_SECONDS,
        "the smallest value of the last `seconds`",
        "",
        moving_statistic::<Minimum>,
    ),
    function(
        "moving_max",
        X_AND_SECONDS,
        "the largest value of the last `seconds`",
        "",
        moving_statistic::<Maximum>,
    ),
    function(
        "moving_median",
        X_AND_SECONDS,
        "the median of the last `seconds`",
        "",
        |times, values, numbers| {
            Ok(sliding_median(times, values, positive(numbers, "seconds")?))
        },
    ),
    function(
        "remove_outliers",
        &[parameter("x", Kind::Series), optional("factor", 100.0)],
        "`x` without spikes. A spike goes up and down again, or down and up, and one of these \
         two steps is over `factor` times the step before them",
        "PlotJuggler's Outlier Removal",
        remove_outliers,
    ),
];

fn moving_statistic<S: Summary>(
    times: &[i64],
    values: &[f64],
    numbers: &[f64],
) -> Result<Vec<f64>, String> {
    Ok(sliding_summaries::<S>(times, values, positive(numbers, "seconds")?))
}

/// Filters `values` with a first-order low-pass filter; `cutoff` is in Hz. Missing values stay
/// missing and do not change the state of the filter.
pub(super) fn low_pass(
    times: &[i64],
    values: &[f64],
    cutoff: f64,
) -> Result<Vec<f64>, String> {
    let mut state: Option<(i64, f64)> = None;
    let rows = times.iter().zip(values).map(|(time, value)| {
        if !value.is_finite() {
            return f64::NAN;
        }
        let filtered = state.map_or(*value, |(last, filtered)| {
            let seconds = seconds_between(last, *time);
            // `exp_m1` is exact for short times.
            filtered - (-TAU * cutoff * seconds).exp_m1() * (value - filtered)
        });
        state = Some((*time, filtered));
        filtered
    });
    Ok(rows.collect())
}

/// A Butterworth low-pass filter of the second order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Butterworth {
    b0: f64,
    a1: f64,
    a2: f64,
    /// The last two internal values of the filter.
    delays: Option<(f64, f64)>,
}

impl Butterworth {
    /// Creates a filter. `relative_cutoff` is the cutoff divided by the rate of the values; it must
    /// be below 0.5.
    pub(super) fn new(relative_cutoff: f64) -> Self {
        let tangent = (std::f64::consts::PI * relative_cutoff).tan();
        let damping = 2.0 * FRAC_PI_4.cos() * tangent;
        let square = tangent * tangent;
        let scale = 1.0 + damping + square;
        Self {
            b0: square / scale,
            a1: 2.0 * (square - 1.0) / scale,
            a2: (1.0 - damping + square) / scale,
            delays: None,
        }
    }

    /// Returns the filtered value. The filter starts in the steady state of the first value.
    pub(super) fn apply(&mut self, value: f64) -> f64 {
        let steady = value / (1.0 + self.a1 + self.a2);
        let (first_delay, second_delay) = self.delays.unwrap_or((steady, steady));
        let internal = value - first_delay * self.a1 - second_delay * self.a2;
        self.delays = Some((internal, first_delay));
        self.b0 * (internal + 2.0 * first_delay + second_delay)
    }
}

fn butterworth(
    times: &[i64],
    values: &[f64],
    numbers: &[f64],
) -> Result<Vec<f64>, String> {
    let cutoff = positive(numbers, "cutoff")?;
    let mut intervals: Vec<i64> = times
        .windows(2)
        .filter_map(|pair| match pair {
            [start, end] => Some(end.saturating_sub(*start)).filter(|nanos| *nanos > 0),
            _ => None,
        })
        .collect();
    let middle = intervals.len() / 2;
    if intervals.is_empty() {
        return Ok(values.to_vec());
    }
    let (_, median, _) = intervals.select_nth_unstable(middle);
    let rate = 1e9 / *median as f64;
    if cutoff >= rate / 2.0 {
        return Err(format!(
            "the cutoff of {cutoff} Hz is not below half the rate of the values, {:.4} Hz",
            rate / 2.0
        ));
    }
    let mut filter = Butterworth::new(cutoff / rate);
    let filtered = values
        .iter()
        .map(|value| if value.is_finite() { filter.apply(*value) } else { f64::NAN });
    Ok(filtered.collect())
}

fn remove_outliers(
    _: &[i64],
    values: &[f64],
    numbers: &[f64],
) -> Result<Vec<f64>, String> {
    let factor = number(numbers, 0);
    if factor.is_nan() || factor <= 0.0 {
        return Err(format!("`factor` must be positive, and is {factor}"));
    }
    let mut cleaned = values.to_vec();
    for (row, window) in values.windows(4).enumerate() {
        let [earlier, previous, value, next] = window else { continue };
        let (up, down) = (value - previous, next - value);
        let jump = up.abs().max(down.abs());
        let is_spike = up * down < 0.0 && jump / (previous - earlier).abs() > factor;
        if let Some(slot) = cleaned.get_mut(row + 2).filter(|_| is_spike) {
            *slot = f64::NAN;
        }
    }
    Ok(cleaned)
}
