//! The plots of a flight of PX4: those of its Flight Review that need no analysis.

use std::sync::Arc;

use anyhow::Result;
use logtool_core::{Log, TimeRange};
use logtool_plot::{Band, Block, Chart, Line, Panel, TimeAxis};

use crate::{
    commands::report::Seen,
    signals::{self, Wanted},
};

/// How many columns of time a plot has.
const COLUMNS: usize = 450;

/// A line: its name, the topic, the columns it is made of, and how.
type Recipe = (&'static str, &'static str, &'static [&'static str], Way);

/// How a number is made of columns.
#[derive(Clone, Copy)]
enum Way {
    Same,
    Degrees,
    Negative,
    Roll,
    Pitch,
    Yaw,
    Norm,
    Percent,
    Thousandth,
}

use Way::{Degrees, Negative, Norm, Percent, Pitch, Roll, Same, Thousandth, Yaw};

const Q: &[&str] = &["q[0]", "q[1]", "q[2]", "q[3]"];
const Q_D: &[&str] = &["q_d[0]", "q_d[1]", "q_d[2]", "q_d[3]"];
const MAG: &[&str] =
    &["magnetometer_ga[0]", "magnetometer_ga[1]", "magnetometer_ga[2]"];
const THRUST: &[&str] = &["xyz[0]", "xyz[1]", "xyz[2]"];

/// The plots: title, unit, lines. Of lines of one name, the first that is in the log.
const PLOTS: &[(&str, &str, &[Recipe])] = &[
    (
        "Altitude",
        "m",
        &[
            ("fused", "vehicle_global_position", &["alt"], Same),
            ("GPS", "vehicle_gps_position", &["altitude_msl_m"], Same),
            ("GPS", "vehicle_gps_position", &["alt"], Thousandth),
            ("barometer", "vehicle_air_data", &["baro_alt_meter"], Same),
            ("barometer", "sensor_combined", &["baro_alt_meter"], Same),
        ],
    ),
    (
        "Roll angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Roll),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Roll),
            ("setpoint", "vehicle_attitude_setpoint", &["roll_body"], Degrees),
        ],
    ),
    (
        "Pitch angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Pitch),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Pitch),
            ("setpoint", "vehicle_attitude_setpoint", &["pitch_body"], Degrees),
        ],
    ),
    (
        "Yaw angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Yaw),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Yaw),
            ("setpoint", "vehicle_attitude_setpoint", &["yaw_body"], Degrees),
        ],
    ),
    (
        "Roll rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[0]"], Degrees),
            ("estimated", "vehicle_attitude", &["rollspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["roll"], Degrees),
        ],
    ),
    (
        "Pitch rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[1]"], Degrees),
            ("estimated", "vehicle_attitude", &["pitchspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["pitch"], Degrees),
        ],
    ),
    (
        "Yaw rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[2]"], Degrees),
            ("estimated", "vehicle_attitude", &["yawspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["yaw"], Degrees),
        ],
    ),
    (
        "Local position",
        "m",
        &[
            ("x (north)", "vehicle_local_position", &["x"], Same),
            ("y (east)", "vehicle_local_position", &["y"], Same),
            ("z (down)", "vehicle_local_position", &["z"], Same),
            ("x setpoint", "vehicle_local_position_setpoint", &["x"], Same),
            ("y setpoint", "vehicle_local_position_setpoint", &["y"], Same),
            ("z setpoint", "vehicle_local_position_setpoint", &["z"], Same),
        ],
    ),
    (
        "Velocity",
        "m/s",
        &[
            ("north", "vehicle_local_position", &["vx"], Same),
            ("east", "vehicle_local_position", &["vy"], Same),
            ("down", "vehicle_local_position", &["vz"], Same),
            ("north setpoint", "vehicle_local_position_setpoint", &["vx"], Same),
            ("east setpoint", "vehicle_local_position_setpoint", &["vy"], Same),
            ("down setpoint", "vehicle_local_position_setpoint", &["vz"], Same),
        ],
    ),
    (
        "Manual control",
        "",
        &[
            ("roll", "manual_control_setpoint", &["roll"], Same),
            ("roll", "manual_control_setpoint", &["y"], Same),
            ("pitch", "manual_control_setpoint", &["pitch"], Same),
            ("pitch", "manual_control_setpoint", &["x"], Same),
            ("yaw", "manual_control_setpoint", &["yaw"], Same),
            ("yaw", "manual_control_setpoint", &["r"], Same),
            ("throttle", "manual_control_setpoint", &["throttle"], Same),
            ("throttle", "manual_control_setpoint", &["z"], Same),
        ],
    ),
    (
        "Actuator controls",
        "",
        &[
            ("roll", "vehicle_torque_setpoint", &["xyz[0]"], Same),
            ("roll", "actuator_controls_0", &["control[0]"], Same),
            ("pitch", "vehicle_torque_setpoint", &["xyz[1]"], Same),
            ("pitch", "actuator_controls_0", &["control[1]"], Same),
            ("yaw", "vehicle_torque_setpoint", &["xyz[2]"], Same),
            ("yaw", "actuator_controls_0", &["control[2]"], Same),
            ("thrust (up)", "vehicle_thrust_setpoint", &["xyz[2]"], Negative),
            ("thrust", "actuator_controls_0", &["control[3]"], Same),
        ],
    ),
    (
        "Actuator outputs",
        "",
        &[
            ("motor 0", "actuator_motors", &["control[0]"], Same),
            ("motor 1", "actuator_motors", &["control[1]"], Same),
            ("motor 2", "actuator_motors", &["control[2]"], Same),
            ("motor 3", "actuator_motors", &["control[3]"], Same),
            ("motor 4", "actuator_motors", &["control[4]"], Same),
            ("motor 5", "actuator_motors", &["control[5]"], Same),
        ],
    ),
    (
        "Actuator outputs (raw)",
        "",
        &[
            ("output 0", "actuator_outputs", &["output[0]"], Same),
            ("output 1", "actuator_outputs", &["output[1]"], Same),
            ("output 2", "actuator_outputs", &["output[2]"], Same),
            ("output 3", "actuator_outputs", &["output[3]"], Same),
            ("output 4", "actuator_outputs", &["output[4]"], Same),
            ("output 5", "actuator_outputs", &["output[5]"], Same),
            ("output 6", "actuator_outputs", &["output[6]"], Same),
            ("output 7", "actuator_outputs", &["output[7]"], Same),
        ],
    ),
    (
        "Raw acceleration",
        "m/s²",
        &[
            ("x", "sensor_combined", &["accelerometer_m_s2[0]"], Same),
            ("y", "sensor_combined", &["accelerometer_m_s2[1]"], Same),
            ("z", "sensor_combined", &["accelerometer_m_s2[2]"], Same),
        ],
    ),
    (
        "Raw angular speed",
        "°/s",
        &[
            ("x", "sensor_combined", &["gyro_rad[0]"], Degrees),
            ("y", "sensor_combined", &["gyro_rad[1]"], Degrees),
            ("z", "sensor_combined", &["gyro_rad[2]"], Degrees),
        ],
    ),
    (
        "Vibration",
        "",
        &[
            ("accel 0 (m/s²)", "vehicle_imu_status", &["accel_vibration_metric"], Same),
            (
                "accel 1 (m/s²)",
                "vehicle_imu_status.1",
                &["accel_vibration_metric"],
                Same,
            ),
            (
                "accel 2 (m/s²)",
                "vehicle_imu_status.2",
                &["accel_vibration_metric"],
                Same,
            ),
            ("coning", "estimator_status", &["vibe[0]"], Same),
            ("high-frequency angle", "estimator_status", &["vibe[1]"], Same),
            ("high-frequency velocity", "estimator_status", &["vibe[2]"], Same),
        ],
    ),
    (
        "Raw magnetic field",
        "G",
        &[
            ("x", "vehicle_magnetometer", &["magnetometer_ga[0]"], Same),
            ("x", "sensor_combined", &["magnetometer_ga[0]"], Same),
            ("y", "vehicle_magnetometer", &["magnetometer_ga[1]"], Same),
            ("y", "sensor_combined", &["magnetometer_ga[1]"], Same),
            ("z", "vehicle_magnetometer", &["magnetometer_ga[2]"], Same),
            ("z", "sensor_combined", &["magnetometer_ga[2]"], Same),
        ],
    ),
    (
        "Thrust and magnetic field",
        "",
        &[
            ("thrust", "vehicle_thrust_setpoint", THRUST, Norm),
            ("thrust", "actuator_controls_0", &["control[3]"], Same),
            ("magnetic field (G)", "vehicle_magnetometer", MAG, Norm),
            ("magnetic field (G)", "sensor_combined", MAG, Norm),
        ],
    ),
    (
        "GPS uncertainty",
        "",
        &[
            ("horizontal (m)", "vehicle_gps_position", &["eph"], Same),
            ("vertical (m)", "vehicle_gps_position", &["epv"], Same),
            ("satellites", "vehicle_gps_position", &["satellites_used"], Same),
            ("fix", "vehicle_gps_position", &["fix_type"], Same),
        ],
    ),
    (
        "GPS noise and jamming",
        "",
        &[
            ("noise per ms", "vehicle_gps_position", &["noise_per_ms"], Same),
            ("jamming indicator", "vehicle_gps_position", &["jamming_indicator"], Same),
            ("noise per ms", "sensor_gps", &["noise_per_ms"], Same),
            ("jamming indicator", "sensor_gps", &["jamming_indicator"], Same),
        ],
    ),
    (
        "Battery",
        "",
        &[
            ("voltage (V)", "battery_status", &["voltage_v"], Same),
            ("current (A)", "battery_status", &["current_a"], Same),
            ("voltage of battery 1 (V)", "battery_status.1", &["voltage_v"], Same),
            ("current of battery 1 (A)", "battery_status.1", &["current_a"], Same),
        ],
    ),
    (
        "Battery charge",
        "%",
        &[
            ("remaining", "battery_status", &["remaining"], Percent),
            ("remaining of battery 1", "battery_status.1", &["remaining"], Percent),
        ],
    ),
    (
        "CPU and RAM",
        "%",
        &[
            ("CPU", "cpuload", &["load"], Percent),
            ("RAM", "cpuload", &["ram_usage"], Percent),
        ],
    ),
];

/// The plots of `log`, if it is one of PX4, with its flight modes behind.
pub(super) fn of_px4(
    log: &dyn Log,
    time: TimeRange,
    bands: &[Band],
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    if log.manifest().format != "ulog" {
        return Ok(Vec::new());
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut plots = Vec::new();
    for (title, unit, recipes) in PLOTS {
        let first = wanted.len();
        for recipe in *recipes {
            let is_there = |w: &Wanted| w.name == recipe.0;
            if wanted.get(first..).is_some_and(|own| own.iter().any(is_there)) {
                continue;
            }
            wanted.extend(made(log, recipe));
        }
        if wanted.len() > first {
            plots.push((*title, *unit, first..wanted.len()));
        }
    }
    let read = signals::read(log, &wanted, time, COLUMNS, &|_| {})?;
    seen.damage.extend(read.damage);
    let mut blocks = Vec::new();
    for (title, unit, range) in plots {
        let own = wanted.iter().zip(&read.signals).skip(range.start).take(range.len());
        let lines =
            own.filter(|(_, signal)| signal.values > 0).map(|(wanted, signal)| {
                let (name, is_held) = (wanted.name.clone(), wanted.is_held);
                Line { name, signal: signal.clone(), is_held }
            });
        let lines: Vec<Line> = lines.collect();
        if lines.is_empty() {
            continue;
        }
        let chart = Chart {
            panels: vec![Panel { unit: unit.to_owned(), lines }],
            bands: bands.to_vec(),
            time: axis(time),
            ..Chart::default()
        };
        blocks.push(Block::Plot(title.to_owned(), chart));
    }
    Ok(blocks)
}

/// Seconds since the log begins, all of them.
fn axis(time: TimeRange) -> TimeAxis {
    let (start, end) = (time.start.as_nanos(), time.end.as_nanos());
    TimeAxis {
        zero: start,
        name: "s".to_owned(),
        range: Some((start, end.saturating_sub(1))),
        ..TimeAxis::default()
    }
}

/// The line that `recipe` makes, if the log has what it takes.
fn made(log: &dyn Log, (name, topic, columns, way): &Recipe) -> Option<Wanted> {
    let mut made: Option<Wanted> = None;
    for column in *columns {
        let found = signals::of_topic(log, topic, column)?;
        match &mut made {
            Some(made) => made.inputs.extend(found.inputs),
            none => *none = Some(found),
        }
    }
    let mut made = made?;
    made.name = (*name).to_owned();
    let way = *way;
    made.of = Arc::new(move |numbers| way.of(numbers));
    Some(made)
}

impl Way {
    fn of(self, numbers: &[f64]) -> f64 {
        let first = numbers.first().copied().unwrap_or(f64::NAN);
        match (self, numbers) {
            (Self::Degrees, _) => first.to_degrees(),
            (Self::Negative, _) => -first,
            (Self::Percent, _) => first * 100.0,
            (Self::Thousandth, _) => first / 1000.0,
            (Self::Norm, _) => {
                numbers.iter().map(|part| part * part).sum::<f64>().sqrt()
            }
            // Tait-Bryan angles, z-y'-x'', of the quaternion w, x, y, z.
            (Self::Roll, [w, x, y, z]) => {
                (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)).to_degrees()
            }
            (Self::Pitch, [w, x, y, z]) => {
                (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin().to_degrees()
            }
            (Self::Yaw, [w, x, y, z]) => {
                (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z)).to_degrees()
            }
            _ => first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quaternions_are_turned_into_angles() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // A quarter turn around each axis.
        assert!(close(Roll.of(&[half, half, 0.0, 0.0]), 90.0));
        assert!(close(Yaw.of(&[half, 0.0, 0.0, half]), 90.0));
        assert!(close(
            Pitch.of(&[0.5_f64.cos(), 0.0, 0.5_f64.sin(), 0.0]),
            1_f64.to_degrees()
        ));
        assert_eq!(Norm.of(&[3.0, 4.0]), 5.0);
    }
}
