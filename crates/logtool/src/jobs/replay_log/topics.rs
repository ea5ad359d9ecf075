//! The topics that PX4 replays into EKF2.
//!
//! Sources: `src/modules/replay/ReplayEkf2.cpp` (the topics that are published, and which of them
//! have several instances), `src/modules/logger/logged_topics.cpp`
//! (`add_estimator_replay_topics`, bit 1 of `SDLOG_PROFILE`) of PX4 1.8 to 1.17, and the PX4 User
//! Guide, "System-wide Replay".

/// The topic whose records drive the replay.
pub(super) const IMU: &str = "sensor_combined";

/// The topic with the times of the records that EKF2 used.
pub(super) const TIMESTAMPS: &str = "ekf2_timestamps";

/// A topic that EKF2 reads.
pub(super) struct ReplayTopic {
    pub(super) name: &'static str,
    /// Whether all instances are replayed; of the others, only the first one is.
    pub(super) has_instances: bool,
    pub(super) requirement: Requirement,
}

/// The condition under which a log should have a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requirement {
    /// In each log.
    Always,
    /// If the vehicle has the sensor, or if the release of PX4 has the topic.
    IfPresent,
    /// In each log, unless the record of the IMU has the values, as in releases before 1.8.
    UnlessInImu(&'static str),
}

const fn always(name: &'static str) -> ReplayTopic {
    ReplayTopic { name, has_instances: false, requirement: Requirement::Always }
}

const fn one(name: &'static str) -> ReplayTopic {
    ReplayTopic { name, has_instances: false, requirement: Requirement::IfPresent }
}

const fn several(name: &'static str) -> ReplayTopic {
    ReplayTopic { name, has_instances: true, requirement: Requirement::IfPresent }
}

const fn unless_in_imu(name: &'static str, field: &'static str) -> ReplayTopic {
    ReplayTopic {
        name,
        has_instances: false,
        requirement: Requirement::UnlessInImu(field),
    }
}

/// All topics of a replay.
pub(super) const TOPICS: [ReplayTopic; 25] = [
    always(TIMESTAMPS),
    always(IMU),
    one("airspeed"),
    one("airspeed_validated"),
    several("aux_global_position"),
    several("distance_sensor"),
    one("ekf_gps_position"),
    one("estimator_fusion_control"),
    one("landing_target_pose"),
    one("launch_detection_status"),
    one("optical_flow"),
    one("ranging_beacon"),
    one("sensor_selection"),
    unless_in_imu("vehicle_air_data", "baro_alt_meter"),
    one("vehicle_attitude_groundtruth"),
    one("vehicle_global_position_groundtruth"),
    always("vehicle_gps_position"),
    always("vehicle_land_detected"),
    one("vehicle_local_position_groundtruth"),
    unless_in_imu("vehicle_magnetometer", "magnetometer_ga[0]"),
    several("vehicle_optical_flow"),
    always("vehicle_status"),
    one("vehicle_vision_attitude"),
    one("vehicle_vision_position"),
    several("vehicle_visual_odometry"),
];

/// The fields of [`TIMESTAMPS`] with the times of the records that EKF2 used, and the topics of
/// these records by the names of different releases. The times are in 0.1 ms after that of the
/// record, and [`NOT_USED`] if there was no new record (`Ekf2Timestamps.msg`).
pub(super) const USED_TIMES: [(&str, &[&str]); 8] = [
    ("airspeed_timestamp_rel", &["airspeed"]),
    ("airspeed_validated_timestamp_rel", &["airspeed_validated"]),
    ("distance_sensor_timestamp_rel", &["distance_sensor"]),
    // Until PX4 1.8.
    ("gps_timestamp_rel", &["vehicle_gps_position"]),
    ("optical_flow_timestamp_rel", &["vehicle_optical_flow", "optical_flow"]),
    ("vehicle_air_data_timestamp_rel", &["vehicle_air_data"]),
    ("vehicle_magnetometer_timestamp_rel", &["vehicle_magnetometer"]),
    ("visual_odometry_timestamp_rel", &["vehicle_visual_odometry"]),
];

/// The value of a time that was not used.
pub(super) const NOT_USED: f64 = 32_767.0;
