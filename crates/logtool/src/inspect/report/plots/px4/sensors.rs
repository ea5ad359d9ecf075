//! Inertial sensors, magnetometers, distance sensors and receivers of satellites.

use crate::inspect::report::plots::{
    px4::{Px4Plot, ValueLevel},
    transform::Transform::{Degrees, Norm, Same},
};

const MAG: &[&str] =
    &["magnetometer_ga[0]", "magnetometer_ga[1]", "magnetometer_ga[2]"];
const THRUST: &[&str] = &["xyz[0]", "xyz[1]", "xyz[2]"];
const STATUS: &str = "estimator_status";

const VIBRATION: &[&str] = &["accel_vibration_metric"];
/// The levels of Flight Review: half and all of the standard gravity.
const VIBRATION_LEVELS: &[ValueLevel] = &levels(4.905, 9.81);
/// The levels of Flight Review for releases without `vehicle_imu_status`.
const ESTIMATOR_VIBRATION_LEVELS: &[ValueLevel] = &levels(0.02, 0.04);

/// Returns the levels of a vibration that is high from `high` on, and too high from `too_high` on.
const fn levels(high: f64, too_high: f64) -> [ValueLevel; 3] {
    [
        ValueLevel("low", f64::NEG_INFINITY, high, [0x00, 0x80, 0x00]),
        ValueLevel("high", high, too_high, [0xff, 0xa5, 0x00]),
        ValueLevel("too high", too_high, f64::INFINITY, [0xff, 0x00, 0x00]),
    ]
}

/// The plots.
pub(super) const PLOTS: &[Px4Plot] = &[
    Px4Plot::new(
        "Raw acceleration",
        "m/s²",
        &[
            ("x", "sensor_combined", &["accelerometer_m_s2[0]"], Same),
            ("y", "sensor_combined", &["accelerometer_m_s2[1]"], Same),
            ("z", "sensor_combined", &["accelerometer_m_s2[2]"], Same),
        ],
    ),
    Px4Plot::new(
        "Raw angular speed",
        "°/s",
        &[
            ("x", "sensor_combined", &["gyro_rad[0]"], Degrees),
            ("y", "sensor_combined", &["gyro_rad[1]"], Degrees),
            ("z", "sensor_combined", &["gyro_rad[2]"], Degrees),
        ],
    ),
    Px4Plot::new(
        "Vibration",
        "m/s²",
        &[
            ("accel 0", "vehicle_imu_status", VIBRATION, Same),
            ("accel 1", "vehicle_imu_status.1", VIBRATION, Same),
            ("accel 2", "vehicle_imu_status.2", VIBRATION, Same),
            ("accel 3", "vehicle_imu_status.3", VIBRATION, Same),
        ],
    )
    .with_levels(VIBRATION_LEVELS)
    .with_former_unit("m/s"),
    Px4Plot::new(
        "Vibration, by the estimator",
        "m/s",
        &[("high-frequency velocity", STATUS, &["vibe[2]"], Same)],
    )
    .with_levels(ESTIMATOR_VIBRATION_LEVELS),
    Px4Plot::new(
        "Coning, by the estimator",
        "rad",
        &[
            ("coning", STATUS, &["vibe[0]"], Same),
            ("high-frequency angle", STATUS, &["vibe[1]"], Same),
        ],
    ),
    Px4Plot::new(
        "Clipping",
        "samples",
        &[
            ("accel 0, x", "vehicle_imu_status", &["accel_clipping[0]"], Same),
            ("accel 0, y", "vehicle_imu_status", &["accel_clipping[1]"], Same),
            ("accel 0, z", "vehicle_imu_status", &["accel_clipping[2]"], Same),
            ("accel 1, x", "vehicle_imu_status.1", &["accel_clipping[0]"], Same),
            ("accel 1, y", "vehicle_imu_status.1", &["accel_clipping[1]"], Same),
            ("accel 1, z", "vehicle_imu_status.1", &["accel_clipping[2]"], Same),
        ],
    )
    .without_zero_lines(),
    Px4Plot::new(
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
    Px4Plot::new(
        "Distance sensor",
        "",
        &[
            ("distance (m)", "distance_sensor", &["current_distance"], Same),
            ("variance (m²)", "distance_sensor", &["variance"], Same),
            ("variance (m²)", "distance_sensor", &["covariance"], Same),
            ("distance 1 (m)", "distance_sensor.1", &["current_distance"], Same),
            ("distance 2 (m)", "distance_sensor.2", &["current_distance"], Same),
        ],
    ),
    // A receiver without a fix reports uncertainties of kilometres, which would hide those of a
    // good fix. Flight Review has the same limits.
    Px4Plot::new(
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
    )
    .with_limits(0.0, 40.0),
    Px4Plot::new(
        "GPS fix",
        "",
        &[
            ("fix", "vehicle_gps_position", &["fix_type"], Same),
            ("fix", "sensor_gps", &["fix_type"], Same),
        ],
    ),
    Px4Plot::new(
        "GPS jamming state",
        "",
        &[
            ("jamming", "vehicle_gps_position", &["jamming_state"], Same),
            ("jamming", "sensor_gps", &["jamming_state"], Same),
        ],
    )
    .without_zero_lines(),
    Px4Plot::new(
        "GPS spoofing state",
        "",
        &[
            ("spoofing", "vehicle_gps_position", &["spoofing_state"], Same),
            ("spoofing", "sensor_gps", &["spoofing_state"], Same),
        ],
    )
    .without_zero_lines(),
    Px4Plot::new(
        "GPS noise and jamming",
        "",
        &[
            ("noise per ms", "vehicle_gps_position", &["noise_per_ms"], Same),
            ("jamming indicator", "vehicle_gps_position", &["jamming_indicator"], Same),
            ("noise per ms", "sensor_gps", &["noise_per_ms"], Same),
            ("jamming indicator", "sensor_gps", &["jamming_indicator"], Same),
        ],
    ),
    Px4Plot::new(
        "Thrust and magnetic field",
        "",
        &[
            ("thrust", "vehicle_thrust_setpoint", THRUST, Norm),
            ("thrust", "actuator_controls_0", &["control[3]"], Same),
            ("thrust of fixed-wing flight", "vehicle_thrust_setpoint.1", THRUST, Norm),
            (
                "thrust of fixed-wing flight",
                "actuator_controls_1",
                &["control[3]"],
                Same,
            ),
            ("magnetic field (G)", "vehicle_magnetometer", MAG, Norm),
            ("magnetic field (G)", "sensor_combined", MAG, Norm),
        ],
    ),
    // Innovations that are larger than their test allows have a ratio above 1.
    Px4Plot::new(
        "Estimator test ratios",
        "",
        &[
            ("velocity", STATUS, &["vel_test_ratio"], Same),
            ("position", STATUS, &["pos_test_ratio"], Same),
            ("height", STATUS, &["hgt_test_ratio"], Same),
            ("heading", STATUS, &["hdg_test_ratio"], Same),
            ("magnetic field", STATUS, &["mag_test_ratio"], Same),
            ("airspeed", STATUS, &["tas_test_ratio"], Same),
            ("height above ground", STATUS, &["hagl_test_ratio"], Same),
        ],
    ),
];
