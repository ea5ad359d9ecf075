//! The plots of logs of PX4.

use crate::inspect::report::plots::transform::Transform::{
    self, Degrees, Negative, Norm, Percent, Pitch, Roll, Same, Thousandth, Yaw,
};

/// A line: its name, its topic, the columns that it is computed from, and how.
pub(super) type Px4Line =
    (&'static str, &'static str, &'static [&'static str], Transform);

/// A plot: its title, its unit, and its lines.
pub(super) type Px4Plot = (&'static str, &'static str, &'static [Px4Line]);

/// The altitude of a GPS receiver is valid only with a three-dimensional fix (uORB,
/// `SensorGps.msg`: `fix_type` 3 and more). Until then, firmware reports about 0 m.
const FIX_M: Transform = Transform::Where { least: 3.0, factor: 1.0 };
const FIX_MM: Transform = Transform::Where { least: 3.0, factor: 1e-3 };

const Q: &[&str] = &["q[0]", "q[1]", "q[2]", "q[3]"];
const Q_D: &[&str] = &["q_d[0]", "q_d[1]", "q_d[2]", "q_d[3]"];
const MAG: &[&str] =
    &["magnetometer_ga[0]", "magnetometer_ga[1]", "magnetometer_ga[2]"];
const THRUST: &[&str] = &["xyz[0]", "xyz[1]", "xyz[2]"];

/// Returns the fixed limits of the value axis of the plot called `title`, if it has any.
///
/// A receiver without a fix reports uncertainties of kilometres, which would hide those of a
/// good fix. Flight Review has the same limits (`configured_plots.py`, "GPS Uncertainty").
pub(super) fn limits(title: &str) -> Option<(f64, f64)> {
    (title == "GPS uncertainty").then_some((0.0, 40.0))
}

/// The plots. Of several lines of the same name, the first that the log has is shown.
pub(super) const PLOTS: &[Px4Plot] = &[
    (
        "Altitude",
        "m",
        &[
            ("fused", "vehicle_global_position", &["alt"], Same),
            ("GPS", "vehicle_gps_position", &["altitude_msl_m", "fix_type"], FIX_M),
            ("GPS", "vehicle_gps_position", &["alt", "fix_type"], FIX_MM),
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
            ("speed (m/s)", "vehicle_gps_position", &["s_variance_m_s"], Same),
            ("HDOP", "vehicle_gps_position", &["hdop"], Same),
            ("VDOP", "vehicle_gps_position", &["vdop"], Same),
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
