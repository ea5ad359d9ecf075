//! Attitude, position and speed.

use crate::inspect::report::plots::{
    px4::Px4Plot,
    transform::Transform::{
        self, Degrees, Latency, Norm, Percent, Pitch, Roll, Same, Thousandth, Yaw,
    },
};

/// The altitude of a GPS receiver is valid only with a three-dimensional fix (uORB,
/// `SensorGps.msg`: `fix_type` 3 and more). Until then, firmware reports about 0 m.
const FIX_M: Transform = Transform::Where { min: 3.0, factor: 1.0 };
const FIX_MM: Transform = Transform::Where { min: 3.0, factor: 1e-3 };

const Q: &[&str] = &["q[0]", "q[1]", "q[2]", "q[3]"];
const Q_D: &[&str] = &["q_d[0]", "q_d[1]", "q_d[2]", "q_d[3]"];

const THRUST: &[&str] = &["xyz[0]", "xyz[1]", "xyz[2]"];

const ESTIMATE: &str = "vehicle_local_position";
const SETPOINT: &str = "vehicle_local_position_setpoint";
const TRUTH: &str = "vehicle_local_position_groundtruth";
const ODOMETRY: &str = "vehicle_visual_odometry";

/// The plots. The ground truth is in logs of simulations.
pub(super) const PLOTS: &[Px4Plot] = &[
    Px4Plot::new(
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
            // Without a valid setpoint, the altitude is 0.
            (
                "setpoint",
                "position_setpoint_triplet",
                &["current.alt", "current.valid"],
                Transform::Where { min: 1.0, factor: 1.0 },
            ),
        ],
    )
    .with_right_axis(
        "thrust (%)",
        (0.0, 100.0),
        &[
            // The thrust of a fixed-wing vehicle is along its x axis.
            ("thrust", "vehicle_thrust_setpoint", THRUST, Transform::PercentNorm),
            ("thrust", "actuator_controls_0", &["control[3]"], Percent),
        ],
    ),
    Px4Plot::new(
        "Roll angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Roll),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Roll),
            ("setpoint", "vehicle_attitude_setpoint", &["roll_body"], Degrees),
            ("ground truth", "vehicle_attitude_groundtruth", Q, Roll),
        ],
    ),
    Px4Plot::new(
        "Pitch angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Pitch),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Pitch),
            ("setpoint", "vehicle_attitude_setpoint", &["pitch_body"], Degrees),
            ("ground truth", "vehicle_attitude_groundtruth", Q, Pitch),
        ],
    ),
    Px4Plot::new(
        "Yaw angle",
        "°",
        &[
            ("estimated", "vehicle_attitude", Q, Yaw),
            ("setpoint", "vehicle_attitude_setpoint", Q_D, Yaw),
            ("setpoint", "vehicle_attitude_setpoint", &["yaw_body"], Degrees),
            (
                "feed forward (°/s)",
                "vehicle_attitude_setpoint",
                &["yaw_sp_move_rate"],
                Degrees,
            ),
            ("ground truth", "vehicle_attitude_groundtruth", Q, Yaw),
        ],
    ),
    Px4Plot::new(
        "Roll rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[0]"], Degrees),
            ("estimated", "vehicle_attitude", &["rollspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["roll"], Degrees),
            ("integral (× 100)", "rate_ctrl_status", &["rollspeed_integ"], Percent),
            (
                "ground truth",
                "vehicle_angular_velocity_groundtruth",
                &["xyz[0]"],
                Degrees,
            ),
        ],
    ),
    Px4Plot::new(
        "Pitch rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[1]"], Degrees),
            ("estimated", "vehicle_attitude", &["pitchspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["pitch"], Degrees),
            ("integral (× 100)", "rate_ctrl_status", &["pitchspeed_integ"], Percent),
            (
                "ground truth",
                "vehicle_angular_velocity_groundtruth",
                &["xyz[1]"],
                Degrees,
            ),
        ],
    ),
    Px4Plot::new(
        "Yaw rate",
        "°/s",
        &[
            ("estimated", "vehicle_angular_velocity", &["xyz[2]"], Degrees),
            ("estimated", "vehicle_attitude", &["yawspeed"], Degrees),
            ("setpoint", "vehicle_rates_setpoint", &["yaw"], Degrees),
            ("integral (× 100)", "rate_ctrl_status", &["yawspeed_integ"], Percent),
            (
                "ground truth",
                "vehicle_angular_velocity_groundtruth",
                &["xyz[2]"],
                Degrees,
            ),
        ],
    ),
    Px4Plot::new(
        "Local position, north",
        "m",
        &[
            ("estimated", ESTIMATE, &["x"], Same),
            ("setpoint", SETPOINT, &["x"], Same),
            ("ground truth", TRUTH, &["x"], Same),
        ],
    ),
    Px4Plot::new(
        "Local position, east",
        "m",
        &[
            ("estimated", ESTIMATE, &["y"], Same),
            ("setpoint", SETPOINT, &["y"], Same),
            ("ground truth", TRUTH, &["y"], Same),
        ],
    ),
    Px4Plot::new(
        "Local position, down",
        "m",
        &[
            ("estimated", ESTIMATE, &["z"], Same),
            ("setpoint", SETPOINT, &["z"], Same),
            ("ground truth", TRUTH, &["z"], Same),
        ],
    ),
    Px4Plot::new(
        "Velocity",
        "m/s",
        &[
            ("north", ESTIMATE, &["vx"], Same),
            ("east", ESTIMATE, &["vy"], Same),
            ("down", ESTIMATE, &["vz"], Same),
            ("north setpoint", SETPOINT, &["vx"], Same),
            ("east setpoint", SETPOINT, &["vy"], Same),
            ("down setpoint", SETPOINT, &["vz"], Same),
        ],
    ),
    Px4Plot::new(
        "Visual odometry: position",
        "m",
        &[
            ("x", ODOMETRY, &["position[0]"], Same),
            ("x", ODOMETRY, &["x"], Same),
            ("y", ODOMETRY, &["position[1]"], Same),
            ("y", ODOMETRY, &["y"], Same),
            ("z", ODOMETRY, &["position[2]"], Same),
            ("z", ODOMETRY, &["z"], Same),
            // Older releases.
            ("x", "vehicle_vision_position", &["x"], Same),
            ("y", "vehicle_vision_position", &["y"], Same),
            ("z", "vehicle_vision_position", &["z"], Same),
        ],
    ),
    Px4Plot::new(
        "Visual odometry: velocity",
        "m/s",
        &[
            ("x", ODOMETRY, &["velocity[0]"], Same),
            ("x", ODOMETRY, &["vx"], Same),
            ("y", ODOMETRY, &["velocity[1]"], Same),
            ("y", ODOMETRY, &["vy"], Same),
            ("z", ODOMETRY, &["velocity[2]"], Same),
            ("z", ODOMETRY, &["vz"], Same),
            ("x", "vehicle_vision_position", &["vx"], Same),
            ("y", "vehicle_vision_position", &["vy"], Same),
            ("z", "vehicle_vision_position", &["vz"], Same),
        ],
    ),
    Px4Plot::new(
        "Visual odometry: attitude",
        "°",
        &[
            ("roll", ODOMETRY, Q, Roll),
            ("pitch", ODOMETRY, Q, Pitch),
            ("yaw", ODOMETRY, Q, Yaw),
            ("roll", "vehicle_vision_attitude", Q, Roll),
            ("pitch", "vehicle_vision_attitude", Q, Pitch),
            ("yaw", "vehicle_vision_attitude", Q, Yaw),
        ],
    ),
    Px4Plot::new(
        "Visual odometry: rate",
        "°/s",
        &[
            ("roll", ODOMETRY, &["angular_velocity[0]"], Degrees),
            ("roll", ODOMETRY, &["rollspeed"], Degrees),
            ("pitch", ODOMETRY, &["angular_velocity[1]"], Degrees),
            ("pitch", ODOMETRY, &["pitchspeed"], Degrees),
            ("yaw", ODOMETRY, &["angular_velocity[2]"], Degrees),
            ("yaw", ODOMETRY, &["yawspeed"], Degrees),
        ],
    ),
    Px4Plot::new(
        "Visual odometry: latency",
        "ms",
        &[("latency", ODOMETRY, &["timestamp_sample"], Latency)],
    ),
    Px4Plot::new(
        "Airspeed",
        "m/s",
        &[
            ("ground speed, estimated", ESTIMATE, &["vx", "vy"], Norm),
            (
                "ground speed, estimated",
                "vehicle_global_position",
                &["vel_n", "vel_e"],
                Norm,
            ),
            ("ground speed, GPS", "vehicle_gps_position", &["vel_m_s"], Same),
            ("true airspeed", "airspeed_validated", &["true_airspeed_m_s"], Same),
            ("true airspeed", "airspeed", &["true_airspeed_m_s"], Same),
            (
                "true ground speed minus wind",
                "airspeed_validated",
                &["true_ground_minus_wind_m_s"],
                Same,
            ),
            (
                "calibrated ground speed minus wind",
                "airspeed_validated",
                &["calibrated_ground_minus_wind_m_s"],
                Same,
            ),
            ("indicated airspeed", "airspeed", &["indicated_airspeed_m_s"], Same),
            ("true airspeed setpoint", "tecs_status", &["true_airspeed_sp"], Same),
            ("true airspeed setpoint", "tecs_status", &["airspeed_sp"], Same),
            ("true airspeed setpoint", "tecs_status", &["airspeedSp"], Same),
        ],
    )
    .with_needed_topics(&["airspeed", "airspeed_validated"]),
    Px4Plot::new(
        "TECS: height rate",
        "m/s",
        &[
            ("height rate", "tecs_status", &["height_rate"], Same),
            ("setpoint", "tecs_status", &["height_rate_setpoint"], Same),
            // Older releases have the angle of the flight path instead.
            ("flight path angle (rad)", "tecs_status", &["flightPathAngle"], Same),
            ("flight path angle (rad)", "tecs_status", &["flight_path_angle"], Same),
            ("its setpoint (rad)", "tecs_status", &["flightPathAngleSp"], Same),
            ("its setpoint (rad)", "tecs_status", &["flight_path_angle_sp"], Same),
        ],
    ),
    Px4Plot::new(
        "TECS: pitch",
        "°",
        &[
            ("setpoint", "tecs_status", &["pitch_sp_rad"], Degrees),
            ("integral", "tecs_status", &["pitch_integ"], Degrees),
        ],
    ),
];
