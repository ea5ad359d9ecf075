//! Detectors and estimators.

use crate::functions::{
    Function, Group, Kernel, Kind, Output, Table, UnitRule,
    filters::low_pass,
    optional, parameter,
    positions::{position, project},
    rotations::rotate,
    seconds_between,
};

pub(super) const LAND_DETECTOR: Function = Function {
    name: "land_detector",
    group: Group::Models,
    parameters: &[
        parameter("altitude", Kind::Scalar),
        parameter("thrust", Kind::Scalar),
        optional("altitude_threshold", 0.3),
        optional("thrust_threshold", 0.25),
        optional("seconds", 1.0),
        optional("cutoff", 20.0),
    ],
    summary: "1 on the ground and 0 in the air. The altitude passes low_pass with the `cutoff`; \
              its mean follows it with the time constant `seconds`. It is in the air when the \
              difference of both and the thrust are above their thresholds, and on the ground \
              when both are below for `seconds`",
    source: "after FlightPlot's LandDetector",
    is_variadic: false,
    output: Output::Components(&[("", UnitRule::State)]),
    kernel: Kernel::Table(land_detector),
};

fn land_detector(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let [altitude_threshold, thrust_threshold, seconds, cutoff] =
        [0, 1, 2, 3].map(|index| table.number(index));
    if !(seconds > 0.0 && cutoff > 0.0) {
        return Err("`seconds` and `cutoff` must be positive".to_owned());
    }
    let raw = table.columns.first().map_or(&[][..], |values| values);
    let altitudes = low_pass(table.times, raw, cutoff)?;
    let mut mean = f64::NAN;
    let mut is_landed = true;
    let mut calm_since: Option<i64> = None;
    let mut last_time: Option<i64> = None;
    let mut states = Vec::with_capacity(table.times.len());
    for (row, (time, altitude)) in table.times.iter().zip(&altitudes).enumerate() {
        if altitude.is_finite() {
            if mean.is_nan() {
                mean = *altitude;
            }
            let elapsed =
                last_time.map_or(0.0, |last_time| seconds_between(last_time, *time));
            mean += (altitude - mean) * (elapsed / seconds).min(1.0);
            last_time = Some(*time);
            let difference = (altitude - mean).abs();
            let thrust = table.value(1, row);
            if is_landed {
                is_landed =
                    !(difference > altitude_threshold && thrust > thrust_threshold);
            } else if difference < altitude_threshold && thrust < thrust_threshold {
                let start = *calm_since.get_or_insert(*time);
                is_landed = seconds_between(start, *time) > seconds;
            } else {
                calm_since = None;
            }
            if is_landed {
                calm_since = None;
            }
        }
        states.push(f64::from(u8::from(is_landed)));
    }
    Ok(vec![states])
}

pub(super) const BATTERY_REMAINING: Function = Function {
    name: "battery_remaining",
    group: Group::Models,
    parameters: &[
        parameter("voltage", Kind::Scalar),
        parameter("current", Kind::Scalar),
        optional("cells", 3.0),
        optional("resistance", 0.03),
        optional("empty", 3.7),
        optional("full", 4.0),
        optional("cutoff", 1.0),
    ],
    summary: "the charge of a battery in %, from its voltage without load: v = \
              low_pass(`voltage` + `resistance` · max(`current`, 0), `cutoff`), and 100 · \
              clamp((v / `cells` - `empty`) / (`full` - `empty`), 0, 1)",
    source: "after FlightPlot's Battery",
    is_variadic: false,
    output: Output::Components(&[("", UnitRule::Known("%"))]),
    kernel: Kernel::Table(battery_remaining),
};

fn battery_remaining(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let [cells, resistance, empty, full, cutoff] =
        [0, 1, 2, 3, 4].map(|index| table.number(index));
    if !(cutoff > 0.0 && full > empty && cells > 0.0) {
        let message = "`cutoff` and `cells` must be positive, and `full` above `empty`";
        return Err(message.to_owned());
    }
    let rows = 0..table.times.len();
    let unloaded: Vec<f64> = rows
        .map(|row| table.value(0, row) + resistance * table.value(1, row).max(0.0))
        .collect();
    let filtered = low_pass(table.times, &unloaded, cutoff)?;
    let charge = |voltage: &f64| {
        100.0 * ((voltage / cells - empty) / (full - empty)).clamp(0.0, 1.0)
    };
    Ok(vec![filtered.iter().map(charge).collect()])
}

pub(super) const POSITION_ESTIMATE: Function = Function {
    name: "position_estimate",
    group: Group::Models,
    parameters: &[
        parameter("acceleration", Kind::Vector3),
        parameter("q", Kind::Quaternion),
        parameter("lat", Kind::Degrees),
        parameter("lon", Kind::Degrees),
        parameter("velocity_north", Kind::Scalar),
        parameter("velocity_east", Kind::Scalar),
        optional("position_weight", 3.0),
        optional("velocity_weight", 3.0),
        optional("acceleration_weight", 10.0),
    ],
    summary: "the position and the velocity to the north and to the east, in metres from the \
              first position, at the times of the acceleration in the body frame: predicted with \
              p += v dt + a dt² / 2 and v += a dt, and corrected by the errors to the last GPS \
              values with the weights w: p += w e dt, v += w² e dt, a += w³ e dt / 3 for the \
              position, v += w e dt, a += w² e dt for the velocity, a += w e dt for the \
              acceleration",
    source: "after FlightPlot's PositionEstimator, without optical flow",
    is_variadic: false,
    output: POSITION_OUTPUTS,
    kernel: Kernel::Table(position_estimate),
};

/// The position and the velocity of an estimator.
pub(super) const POSITION_OUTPUTS: Output = Output::Components(&[
    ("north", UnitRule::Known("m")),
    ("east", UnitRule::Known("m")),
    ("velocity_north", UnitRule::Known("m/s")),
    ("velocity_east", UnitRule::Known("m/s")),
]);

/// A position, a velocity and an acceleration along one axis.
#[derive(Clone, Copy, Default)]
struct AxisState {
    position: f64,
    velocity: f64,
    acceleration: f64,
}

impl AxisState {
    fn predict(&mut self, seconds: f64) {
        self.position +=
            self.velocity * seconds + self.acceleration * seconds * seconds / 2.0;
        self.velocity += self.acceleration * seconds;
    }

    fn correct_position(&mut self, measured: f64, weight: f64, seconds: f64) {
        let step = weight * (measured - self.position) * seconds;
        self.position += step;
        self.velocity += weight * step;
        self.acceleration += weight * weight * step / 3.0;
    }

    fn correct_velocity(&mut self, measured: f64, weight: f64, seconds: f64) {
        let step = weight * (measured - self.velocity) * seconds;
        self.velocity += step;
        self.acceleration += weight * step;
    }

    fn correct_acceleration(&mut self, measured: f64, weight: f64, seconds: f64) {
        self.acceleration += weight * (measured - self.acceleration) * seconds;
    }
}

fn position_estimate(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let weights = [0, 1, 2].map(|index| table.number(index));
    let mut axes = [AxisState::default(); 2];
    Ok(follow_measurements(table, |measurements, seconds, _| {
        for (axis, measured) in axes.iter_mut().zip(measurements) {
            axis.predict(seconds);
            axis.correct_position(measured.position, weights[0], seconds);
            axis.correct_velocity(measured.velocity, weights[1], seconds);
            axis.correct_acceleration(measured.acceleration, weights[2], seconds);
        }
        axes.map(|axis| (axis.position, axis.velocity))
    }))
}

/// The measurements along one axis of the world.
#[derive(Clone, Copy)]
pub(super) struct Measurement {
    pub(super) acceleration: f64,
    /// The distance from the first position in metres.
    pub(super) position: f64,
    pub(super) velocity: f64,
}

/// Runs an estimator over the rows of `table`, whose columns are the parameters of
/// `position_estimate`.
///
/// For each row with all measurements, `estimate` is called with the measurements to the north and
/// to the east, with the seconds since the last such row, and with whether the position or the
/// velocity has changed since then. It returns the position and the velocity along both axes. The
/// result contains the positions and velocities in the order of [`POSITION_OUTPUTS`]. They are NaN
/// in rows without all measurements.
pub(super) fn follow_measurements(
    table: &Table<'_>,
    mut estimate: impl FnMut([Measurement; 2], f64, bool) -> [(f64, f64); 2],
) -> Vec<Vec<f64>> {
    let mut outputs: [Vec<f64>; 4] = Default::default();
    let mut reference = None;
    let mut last_time: Option<i64> = None;
    let mut last_values = None;
    for (row, time) in table.times.iter().enumerate() {
        let values = |columns: std::ops::Range<usize>| -> Vec<f64> {
            columns.map(|column| table.value(column, row)).collect()
        };
        let [north, east, _] = rotate(&values(3..7), &values(0..3));
        let position = position(table, (7, 8), row);
        let velocities = [table.value(9, row), table.value(10, row)];
        let valid_position = position.filter(|_| {
            north.is_finite()
                && east.is_finite()
                && velocities.iter().all(|velocity| velocity.is_finite())
        });
        let Some(position) = valid_position else {
            outputs.iter_mut().for_each(|output| output.push(f64::NAN));
            continue;
        };
        let projected = project(*reference.get_or_insert(position), position);
        let seconds =
            last_time.map_or(0.0, |last_time| seconds_between(last_time, *time));
        last_time = Some(*time);
        let is_new =
            last_values.replace((position, velocities)) != Some((position, velocities));
        let [north, east] = estimate(
            [
                Measurement {
                    acceleration: north,
                    position: projected.0,
                    velocity: velocities[0],
                },
                Measurement {
                    acceleration: east,
                    position: projected.1,
                    velocity: velocities[1],
                },
            ],
            seconds,
            is_new,
        );
        let state = [north.0, east.0, north.1, east.1];
        outputs.iter_mut().zip(state).for_each(|(output, value)| output.push(value));
    }
    outputs.into()
}
