//! The table of inputs and outputs. A test tries each of its cells.

use logtool::formats::LogFormat;

/// A group of formats that are written of the same inputs.
pub(super) struct Output {
    /// What `convert --format` calls them.
    pub(super) formats: &'static [&'static str],
    /// What they are, in a word or two.
    pub(super) what: &'static str,
    /// The inputs that become such, and what of them is kept and lost.
    pub(super) kept: &'static [(&'static [LogFormat], &'static str)],
}

impl Output {
    /// Returns what is kept of the format `input`, or `None` if it cannot become this.
    pub(super) fn of(&self, input: LogFormat) -> Option<&'static str> {
        let found = self.kept.iter().find(|(inputs, _)| inputs.contains(&input));
        found.map(|(_, what)| *what)
    }
}

const ULOG: &[LogFormat] = &[LogFormat::Ulog];
const BAG: &[LogFormat] = &[LogFormat::Rosbag];
const MCAP: &[LogFormat] = &[LogFormat::Mcap];
const VEL: &[LogFormat] = &[LogFormat::Vel];
const CAPTURE: &[LogFormat] = &[LogFormat::Capture];
const MESSAGES: &[LogFormat] = &[LogFormat::Rosbag, LogFormat::Mcap];
const PACKETS: &[LogFormat] = &[LogFormat::Vel, LogFormat::Capture];

/// What is written.
pub(super) const OUTPUTS: &[Output] = &[
    Output {
        formats: &["csv", "jsonl", "parquet", "arrow", "npz", "mat"],
        what: "tables",
        kept: &[(
            LogFormat::ALL,
            "every field of every record whose definition is known, else its bytes; \
             not the order of records of several topics",
        )],
    },
    Output {
        formats: &["pcd", "ply", "las", "laz", "kitti", "png"],
        what: "points and their pictures",
        kept: &[
            (
                MESSAGES,
                "PointCloud2, PointCloud, LaserScan and packets of Velodyne lidars, of ROS 1 \
                 or in CDR; foxglove.PointCloud in protobuf or JSON",
            ),
            (PACKETS, "the points of all packets; `help convert` tells their columns"),
        ],
    },
    Output {
        formats: &["images"],
        what: "images",
        kept: &[
            (
                MESSAGES,
                "of ROS 1, in CDR, or of Foxglove's types; compressed images byte for \
                 byte, others as PNG",
            ),
            (VEL, "JPEG images byte for byte"),
        ],
    },
    Output {
        formats: &["kml", "gpx", "geojson"],
        what: "tracks",
        kept: &[(
            LogFormat::ALL,
            "times, positions and heights of topics that have positions",
        )],
    },
    Output {
        formats: &["mcap"],
        what: "MCAP",
        kept: &[
            (
                ULOG,
                "every record, as protobuf with the log's definitions; strings and events as \
                 foxglove.Log, places as foxglove.LocationFix, parameters and infos as \
                 metadata; not the changes of parameters' defaults; with --ros2 as CDR, as \
                 in a bag",
            ),
            (
                BAG,
                "every message byte for byte, with its connection; with --ros2 as CDR",
            ),
            (MCAP, "every message byte for byte, metadata and attachments"),
            (
                PACKETS,
                "scans as PointCloud2, images, positions and poses as messages of ROS, other \
                 messages as types made for them, or with --foxglove as Foxglove's types, in \
                 protobuf; packets, if --topic names them or there are no points of them, as \
                 VelodyneScan",
            ),
        ],
    },
    Output {
        formats: &["bag"],
        what: "bags",
        kept: &[
            (
                ULOG,
                "every record, as messages of types that are made of the log's definitions; \
                 beside them Imu, with the attitude then, Odometry and NavSatFix, strings and events as \
                 rosgraph_msgs/Log; not parameters and infos",
            ),
            (BAG, "every message byte for byte, with its connection"),
            (
                MCAP,
                "messages of ROS 1 byte for byte, those in CDR as messages of ROS 1; not other \
                 encodings, sequence and publish time, metadata and attachments",
            ),
            (
                PACKETS,
                "scans as PointCloud2, images, positions and poses as messages of ROS, other \
                 messages as types made for them; packets, if --topic names them or there are no \
                 points of them, as VelodyneScan",
            ),
        ],
    },
    Output {
        formats: &["vel"],
        what: ".vel",
        kept: &[
            (VEL, "every message byte for byte"),
            (CAPTURE, "packets of firings; not positions"),
            (MESSAGES, "packets of one Velodyne lidar (VelodyneScan), a message each"),
        ],
    },
    Output {
        formats: &["pcap"],
        what: "captures",
        kept: &[
            (VEL, "packets of firings; not images, poses, GPS and OBD"),
            (CAPTURE, "packets of firings and positions, in new frames"),
            (MESSAGES, "packets of Velodyne lidars (VelodyneScan), in new frames"),
        ],
    },
];
