//! The units of columns: as the log states them, or as PX4 and ROS define their messages.

use arrow_schema::Field;
use logtool_core::Topic;

use crate::formats::LogFormat;

/// The key of a field's metadata that states its unit.
const KEY: &str = "unit";

/// The suffixes of PX4's names that state the unit.
const SUFFIXES: [(&str, &str); 24] = [
    ("_m_s2", "m/s²"),
    ("_m_s", "m/s"),
    ("_rad_s", "rad/s"),
    ("_deg_s", "°/s"),
    ("_rad", "rad"),
    ("_deg", "°"),
    ("_pa", "Pa"),
    ("_mah", "mAh"),
    ("_wh", "Wh"),
    ("_mw", "mW"),
    ("_v", "V"),
    ("_a", "A"),
    ("_w", "W"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_s", "s"),
    ("_hz", "Hz"),
    ("_rpm", "1/min"),
    ("_ga", "G"),
    ("_gauss", "G"),
    ("_celcius", "°C"),
    ("_celsius", "°C"),
    ("_percent", "%"),
    ("_m", "m"),
];

/// The prefix of the topic's name, the names of its fields, and their unit, from PX4's message
/// definitions. The first match counts.
const PX4: [(&str, &[&str], &str); 23] = [
    ("sensor_combined", &["gyro_rad"], "rad/s"),
    ("vehicle_local_position", &["vx", "vy", "vz", "evh", "evv", "v_xy_max"], "m/s"),
    ("vehicle_local_position", &["ax", "ay", "az", "acceleration"], "m/s²"),
    ("vehicle_local_position", &["heading", "yaw"], "rad"),
    ("vehicle_local_position", &["x", "y", "z", "eph", "epv", "dist_bottom"], "m"),
    ("vehicle_angular_velocity", &["xyz"], "rad/s"),
    ("vehicle_acceleration", &["xyz"], "m/s²"),
    ("vehicle_rates_setpoint", &["roll", "pitch", "yaw"], "rad/s"),
    ("vehicle_attitude_setpoint", &["roll_body", "pitch_body", "yaw_body"], "rad"),
    ("vehicle_attitude", &["rollspeed", "pitchspeed", "yawspeed"], "rad/s"),
    ("vehicle_gps_position", &["eph", "epv"], "m"),
    ("sensor_gps", &["eph", "epv"], "m"),
    ("vehicle_gps_position", &["alt", "alt_ellipsoid"], "mm"),
    ("sensor_gps", &["alt", "alt_ellipsoid"], "mm"),
    ("vehicle_gps_position", &["lat", "lon"], "10⁻⁷ °"),
    ("sensor_gps", &["lat", "lon"], "10⁻⁷ °"),
    ("vehicle_global_position", &["alt", "eph", "epv"], "m"),
    ("vehicle_global_position", &["lat", "lon"], "°"),
    ("sensor_gyro", &["x", "y", "z"], "rad/s"),
    ("sensor_accel", &["x", "y", "z"], "m/s²"),
    ("sensor_mag", &["x", "y", "z"], "G"),
    ("sensor_", &["temperature"], "°C"),
    ("distance_sensor", &["current_distance", "min_distance", "max_distance"], "m"),
];

/// The suffix of the type's name, the prefixes of its fields, and their unit, from REP 103 and
/// the definitions of ROS's common messages.
const ROS: [(&str, &[&str], &str); 17] = [
    ("/Imu", &["angular_velocity."], "rad/s"),
    ("/Imu", &["linear_acceleration."], "m/s²"),
    ("Fix", &["latitude", "longitude"], "°"),
    ("Fix", &["altitude"], "m"),
    ("/Odometry", &["pose.pose.position"], "m"),
    ("/Odometry", &["twist.twist.linear"], "m/s"),
    ("/Odometry", &["twist.twist.angular"], "rad/s"),
    ("/PoseStamped", &["pose.position"], "m"),
    ("/PoseWithCovarianceStamped", &["pose.pose.position"], "m"),
    ("/Twist", &["linear"], "m/s"),
    ("/Twist", &["angular"], "rad/s"),
    ("/TwistStamped", &["twist.linear"], "m/s"),
    ("/TwistStamped", &["twist.angular"], "rad/s"),
    ("/LaserScan", &["ranges"], "m"),
    ("/MagneticField", &["magnetic_field."], "T"),
    ("/Temperature", &["temperature"], "°C"),
    ("/FluidPressure", &["fluid_pressure"], "Pa"),
];

/// Returns the unit of the column `field` of `topic`, in a log of `format`. Empty if the unit is
/// unknown, or if the values have none.
pub(super) fn column_unit(
    format: Option<LogFormat>,
    topic: &Topic,
    field: &Field,
) -> String {
    if let Some(unit) = field.metadata().get(KEY) {
        return match &**unit {
            "deg" => "°".to_owned(),
            "m/s2" | "m/s^2" => "m/s²".to_owned(),
            // A dimensionless number.
            "1" => String::new(),
            unit => unit.to_owned(),
        };
    }
    let name = field.name();
    let known = if format == Some(LogFormat::Ulog) {
        px4(topic, name)
    } else {
        let known = ROS.iter().find(|(end, starts, _)| {
            topic.type_name.ends_with(end)
                && starts.iter().any(|start| name.starts_with(start))
        });
        known.map(|(.., unit)| *unit)
    };
    known.unwrap_or_default().to_owned()
}

fn px4(topic: &Topic, name: &str) -> Option<&'static str> {
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let by_topic = PX4.iter().find(|(prefix, names, _)| {
        topic.name.starts_with(prefix) && names.contains(&name)
    });
    let by_suffix = || SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix));
    by_topic.map(|(.., unit)| *unit).or_else(|| by_suffix().map(|(_, unit)| *unit))
}
