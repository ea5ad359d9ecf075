//! The plots of topics of known types in bags, MCAP files and logs of lidars.

use crate::inspect::report::plots::transform::Transform::{
    self, Percent, Pitch, Roll, Same, Yaw,
};

/// `sensor_msgs/NavSatStatus`: a status of -1 means that there is no fix.
const FIX_ROS: Transform = Transform::Where { min: 0.0, factor: 1.0 };

/// The lines of the three components of a vector.
macro_rules! xyz {
    ($vector:literal) => {
        [
            ("x", &[concat!($vector, ".x")], Same),
            ("y", &[concat!($vector, ".y")], Same),
            ("z", &[concat!($vector, ".z")], Same),
        ]
    };
}

/// The lines of the first six elements of a list.
macro_rules! first_six {
    ($list:literal) => {
        [
            ("0", &[concat!($list, "[0]")], Same),
            ("1", &[concat!($list, "[1]")], Same),
            ("2", &[concat!($list, "[2]")], Same),
            ("3", &[concat!($list, "[3]")], Same),
            ("4", &[concat!($list, "[4]")], Same),
            ("5", &[concat!($list, "[5]")], Same),
        ]
    };
}

/// A line: its name, the columns that it is computed from, and how.
pub(super) type TypeLine = (&'static str, &'static [&'static str], Transform);

/// A plot: the quantity in its title, its unit (if empty, that of the columns), and its lines.
pub(super) type TypePlot = (&'static str, &'static str, &'static [TypeLine]);

/// The names of types in the form of ROS 1, and their plots.
pub(super) const TYPES: &[(&str, &[TypePlot])] = &[
    (
        "sensor_msgs/Imu",
        &[
            ("angular velocity", "rad/s", &xyz!("angular_velocity")),
            ("acceleration", "m/s²", &xyz!("linear_acceleration")),
        ],
    ),
    ("sensor_msgs/MagneticField", &[("magnetic field", "T", &xyz!("magnetic_field"))]),
    (
        "sensor_msgs/NavSatFix",
        &[("altitude", "m", &[("altitude", &["altitude", "status.status"], FIX_ROS)])],
    ),
    (
        "foxglove.LocationFix",
        &[("altitude", "m", &[("altitude", &["altitude"], Same)])],
    ),
    (
        "nav_msgs/Odometry",
        &[
            ("position", "m", &xyz!("pose.pose.position")),
            (
                "attitude",
                "°",
                &[
                    ("roll", Q_POSE_POSE, Roll),
                    ("pitch", Q_POSE_POSE, Pitch),
                    ("yaw", Q_POSE_POSE, Yaw),
                ],
            ),
            ("speed", "m/s", &xyz!("twist.twist.linear")),
            ("turning", "rad/s", &xyz!("twist.twist.angular")),
        ],
    ),
    ("geometry_msgs/PoseStamped", &[("position", "m", &xyz!("pose.position"))]),
    (
        "geometry_msgs/PoseWithCovarianceStamped",
        &[("position", "m", &xyz!("pose.pose.position"))],
    ),
    (
        "geometry_msgs/Twist",
        &[("speed", "m/s", &xyz!("linear")), ("turning", "rad/s", &xyz!("angular"))],
    ),
    (
        "geometry_msgs/TwistStamped",
        &[
            ("speed", "m/s", &xyz!("twist.linear")),
            ("turning", "rad/s", &xyz!("twist.angular")),
        ],
    ),
    (
        "geometry_msgs/TwistWithCovarianceStamped",
        &[
            ("speed", "m/s", &xyz!("twist.twist.linear")),
            ("turning", "rad/s", &xyz!("twist.twist.angular")),
        ],
    ),
    ("geometry_msgs/AccelStamped", &[("acceleration", "m/s²", &xyz!("accel.linear"))]),
    (
        "sensor_msgs/BatteryState",
        &[
            ("voltage", "V", &[("voltage", &["voltage"], Same)]),
            ("current", "A", &[("current", &["current"], Same)]),
            ("charge", "%", &[("charge", &["percentage"], Percent)]),
        ],
    ),
    (
        "sensor_msgs/JointState",
        &[
            ("position", "rad, m", &first_six!("position")),
            ("velocity", "rad/s, m/s", &first_six!("velocity")),
            ("effort", "N m, N", &first_six!("effort")),
        ],
    ),
    (
        "sensor_msgs/Temperature",
        &[("temperature", "°C", &[("temperature", &["temperature"], Same)])],
    ),
    (
        "sensor_msgs/FluidPressure",
        &[("pressure", "Pa", &[("pressure", &["fluid_pressure"], Same)])],
    ),
    ("sensor_msgs/Range", &[("range", "m", &[("range", &["range"], Same)])]),
    ("std_msgs/Float32", &[("", "", &[("data", &["data"], Same)])]),
    ("std_msgs/Float64", &[("", "", &[("data", &["data"], Same)])]),
    (
        "OBDDataM",
        &[
            ("speed", "", &[("speed", &["speed"], Same)]),
            ("engine speed", "", &[("engine speed", &["engine_speed"], Same)]),
        ],
    ),
    (
        "RobotPoseM",
        &[
            (
                "acceleration",
                "",
                &[
                    ("x", &["acceleration_x"], Same),
                    ("y", &["acceleration_y"], Same),
                    ("z", &["acceleration_z"], Same),
                ],
            ),
            (
                "attitude (quaternion)",
                "",
                &[
                    ("q0", &["q0"], Same),
                    ("q1", &["q1"], Same),
                    ("q2", &["q2"], Same),
                    ("q3", &["q3"], Same),
                ],
            ),
        ],
    ),
    (
        "GPSTDataM",
        &[
            ("speed", "", &[("speed", &["speed"], Same)]),
            ("altitude", "", &[("altitude", &["altitude"], Same)]),
            ("satellites", "", &[("satellites", &["satellites"], Same)]),
        ],
    ),
    (
        "position packet",
        &[
            ("speed", "", &[("speed", &["speed"], Same)]),
            ("altitude", "", &[("altitude", &["altitude"], Same)]),
            (
                "turning",
                "",
                &[
                    ("gyro 1", &["gyro_1"], Same),
                    ("gyro 2", &["gyro_2"], Same),
                    ("gyro 3", &["gyro_3"], Same),
                ],
            ),
            (
                "temperature",
                "",
                &[
                    ("sensor 1", &["temperature_1"], Same),
                    ("sensor 2", &["temperature_2"], Same),
                    ("sensor 3", &["temperature_3"], Same),
                ],
            ),
        ],
    ),
];

/// The columns of the attitude in an odometry.
const Q_POSE_POSE: &[&str] = &[
    "pose.pose.orientation.w",
    "pose.pose.orientation.x",
    "pose.pose.orientation.y",
    "pose.pose.orientation.z",
];
