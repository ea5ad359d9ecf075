//! The step responses of controllers, by Wiener deconvolution.
//!
//! The method is that of PID-Analyzer, which Flight Review's page "PID Analysis" used: windows of
//! a second, each a sixteenth of a second after the one before, are deconvolved, and the sums of
//! the impulse responses are averaged in a way that outliers do not change.

mod deconvolution;

use serde::Serialize;

use crate::{
    correlation::{interpolate, sorted},
    data::{FlightData, Series, median_interval, seconds},
    phases::Phases,
    step_response::deconvolution::{Deconvolution, GAP_INTERVALS, gaussian_kernel},
};

/// Windows whose input is weaker are ignored, in degrees (per second). Windows with more than the
/// second number are evaluated apart (PID-Analyzer: 20 and 500).
const LEAST_RATE: f64 = 20.0;
const LEAST_ANGLE: f64 = 5.0;
const HIGH_INPUT: f64 = 500.0;
/// The fewest windows of a response (PID-Analyzer).
const LEAST_WINDOWS: u32 = 10;
/// The histogram of responses: its limits, and the standard deviation of its smoothing
/// (PID-Analyzer).
const LOWEST: f64 = -1.5;
const HIGHEST: f64 = 3.5;
const BINS: usize = 1000;
const SMOOTHING_BINS: f64 = 7.0;

/// Slower signals cannot show a response.
const LEAST_SAMPLE_RATE_HZ: f64 = 10.0;
/// Faster signals are not logged, and would need a lot of memory.
const MAX_SAMPLE_RATE_HZ: f64 = 4_000.0;
/// The final value is the mean from this share of the response on (Flight Review,
/// `rate_response.py`).
const SETTLED_FROM: f64 = 0.6;

/// The response of a controller to a step of its setpoint from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepResponse {
    /// `rate` or `attitude`.
    pub controller: &'static str,
    /// `roll`, `pitch` or `yaw`.
    pub axis: &'static str,
    /// The sampling rate of the measurement.
    pub sample_rate_hz: f64,
    /// The number of windows with enough input.
    pub windows: u32,
    /// The time between two values in seconds; the first is at the step.
    pub time_step_s: f64,
    /// The most common response. The window function and the assumed noise make its late values
    /// too low, by about a tenth.
    pub response: Vec<f64>,
    /// The mean of the responses of all windows.
    pub mean: Vec<f64>,
    /// Their standard deviation.
    pub deviation: Vec<f64>,
    /// The most common response to inputs of more than 500 degrees (per second), if there are ten
    /// windows of them.
    pub response_to_high_input: Option<Vec<f64>>,
    /// The figures of the mean, which is nearer to the gain of slow inputs.
    pub metrics: ResponseMetrics,
}

/// The figures of a step response (Flight Review, `rate_response.py`).
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
    /// How far the response exceeds the final value, in percent.
    pub overshoot_percent: Option<f64>,
}

/// Returns the responses of the controllers of a flight, while the vehicle is in the air.
pub(crate) fn of_flight(data: &FlightData, phases: &Phases) -> Vec<StepResponse> {
    let mut all = Vec::new();
    let velocity = data.first("vehicle_angular_velocity");
    let attitude = data.first("vehicle_attitude");
    let rates = data.first("vehicle_rates_setpoint");
    let axes = [
        ("roll", "rollspeed", "xyz[0]"),
        ("pitch", "pitchspeed", "xyz[1]"),
        ("yaw", "yawspeed", "xyz[2]"),
    ];
    for (axis, old, new) in axes {
        let measured = velocity.and_then(|series| Some((series, series.column(new)?)));
        // Old logs have the rates in the attitude.
        let measured = measured.or_else(|| {
            attitude.and_then(|series| Some((series, series.column(old)?)))
        });
        let Some(((series, values), setpoints)) = measured.zip(rates) else { continue };
        let Some(setpoint) = setpoints.column(axis) else { continue };
        let measured =
            samples(series, values.iter().map(|v| f64::from(*v).to_degrees()));
        let setpoint =
            samples(setpoints, setpoint.iter().map(|v| f64::from(*v).to_degrees()));
        let flying = |start, last| is_flying(phases, start, last);
        all.extend(
            step_response(&setpoint, &measured, LEAST_RATE, flying)
                .map(|response| StepResponse { controller: "rate", axis, ..response }),
        );
    }
    let Some((attitude, setpoints)) =
        attitude.zip(data.first("vehicle_attitude_setpoint"))
    else {
        return all;
    };
    for (axis, old) in [("roll", "roll_body"), ("pitch", "pitch_body")] {
        let Some(measured) = angles(attitude, "q", axis) else { continue };
        let old = || {
            setpoints.column(old).map(|column| {
                column.iter().map(|v| f64::from(*v).to_degrees()).collect::<Vec<f64>>()
            })
        };
        let is_known = |angles: &Vec<f64>| angles.iter().any(|angle| angle.is_finite());
        let setpoint = angles(setpoints, "q_d", axis).filter(is_known).or_else(old);
        let Some(setpoint) = setpoint else { continue };
        let measured = samples(attitude, measured.into_iter());
        let setpoint = samples(setpoints, setpoint.into_iter());
        let flying = |start, last| is_flying(phases, start, last);
        all.extend(
            step_response(&setpoint, &measured, LEAST_ANGLE, flying).map(|response| {
                StepResponse { controller: "attitude", axis, ..response }
            }),
        );
    }
    all
}

fn is_flying(phases: &Phases, start: i64, last: i64) -> bool {
    phases.airborne.as_ref().is_none_or(|airborne| airborne.contains_all(start, last))
}

/// Returns the roll or the pitch angle of the quaternion `field` in degrees.
fn angles(series: &Series, field: &str, axis: &str) -> Option<Vec<f64>> {
    let of = |at: usize| series.column(&format!("{field}[{at}]"));
    let (w, x, y, z) = (of(0)?, of(1)?, of(2)?, of(3)?);
    let rows = w.iter().zip(x).zip(y).zip(z);
    let angle = |(((w, x), y), z): (((&f32, &f32), &f32), &f32)| {
        let [w, x, y, z] = [w, x, y, z].map(|part| f64::from(*part));
        if axis == "roll" {
            (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)).to_degrees()
        } else {
            (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin().to_degrees()
        }
    };
    Some(rows.map(angle).collect())
}

/// Returns the times and the finite values in the order of time.
fn samples(series: &Series, values: impl Iterator<Item = f64>) -> Vec<(i64, f64)> {
    let all = series.times.iter().copied().zip(values);
    sorted(all.filter(|(_, value)| value.is_finite()).collect())
}

/// Estimates the response of a controller to a step of its setpoint.
///
/// Both signals are times in nanoseconds and values, sorted by time. Windows in which the
/// setpoint, times the window function, stays below `least_input`, and windows for whose first
/// and last time `is_used` is false, are ignored. The controller and the axis of the result are
/// empty. `None` if fewer than ten windows are left.
pub fn step_response(
    setpoint: &[(i64, f64)],
    measured: &[(i64, f64)],
    least_input: f64,
    is_used: impl Fn(i64, i64) -> bool,
) -> Option<StepResponse> {
    let times: Vec<i64> = measured.iter().map(|(time, _)| *time).collect();
    let interval = median_interval(&times)?;
    let step = seconds(interval);
    let rate = 1.0 / step;
    if !(LEAST_SAMPLE_RATE_HZ..=MAX_SAMPLE_RATE_HZ).contains(&rate) {
        return None;
    }
    let (first, last) = (setpoint.first()?.0, setpoint.last()?.0);
    let mut deconvolution = Deconvolution::new(rate);
    let (length, shift) =
        (deconvolution.window.len(), deconvolution.shift(measured.len()));
    let (mut usual, mut high) = (
        ResponseAverage::new(deconvolution.response_length),
        ResponseAverage::new(deconvolution.response_length),
    );
    for segment in segments(measured, interval) {
        let (Some((start, _)), Some((end, _))) = (segment.first(), segment.last())
        else {
            continue;
        };
        // Only times at which both signals are known.
        let (start, end) = ((*start).max(first), (*end).min(last));
        let count = end.saturating_sub(start) / interval;
        let mut at = 0;
        while at + length as i64 <= count + 1 {
            let time = |place: usize| start + (at + place as i64) * interval;
            if is_used(time(0), time(length - 1)) {
                let grid =
                    |signal: &[(i64, f64)]| resample(signal, (0..length).map(time));
                let (input, output) = (grid(setpoint), grid(segment));
                let strength = deconvolution.strength(&input);
                if strength > least_input
                    && let Some(response) = deconvolution.response(input, output)
                {
                    let average =
                        if strength > HIGH_INPUT { &mut high } else { &mut usual };
                    average.add(&response);
                }
            }
            at += shift as i64;
        }
    }
    let response_to_high_input =
        (high.windows >= LEAST_WINDOWS).then(|| high.most_common());
    if usual.windows < LEAST_WINDOWS {
        return None;
    }
    let response = usual.most_common();
    let (mean, deviation) = usual.mean_and_deviation();
    Some(StepResponse {
        controller: "",
        axis: "",
        sample_rate_hz: rate,
        windows: usual.windows,
        time_step_s: step,
        metrics: ResponseMetrics::new(&mean, step),
        response,
        mean,
        deviation,
        response_to_high_input,
    })
}

/// Returns the values at `times`, which are sorted, on the lines between `samples`.
fn resample(samples: &[(i64, f64)], times: impl Iterator<Item = i64>) -> Vec<f64> {
    let mut times = times.peekable();
    let first = times.peek().copied().unwrap_or_default();
    // The samples before the first time, but one, have no effect.
    let start = samples.partition_point(|(time, _)| *time < first).saturating_sub(1);
    let mut rest = samples.get(start..).unwrap_or_default();
    let value = |time: i64| {
        while rest.get(1).is_some_and(|(next, _)| *next < time) {
            rest = rest.get(1..).unwrap_or_default();
        }
        let near = rest.get(..2).unwrap_or(rest);
        interpolate(near, time).unwrap_or(0.0)
    };
    times.map(value).collect()
}

/// Divides samples at gaps, and where times repeat.
fn segments(
    samples: &[(i64, f64)],
    interval: i64,
) -> impl Iterator<Item = &[(i64, f64)]> {
    let longest = interval.saturating_mul(GAP_INTERVALS);
    samples
        .chunk_by(move |(a, _), (b, _)| (1..=longest).contains(&b.saturating_sub(*a)))
}

/// The average of responses, which outliers do not change, in bounded memory.
struct ResponseAverage {
    windows: u32,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// The number of windows by time and value.
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
                let place = (value - LOWEST) / (HIGHEST - LOWEST) * BINS as f64;
                if let Some(count) = counts.get_mut((place as usize).min(BINS - 1)) {
                    *count += 1;
                }
            }
        }
    }

    /// Returns the mean of the smoothed distribution at each time, weighted by its square
    /// (PID-Analyzer, `weighted_mode_avr`).
    fn most_common(&self) -> Vec<f64> {
        let kernel = gaussian_kernel(SMOOTHING_BINS);
        let radius = kernel.len() / 2;
        let position =
            |bin: usize| LOWEST + (HIGHEST - LOWEST) * bin as f64 / (BINS - 1) as f64;
        let at_time = |counts: &[u32]| {
            let mut smooth = vec![0.0; BINS];
            for (bin, count) in
                counts.iter().enumerate().filter(|(_, count)| **count > 0)
            {
                for (place, weight) in kernel.iter().enumerate() {
                    let target = (bin + place).checked_sub(radius);
                    if let Some(sum) = target.and_then(|target| smooth.get_mut(target))
                    {
                        *sum += weight * f64::from(*count);
                    }
                }
            }
            let weights = || smooth.iter().map(|value| value * value);
            let total: f64 = weights().sum();
            let sum: f64 =
                weights().enumerate().map(|(bin, weight)| weight * position(bin)).sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        self.counts.chunks_exact(BINS).map(at_time).collect()
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
        let timed = || {
            response.iter().enumerate().map(|(at, value)| (at as f64 * step_s, *value))
        };
        let settled = timed().filter(|(time, _)| *time >= SETTLED_FROM * last);
        let (sum, count) = settled
            .fold((0.0, 0_u32), |(sum, count), (_, value)| (sum + value, count + 1));
        let final_value = if count > 0 { sum / f64::from(count) } else { 0.0 };
        // Without a response, times have no meaning (Flight Review).
        if final_value <= 0.1 {
            return Self { final_value, ..Self::default() };
        }
        let reaches = |share: f64| {
            timed()
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
