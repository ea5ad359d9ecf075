//! Power, temperatures, links, load and the regularity of sampling.

use crate::inspect::report::plots::{
    px4::Px4Plot,
    transform::Transform::{self, Bit, Interval, Percent, Same, Times},
};

const STATUS: &str = "estimator_status";
const CHECKS: &[&str] = &["innovation_check_flags"];

/// A quality that is unknown is -1 (uORB, `InputRc.msg`).
const KNOWN: Transform = Transform::Where { min: 0.0, factor: 1.0 };

/// The plots.
pub(super) const PLOTS: &[Px4Plot] = &[
    Px4Plot::new(
        "Battery",
        "",
        &[
            ("voltage (V)", "battery_status", &["voltage_v"], Same),
            ("filtered voltage (V)", "battery_status", &["voltage_filtered_v"], Same),
            ("current (A)", "battery_status", &["current_a"], Same),
            (
                "discharged (100 mAh)",
                "battery_status",
                &["discharged_mah"],
                Times(0.01),
            ),
            ("voltage of battery 1 (V)", "battery_status.1", &["voltage_v"], Same),
            ("current of battery 1 (A)", "battery_status.1", &["current_a"], Same),
        ],
    ),
    Px4Plot::new(
        "Battery charge",
        "%",
        &[
            ("remaining", "battery_status", &["remaining"], Percent),
            ("remaining of battery 1", "battery_status.1", &["remaining"], Percent),
        ],
    ),
    Px4Plot::new(
        "Power rails",
        "V",
        &[
            ("5 V", "system_power", &["voltage5v_v"], Same),
            ("5 V", "system_power", &["voltage5V_v"], Same),
            ("3.3 V", "system_power", &["sensors3v3[0]"], Same),
            ("3.3 V", "system_power", &["voltage3v3_v"], Same),
            ("3.3 V", "system_power", &["voltage3V3_v"], Same),
        ],
    )
    .without_zero_lines(),
    Px4Plot::new(
        "Temperature",
        "°C",
        &[
            ("barometer", "sensor_baro", &["temperature"], Same),
            ("barometer", "vehicle_air_data", &["baro_temp_celcius"], Same),
            ("ambient", "vehicle_air_data", &["ambient_temperature"], Same),
            ("accel 0", "sensor_accel", &["temperature"], Same),
            ("accel 0", "vehicle_imu_status", &["temperature_accel"], Same),
            ("accel 1", "sensor_accel.1", &["temperature"], Same),
            ("accel 2", "sensor_accel.2", &["temperature"], Same),
            ("airspeed sensor", "airspeed", &["air_temperature_celsius"], Same),
            ("airspeed sensor", "differential_pressure", &["temperature"], Same),
            ("battery", "battery_status", &["temperature"], Same),
        ],
    )
    .without_zero_lines(),
    // Older releases have bits; newer ones have a topic of flags, whose plot follows.
    Px4Plot::new(
        "Estimator checks",
        "",
        &[
            ("velocity rejected", STATUS, CHECKS, Bit(0)),
            ("horizontal position rejected", STATUS, CHECKS, Bit(1)),
            ("vertical position rejected", STATUS, CHECKS, Bit(2)),
            ("magnetic field x rejected", STATUS, CHECKS, Bit(3)),
            ("magnetic field y rejected", STATUS, CHECKS, Bit(4)),
            ("magnetic field z rejected", STATUS, CHECKS, Bit(5)),
            ("yaw rejected", STATUS, CHECKS, Bit(6)),
            ("airspeed rejected", STATUS, CHECKS, Bit(7)),
            ("sideslip rejected", STATUS, CHECKS, Bit(8)),
            ("height above ground rejected", STATUS, CHECKS, Bit(9)),
            ("optical flow x rejected", STATUS, CHECKS, Bit(10)),
            ("optical flow y rejected", STATUS, CHECKS, Bit(11)),
            ("velocity unhealthy", STATUS, &["health_flags"], Bit(0)),
            ("position unhealthy", STATUS, &["health_flags"], Bit(1)),
            ("height unhealthy", STATUS, &["health_flags"], Bit(2)),
            ("velocity timeout", STATUS, &["timeout_flags"], Bit(0)),
            ("position timeout", STATUS, &["timeout_flags"], Bit(1)),
            ("height timeout", STATUS, &["timeout_flags"], Bit(2)),
        ],
    )
    .as_flags()
    .unless_superseded_by("estimator_status_flags"),
    Px4Plot::new(
        "RC quality",
        "%",
        &[
            ("signal strength (RSSI)", "input_rc", &["rssi", "rssi"], KNOWN),
            ("link quality", "input_rc", &["link_quality", "link_quality"], KNOWN),
            ("RC lost, by the receiver", "input_rc", &["rc_lost"], Percent),
            ("RC lost, by PX4", "vehicle_status", &["rc_signal_lost"], Percent),
            (
                "RC lost, by PX4",
                "failsafe_flags",
                &["manual_control_signal_lost"],
                Percent,
            ),
        ],
    )
    .with_limits(0.0, 100.0),
    Px4Plot::new(
        "Telemetry radio",
        "",
        &[
            ("signal strength", "radio_status", &["rssi"], Same),
            ("remote signal strength", "radio_status", &["remote_rssi"], Same),
            ("noise", "radio_status", &["noise"], Same),
            ("remote noise", "radio_status", &["remote_noise"], Same),
        ],
    ),
    Px4Plot::new(
        "CPU and RAM",
        "%",
        &[
            ("CPU", "cpuload", &["load"], Percent),
            ("RAM", "cpuload", &["ram_usage"], Percent),
        ],
    )
    .with_limits(0.0, 100.0),
    // Longer intervals are gaps. Flight Review has the same limits.
    Px4Plot::new(
        "Sampling regularity",
        "µs",
        &[
            (
                "interval of sensor_combined",
                "sensor_combined",
                &["gyro_rad[0]"],
                Interval,
            ),
            ("estimator time slip", STATUS, &["time_slip"], Times(1e6)),
        ],
    )
    .with_limits(0.0, 25e3),
];
