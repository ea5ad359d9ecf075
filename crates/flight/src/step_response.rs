//! The step responses of controllers, by least squares.
//!
//! Flight Review's page "PID Analysis" used the method of PID-Analyzer, which deconvolves windows of one
//! second. Their window function weakens late values, so that a response without overshoot seems to have
//! some. Here, the impulse response is the one whose convolution with the setpoint is closest to the
//! measurement, in all windows together. A step response is its sum. A response whose standard
//! deviation is too large is left out.

mod identification;

use serde::Serialize;

use crate::{
    correlation::{finite_samples, interpolate, sorted},
    data::FlightData,
    phases::Phases,
    series::{Series, mean_interval, seconds},
    step_response::identification::{Identification, margins, response_length},
};

/// The minimum inputs of a window in degrees per second and in degrees. Windows with a stronger
/// input than `HIGH_INPUT` have a response of their own (PID-Analyzer: 20 and 500).
const MIN_RATE: f64 = 20.0;
const MIN_ANGLE: f64 = 5.0;
const HIGH_INPUT: f64 = 500.0;
/// The duration of a window in seconds, and the maximum number of windows of a flight. Half of a
/// window overlaps with the next one, unless the flight is too long for that.
const WINDOW_S: f64 = 1.0;
const MAX_WINDOWS: f64 = 5_000.0;
/// The shortest time between two values of a response in seconds.
const MIN_STEP_S: f64 = 0.01;
/// The numbers of points on each side of a mean.
const MIN_POINTS: i64 = 4;
const MAX_POINTS: i64 = 10;
/// The maximum number of mean intervals between two samples of a window; longer intervals are
/// gaps.
const GAP_INTERVALS: f64 = 3.0;

/// The minimum sampling rate: slower signals cannot show a response.
const MIN_SAMPLE_RATE_HZ: f64 = 10.0;
/// The maximum sampling rate: faster signals are not logged.
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
    /// The response.
    pub response: Vec<f64>,
    /// The standard deviation of each value of the response, estimated by leaving out each of five
    /// parts of the windows (jackknife), times Student's t for the number of parts. Its root mean square
    /// is at most 0.1.
    pub deviation: Vec<f64>,
    /// The response to inputs of more than 500 degrees (or degrees per second); `None` if there are too
    /// few such windows, or if its standard deviation is too large.
    pub response_to_high_input: Option<Vec<f64>>,
    /// The metrics of the response.
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
    /// The excess of the highest value over the final value, in percent of the final value. A response
    /// that still rises at its end has none.
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
/// ignored if the setpoint stays below `min_input`, or if
/// `is_used` returns false for the first and the last time of the window. The controller and the
/// axis of the result are empty. Returns `None` if fewer than four windows remain, or if the root mean
/// square of the standard deviations of the response exceeds 0.1.
pub fn step_response(
    setpoint: &[(i64, f64)],
    measured: &[(i64, f64)],
    min_input: f64,
    is_used: impl Fn(i64, i64) -> bool,
) -> Option<StepResponse> {
    let times = measured.iter().zip(measured.iter().skip(1));
    let intervals = times.map(|((a, _), (b, _))| b.saturating_sub(*a));
    let intervals = intervals.filter_map(|interval| u64::try_from(interval).ok());
    let intervals = intervals.filter(|interval| *interval > 0);
    let interval = mean_interval(intervals.map(|interval| (interval, 1)))?;
    let rate = 1e9 / interval;
    if !(MIN_SAMPLE_RATE_HZ..=MAX_SAMPLE_RATE_HZ).contains(&rate) {
        return None;
    }
    let step_s = (interval / 1e9).max(MIN_STEP_S);
    let length = response_length(step_s);
    let (before, behind) = margins(length);
    let count = (WINDOW_S / step_s).round() as usize;
    let nanos = |samples: usize| (samples as f64 * step_s * 1e9) as i64;
    let (first, last) = (setpoint.first()?.0, setpoint.last()?.0);
    let flight = seconds(last.saturating_sub(first));
    let shift = (nanos(count) / 2).max((flight / MAX_WINDOWS * 1e9) as i64);
    let mut usual = Identification::new(length);
    let mut high = Identification::new(length);
    for segment in segments(measured, (interval * GAP_INTERVALS) as i64) {
        let (Some((start, _)), Some((end, _))) = (segment.first(), segment.last())
        else {
            continue;
        };
        // Only times within both signals are used.
        let (mut start, end) = ((*start).max(first), (*end).min(last));
        let window = nanos(before + count + behind);
        while start.saturating_add(window) <= end {
            if is_used(start, start + window) {
                let time = |sample: usize| start + nanos(sample);
                let input: Vec<f64> = (0..before + count + behind)
                    .map(|sample| smoothed(setpoint, time(sample), step_s, interval))
                    .collect();
                let output: Vec<f64> = (before..before + count)
                    .map(|sample| smoothed(segment, time(sample), step_s, interval))
                    .collect();
                let strength =
                    input.iter().map(|value| value.abs()).fold(0.0, f64::max);
                if strength > HIGH_INPUT {
                    high.add(&input, &output);
                } else if strength > min_input {
                    usual.add(&input, &output);
                }
            }
            start = start.saturating_add(shift);
        }
    }
    let estimate = usual.estimate()?;
    Some(StepResponse {
        controller: "",
        axis: "",
        sample_rate_hz: rate,
        windows: usual.windows(),
        time_step_s: step_s,
        metrics: ResponseMetrics::new(&estimate.response, step_s),
        response: estimate.response,
        deviation: estimate.deviation,
        response_to_high_input: high.estimate().map(|estimate| estimate.response),
    })
}

/// Returns the mean of `samples` around `time`, weighted by a triangle of `step_s` to each side.
/// `interval` is that of the samples in nanoseconds, between which the mean is linear.
fn smoothed(samples: &[(i64, f64)], time: i64, step_s: f64, interval: f64) -> f64 {
    let side = ((step_s * 1e9 / interval).ceil() as i64).clamp(MIN_POINTS, MAX_POINTS);
    let offset = |point: i64| (point as f64 * step_s * 1e9 / side as f64) as i64;
    let times = (1 - side..side).map(|point| time.saturating_add(offset(point)));
    let weights = (1 - side..side).map(|point| (side - point.abs()) as f64);
    let values = resample(samples, times).into_iter().zip(weights);
    let sum: f64 = values.map(|(value, weight)| value * weight).sum();
    sum / (side * side) as f64
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

/// Splits samples at intervals over `max_gap` and at times that do not increase.
fn segments(
    samples: &[(i64, f64)],
    max_gap: i64,
) -> impl Iterator<Item = &[(i64, f64)]> {
    samples
        .chunk_by(move |(a, _), (b, _)| (1..=max_gap).contains(&b.saturating_sub(*a)))
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
        let end = response.last().copied().unwrap_or_default().max(final_value);
        Self {
            final_value,
            delay_s: reaches(0.5).filter(|delay| *delay > 0.0),
            rise_s: reaches(0.9)
                .zip(reaches(0.1))
                .map(|(end, start)| end - start)
                .filter(|rise| *rise > 0.0),
            overshoot_percent: Some((highest - end) / final_value * 100.0),
        }
    }
}

#[cfg(test)]
mod tests;
