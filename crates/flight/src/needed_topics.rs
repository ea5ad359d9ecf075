//! The topics and fields that analyses read.
//!
//! The two analyses read different topics, so that the topics of one can be dropped before those
//! of the other are read: the signals of high rates take most of the memory.

use crate::spectra::ACCELERATION;

/// The extent of an analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnalysisScope {
    /// Statistics and diagnoses.
    #[default]
    Flight,
    /// Also spectra and step responses, which read topics of high rates.
    Signals,
}

/// The maximum number of motors, ESCs and outputs that are read: the bits of a mask.
pub const MAX_ELEMENTS: usize = 32;

/// A topic that an analysis reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededTopic {
    /// The name of the topic.
    pub name: &'static str,
    /// The fields. A log may contain only some of them, because the names differ between releases
    /// of PX4. `[*]` is each element of a list with at most [`MAX_ELEMENTS`] elements: the
    /// definitions in the log contain their number.
    pub fields: &'static [&'static str],
    /// Whether all instances are read, or only the first.
    pub all_instances: bool,
    /// The topics that this topic is compared with. It is read only if the log contains at least one
    /// of them. Empty if it is always read.
    pub only_with: &'static [&'static str],
}

const fn first_instance(
    name: &'static str,
    fields: &'static [&'static str],
) -> NeededTopic {
    NeededTopic { name, fields, all_instances: false, only_with: &[] }
}

const fn all_instances(
    name: &'static str,
    fields: &'static [&'static str],
) -> NeededTopic {
    NeededTopic { all_instances: true, ..first_instance(name, fields) }
}

/// Returns a topic whose first instance is compared with one of the topics called `others`.
const fn compared_with(
    others: &'static [&'static str],
    name: &'static str,
    fields: &'static [&'static str],
) -> NeededTopic {
    NeededTopic { only_with: others, ..first_instance(name, fields) }
}

const XYZ: &[&str] = &["xyz[0]", "xyz[1]", "xyz[2]"];
const GPS: &[&str] = &[
    "fix_type",
    "eph",
    "epv",
    "satellites_used",
    "jamming_state",
    "spoofing_state",
    "jamming_indicator",
];

/// The topics of statistics and diagnoses, in alphabetical order, without those of
/// [`ROTATION_SOURCES`](crate::ROTATION_SOURCES).
const FLIGHT: &[NeededTopic] = &[
    first_instance("actuator_controls_0", &["control[3]"]),
    first_instance("actuator_motors", &["control[*]"]),
    all_instances("actuator_outputs", &["noutputs", "output[*]"]),
    all_instances(
        "battery_status",
        &[
            "voltage_v",
            "voltage_filtered_v",
            "current_a",
            "discharged_mah",
            "cell_count",
            "connected",
            "warning",
        ],
    ),
    first_instance("control_allocator_status", &["motor_stop_mask"]),
    first_instance("cpuload", &["load", "ram_usage"]),
    all_instances(
        "esc_status",
        &[
            "esc_online_flags",
            "esc[*].esc_rpm",
            "esc[*].failures",
            "esc[*].actuator_function",
        ],
    ),
    first_instance(
        "estimator_selector_status",
        &[
            "primary_instance",
            "instances_available",
            "instance_changed_count",
            "combined_test_ratio[0]",
            "combined_test_ratio[1]",
            "combined_test_ratio[2]",
            "combined_test_ratio[3]",
            "combined_test_ratio[4]",
            "combined_test_ratio[5]",
            "combined_test_ratio[6]",
            "combined_test_ratio[7]",
            "combined_test_ratio[8]",
        ],
    ),
    all_instances(
        "estimator_status",
        &[
            "vel_test_ratio",
            "pos_test_ratio",
            "hgt_test_ratio",
            "mag_test_ratio",
            "hdg_test_ratio",
            "filter_fault_flags",
        ],
    ),
    first_instance("estimator_status_flags", &["cs_inertial_dead_reckoning"]),
    first_instance(
        "failsafe_flags",
        &[
            "gcs_connection_lost",
            "manual_control_signal_lost",
            "fd_alt_loss",
            "fd_critical_failure",
            "fd_esc_arming_failure",
            "fd_imbalanced_prop",
            "fd_motor_failure",
            "battery_unhealthy",
            "battery_warning",
            "geofence_breached",
            "primary_geofence_breached",
            "gnss_lost",
            "parachute_unhealthy",
            "remote_id_unhealthy",
            "traffic_avoidance_unhealthy",
            "vtol_fixed_wing_system_failure",
            "wind_limit_exceeded",
            "navigator_failure",
            "mission_failure",
            "flight_time_limit_exceeded",
            "battery_low_remaining_time",
            "position_accuracy_low",
            "local_position_accuracy_low",
        ],
    ),
    first_instance(
        "failure_detector_status",
        &[
            "fd_roll",
            "fd_pitch",
            "fd_alt",
            "fd_ext",
            "fd_arm_escs",
            "fd_battery",
            "fd_high_wind",
            "fd_imbalanced_prop",
            "fd_motor",
            "motor_failure_mask",
            "motor_stop_mask",
        ],
    ),
    all_instances("input_rc", &["rc_lost", "rc_failsafe"]),
    all_instances("logger_status", &["dropouts", "message_gaps"]),
    // Releases before 1.8 have the magnetic field here.
    first_instance(
        "sensor_combined",
        &["magnetometer_ga[0]", "magnetometer_ga[1]", "magnetometer_ga[2]"],
    ),
    all_instances("sensor_gps", GPS),
    first_instance("system_power", &["voltage5v_v", "voltage5V_v"]),
    all_instances("tecs_status", &["pitch_integ", "pitch_sp_rad"]),
    first_instance(
        "vehicle_global_position",
        &["lat_lon_valid", "alt_valid", "dead_reckoning"],
    ),
    all_instances("vehicle_gps_position", GPS),
    all_instances(
        "vehicle_imu_status",
        &[
            "accel_vibration_metric",
            "accel_clipping[0]",
            "accel_clipping[1]",
            "accel_clipping[2]",
        ],
    ),
    first_instance("vehicle_land_detected", &["landed"]),
    first_instance(
        "vehicle_local_position",
        &[
            "x",
            "y",
            "z",
            "vx",
            "vy",
            "vz",
            "xy_valid",
            "z_valid",
            "v_xy_valid",
            "v_z_valid",
            "dead_reckoning",
            "xy_reset_counter",
            "z_reset_counter",
            "vxy_reset_counter",
            "vz_reset_counter",
            "delta_xy[0]",
            "delta_xy[1]",
            "delta_z",
            "delta_vxy[0]",
            "delta_vxy[1]",
            "delta_vz",
        ],
    ),
    first_instance(
        "vehicle_magnetometer",
        &["magnetometer_ga[0]", "magnetometer_ga[1]", "magnetometer_ga[2]"],
    ),
    first_instance(
        "vehicle_status",
        &[
            "arming_state",
            "nav_state",
            "failsafe",
            "vehicle_type",
            "is_rotary_wing",
            "rc_signal_lost",
            "data_link_lost",
            "gcs_connection_lost",
            "failure_detector_status",
        ],
    ),
    first_instance("vehicle_thrust_setpoint", XYZ),
    first_instance("wind", &["windspeed_north", "windspeed_east"]),
    first_instance("wind_estimate", &["windspeed_north", "windspeed_east"]),
];

/// The topics of spectra and step responses, in alphabetical order.
const SIGNALS: &[NeededTopic] = &[
    first_instance("actuator_controls_0", &["control[0]", "control[1]", "control[2]"]),
    first_instance(ACCELERATION.topic, &ACCELERATION.fields),
    first_instance("vehicle_angular_acceleration", XYZ),
    first_instance("vehicle_angular_velocity", XYZ),
    compared_with(
        &["vehicle_attitude_setpoint", "vehicle_rates_setpoint"],
        "vehicle_attitude",
        &["q[0]", "q[1]", "q[2]", "q[3]", "rollspeed", "pitchspeed", "yawspeed"],
    ),
    compared_with(
        &["vehicle_attitude"],
        "vehicle_attitude_setpoint",
        &["q_d[0]", "q_d[1]", "q_d[2]", "q_d[3]", "roll_body", "pitch_body"],
    ),
    first_instance("vehicle_land_detected", &["landed"]),
    compared_with(
        &["vehicle_angular_velocity", "vehicle_attitude"],
        "vehicle_rates_setpoint",
        &["roll", "pitch", "yaw"],
    ),
    first_instance("vehicle_status", &["arming_state"]),
    first_instance("vehicle_torque_setpoint", XYZ),
];

/// Returns the topics that [`analyze`](crate::analyze) reads as series. It also uses those of
/// [`ROTATION_SOURCES`](crate::ROTATION_SOURCES).
pub fn flight_topics() -> &'static [NeededTopic] {
    FLIGHT
}

/// Returns the topics that [`signal_analysis`](crate::signal_analysis) reads.
pub fn signal_topics() -> &'static [NeededTopic] {
    SIGNALS
}
