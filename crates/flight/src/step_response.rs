//! The step responses of controllers, by Wiener deconvolution.
//!
//! The method is that of PID-Analyzer, which the page "PID Analysis" of Flight Review used. The
//! signals are divided into windows of one second that start a sixteenth of a second apart. Each
//! window is deconvolved to an impulse response, whose cumulative sum is the step response. The step
//! responses are averaged in a way that is robust against outliers.

mod deconvolution;

use serde::Serialize;

use crate::{
    correlation::{finite_samples, interpolate, sorted},
    data::FlightData,
    phases::Phases,
    series::{Series, median_interval, seconds},
    step_response::deconvolution::{Deconvolution, GAP_INTERVALS, gaussian_kernel},
};

/// The minimum inputs of a window in degrees per second and in degrees. Windows with a stronger
/// input than `HIGH_INPUT` are averaged separately (PID-Analyzer: 20 and 500).
const MIN_RATE: f64 = 20.0;
const MIN_ANGLE: f64 = 5.0;
const HIGH_INPUT: f64 = 500.0;
/// The minimum number of windows of a response (PID-Analyzer).
const MIN_WINDOWS: u32 = 10;
/// The histogram of responses: its lowest and highest value, its number of bins, and the standard
/// deviation of its smoothing in bins (PID-Analyzer).
const LOWEST: f64 = -1.5;
const HIGHEST: f64 = 3.5;
const BINS: usize = 1000;
const SMOOTHING_BINS: f64 = 7.0;

/// The minimum sampling rate: slower signals cannot show a response.
const MIN_SAMPLE_RATE_HZ: f64 = 10.0;
/// The maximum sampling rate: faster signals are not logged, and would need much memory.
const MAX_SAMPLE_RATE_HZ: f64 = 4_000.0;
/// The share of the response after which its values count as final (Flight Review,
/// `rate_response.py`).
const SETTLED_FROM: f64 = 0.6;

/// The response of a controller to a step of its setpoint from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepResponse {
    /// The controller: `rate` or `attitude`.
    pub controller: &'static str,
    /// The axis: `roll`, `pitch` or `yaw`.
    pub axis: &'static str,
    /// The sampling rate of the measurement.
    pub sample_rate_hz: f64,
    /// The number of windows with enough input.
    pub windows: u32,
    /// The time between two values in seconds. The first value is at the step.
    pub time_step_s: f64,
    /// The most common response. The window function and the assumed noise reduce its late values
    /// by about a tenth.
    pub response: Vec<f64>,
    /// The mean of the responses of all windows.
    pub mean: Vec<f64>,
    /// Their standard deviation.
    pub deviation: Vec<f64>,
    /// The most common response to inputs of more than 500 degrees (or degrees per second); `None`
    /// with fewer than ten such windows.
    pub response_to_high_input: Option<Vec<f64>>,
    /// The metrics of `mean`, which is closer to the response to slow inputs than `response`.
    pub metrics: ResponseMetrics,
}

/// The metrics of a step response (Flight Review, `rate_response.py`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResponseMetrics {
    /// The final value: the mean of the last 40 percent.
    pub final_value: f64,
    /// The time until half of the final value is reached. `None` also if the first value exceeds
    /// it, as the samples of a slow logger do.
    pub delay_s: Option<f64>,
    /// The time from 10 to 90 percent of the final value. `None` also if it is shorter than the
    /// time between two values.
    pub rise_s: Option<f64>,
    /// The excess of the highest value over the final value, in percent of the final value.
    pub overshoot_percent: Option<f64>,
}

/// Returns the step responses of the rate and the attitude controller while the vehicle is in the
/// air.
pub(crate) fn flight_step_responses(
    data: &FlightData,
    phases: &Phases,
) -> Vec<StepResponse> {
    let mut responses = Vec::new();
    let velocity = data.first_instance("vehicle_angular_velocity");
    let attitude = data.first_instance("vehicle_attitude");
    let rate_setpoints = data.first_instance("vehicle_rates_setpoint");
    let axes = [
        ("roll", "rollspeed", "xyz[0]"),
        ("pitch", "pitchspeed", "xyz[1]"),
        ("yaw", "yawspeed", "xyz[2]"),
    ];
    for (axis, old_field, new_field) in axes {
        let measured =
            velocity.and_then(|series| Some((series, series.column(new_field)?)));
        // Old logs have the rates in the attitude topic.
        let measured = measured.or_else(|| {
            attitude.and_then(|series| Some((series, series.column(old_field)?)))
        });
        let Some(((series, values), setpoints)) = measured.zip(rate_setpoints) else {
            continue;
        };
        let Some(setpoint) = setpoints.column(axis) else { continue };
        let measured =
            samples(series, values.iter().map(|v| f64::from(*v).to_degrees()));
        let setpoint =
            samples(setpoints, setpoint.iter().map(|v| f64::from(*v).to_degrees()));
        let flying = |start, last| is_flying(phases, start, last);
        responses.extend(
            step_response(&setpoint, &measured, MIN_RATE, flying)
                .map(|response| StepResponse { controller: "rate", axis, ..response }),
        );
    }
    let Some((attitude, setpoints)) =
        attitude.zip(data.first_instance("vehicle_attitude_setpoint"))
    else {
        return responses;
    };
    for (axis, old_field) in [("roll", "roll_body"), ("pitch", "pitch_body")] {
        let Some(measured) = angles(attitude, "q", axis) else { continue };
        let old_angles = || {
            setpoints.column(old_field).map(|column| {
                column.iter().map(|v| f64::from(*v).to_degrees()).collect::<Vec<f64>>()
            })
        };
        let angles_of_setpoint = angles(setpoints, "q_d", axis)
            .map(Iterator::collect::<Vec<f64>>)
            .filter(|angles| angles.iter().any(|angle| angle.is_finite()));
        let setpoint = angles_of_setpoint.or_else(old_angles);
        let Some(setpoint) = setpoint else { continue };
        let measured = samples(attitude, measured);
        let setpoint = samples(setpoints, setpoint.into_iter());
        let flying = |start, last| is_flying(phases, start, last);
        responses.extend(
            step_response(&setpoint, &measured, MIN_ANGLE, flying).map(|response| {
                StepResponse { controller: "attitude", axis, ..response }
            }),
        );
    }
    responses
}

fn is_flying(phases: &Phases, start: i64, last: i64) -> bool {
    phases.airborne.as_ref().is_none_or(|airborne| airborne.contains_all(start, last))
}

/// Returns the roll or the pitch angle of the quaternion `field` in degrees.
fn angles<'s>(
    series: &'s Series,
    field: &str,
    axis: &'static str,
) -> Option<impl Iterator<Item = f64> + use<'s>> {
    let column = |index: usize| series.column(&format!("{field}[{index}]"));
    let (w, x, y, z) = (column(0)?, column(1)?, column(2)?, column(3)?);
    let rows = w.iter().zip(x).zip(y).zip(z);
    let angle = move |(((w, x), y), z): (((&f32, &f32), &f32), &f32)| {
        let [w, x, y, z] = [w, x, y, z].map(|part| f64::from(*part));
        if axis == "roll" {
            (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)).to_degrees()
        } else {
            (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin().to_degrees()
        }
    };
    Some(rows.map(angle))
}

/// Returns the finite ones of `values` with the times of their rows, sorted by time.
fn samples(series: &Series, values: impl Iterator<Item = f64>) -> Vec<(i64, f64)> {
    sorted(finite_samples(series, values))
}

/// Estimates the response of a controller to a step of its setpoint.
///
/// Both signals consist of times in nanoseconds and values, and are sorted by time. A window is
/// ignored if the product of the setpoint and the window function stays below `min_input`, or if
/// `is_used` returns false for the first and the last time of the window. The controller and the
/// axis of the result are empty. Returns `None` if fewer than ten windows remain.
pub fn step_response(
    setpoint: &[(i64, f64)],
    measured: &[(i64, f64)],
    min_input: f64,
    is_used: impl Fn(i64, i64) -> bool,
) -> Option<StepResponse> {
    let interval = median_interval(measured.iter().map(|(time, _)| *time))?;
    let step = seconds(interval);
    let rate = 1.0 / step;
    if !(MIN_SAMPLE_RATE_HZ..=MAX_SAMPLE_RATE_HZ).contains(&rate) {
        return None;
    }
    let (first, last) = (setpoint.first()?.0, setpoint.last()?.0);
    let mut deconvolution = Deconvolution::new(rate);
    let (length, shift) =
        (deconvolution.window.len(), deconvolution.shift(measured.len()));
    let (mut normal, mut high) = (
        ResponseAverage::new(deconvolution.response_length),
        ResponseAverage::new(deconvolution.response_length),
    );
    for segment in segments(measured, interval) {
        let (Some((start, _)), Some((end, _))) = (segment.first(), segment.last())
        else {
            continue;
        };
        // Only times within both signals are used.
        let (start, end) = ((*start).max(first), (*end).min(last));
        let count = end.saturating_sub(start) / interval;
        let mut offset = 0;
        while offset + length as i64 <= count + 1 {
            let time = |sample: usize| start + (offset + sample as i64) * interval;
            if is_used(time(0), time(length - 1)) {
                let grid =
                    |signal: &[(i64, f64)]| resample(signal, (0..length).map(time));
                let (input, output) = (grid(setpoint), grid(segment));
                let strength = deconvolution.strength(&input);
                if strength > min_input
                    && let Some(response) = deconvolution.response(input, output)
                {
                    let average =
                        if strength > HIGH_INPUT { &mut high } else { &mut normal };
                    average.add(&response);
                }
            }
            offset += shift as i64;
        }
    }
    let response_to_high_input =
        (high.windows >= MIN_WINDOWS).then(|| high.most_common());
    if normal.windows < MIN_WINDOWS {
        return None;
    }
    let response = normal.most_common();
    let (mean, deviation) = normal.mean_and_deviation();
    Some(StepResponse {
        controller: "",
        axis: "",
        sample_rate_hz: rate,
        windows: normal.windows,
        time_step_s: step,
        metrics: ResponseMetrics::new(&mean, step),
        response,
        mean,
        deviation,
        response_to_high_input,
    })
}

/// Interpolates `samples` linearly at `times`. Both are sorted by time.
fn resample(samples: &[(i64, f64)], times: impl Iterator<Item = i64>) -> Vec<f64> {
    let mut times = times.peekable();
    let first = times.peek().copied().unwrap_or_default();
    // Of the samples before the first time, only the last one has an effect.
    let start = samples.partition_point(|(time, _)| *time < first).saturating_sub(1);
    let mut remaining = samples.get(start..).unwrap_or_default();
    let value = |time: i64| {
        while remaining.get(1).is_some_and(|(next, _)| *next < time) {
            remaining = remaining.get(1..).unwrap_or_default();
        }
        let neighbours = remaining.get(..2).unwrap_or(remaining);
        interpolate(neighbours, time).unwrap_or(0.0)
    };
    times.map(value).collect()
}

/// Splits samples at gaps and at times that do not increase.
fn segments(
    samples: &[(i64, f64)],
    interval: i64,
) -> impl Iterator<Item = &[(i64, f64)]> {
    let max_gap = interval.saturating_mul(GAP_INTERVALS);
    samples
        .chunk_by(move |(a, _), (b, _)| (1..=max_gap).contains(&b.saturating_sub(*a)))
}

/// The average and the histogram of responses, in memory that does not depend on their number.
struct ResponseAverage {
    windows: u32,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// The histogram: the number of windows for each time and each of [`BINS`] values.
    counts: Vec<u32>,
}

impl ResponseAverage {
    fn new(length: usize) -> Self {
        let (sums, squares) = (vec![0.0; length], vec![0.0; length]);
        Self { windows: 0, sums, squares, counts: vec![0; length * BINS] }
    }

    fn add(&mut self, response: &[f64]) {
        self.windows += 1;
        let sums = self.sums.iter_mut().zip(&mut self.squares);
        for ((value, (sum, square)), counts) in
            response.iter().zip(sums).zip(self.counts.chunks_exact_mut(BINS))
        {
            *sum += value;
            *square += value * value;
            if (LOWEST..=HIGHEST).contains(value) {
                let bin = (value - LOWEST) / (HIGHEST - LOWEST) * BINS as f64;
                if let Some(count) = counts.get_mut((bin as usize).min(BINS - 1)) {
                    *count += 1;
                }
            }
        }
    }

    /// Returns the most common value at each time: the mean of the histogram, weighted by the squares
    /// of its smoothed counts (PID-Analyzer, `weighted_mode_avr`).
    fn most_common(&self) -> Vec<f64> {
        let kernel = gaussian_kernel(SMOOTHING_BINS);
        let radius = kernel.len() / 2;
        let bin_value =
            |bin: usize| LOWEST + (HIGHEST - LOWEST) * bin as f64 / (BINS - 1) as f64;
        let most_common_value = |counts: &[u32]| {
            let mut smooth = vec![0.0; BINS];
            for (bin, count) in
                counts.iter().enumerate().filter(|(_, count)| **count > 0)
            {
                for (offset, weight) in kernel.iter().enumerate() {
                    let target = (bin + offset).checked_sub(radius);
                    if let Some(sum) = target.and_then(|target| smooth.get_mut(target))
                    {
                        *sum += weight * f64::from(*count);
                    }
                }
            }
            let weights = || smooth.iter().map(|value| value * value);
            let total: f64 = weights().sum();
            let sum: f64 = weights()
                .enumerate()
                .map(|(bin, weight)| weight * bin_value(bin))
                .sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        self.counts.chunks_exact(BINS).map(most_common_value).collect()
    }

    fn mean_and_deviation(&self) -> (Vec<f64>, Vec<f64>) {
        let count = f64::from(self.windows.max(1));
        let mean: Vec<f64> = self.sums.iter().map(|sum| sum / count).collect();
        let deviation = self.squares.iter().zip(&mean);
        let deviation = deviation
            .map(|(square, mean)| (square / count - mean * mean).max(0.0).sqrt());
        let deviation = deviation.collect();
        (mean, deviation)
    }
}

impl ResponseMetrics {
    fn new(response: &[f64], step_s: f64) -> Self {
        let last = response.len().saturating_sub(1) as f64 * step_s;
        let points = || {
            response
                .iter()
                .enumerate()
                .map(|(index, value)| (index as f64 * step_s, *value))
        };
        let settled = points().filter(|(time, _)| *time >= SETTLED_FROM * last);
        let (sum, count) = settled
            .fold((0.0, 0_u32), |(sum, count), (_, value)| (sum + value, count + 1));
        let final_value = if count > 0 { sum / f64::from(count) } else { 0.0 };
        // Without a response, the times are meaningless (Flight Review).
        if final_value <= 0.1 {
            return Self { final_value, ..Self::default() };
        }
        let reaches = |share: f64| {
            points()
                .find(|(_, value)| *value >= share * final_value)
                .map(|(time, _)| time)
        };
        let highest = response.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            final_value,
            delay_s: reaches(0.5).filter(|delay| *delay > 0.0),
            rise_s: reaches(0.9)
                .zip(reaches(0.1))
                .map(|(end, start)| end - start)
                .filter(|rise| *rise > 0.0),
            overshoot_percent: Some(
                ((highest - final_value) / final_value * 100.0).max(0.0),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
