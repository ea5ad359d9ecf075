//! The table of inputs and outputs. A test tries each of its cells.

/// A group of formats that are written of the same inputs.
pub(super) struct Output {
    /// What `convert --to` calls them.
    pub(super) formats: &'static [&'static str],
    /// What they are, in a word or two.
    pub(super) what: &'static str,
    /// The inputs that become such, and what of them is kept and lost.
    pub(super) kept: &'static [(&'static [&'static str], &'static str)],
}

impl Output {
    /// What is kept of the format `input`; nothing if it cannot become this.
    pub(super) fn of(&self, input: &str) -> Option<&'static str> {
        let found = self.kept.iter().find(|(inputs, _)| inputs.contains(&input));
        found.map(|(_, what)| *what)
    }
}

/// What is read, by the names that `info` tells, and what it is.
pub(super) const INPUTS: &[(&str, &str)] = &[
    ("ulog", "PX4's logs, versions 0 and 1 (.ulg)"),
    ("rosbag", "bags of ROS 1, versions 1.2 and 2.0 (.bag, .bag.active)"),
    ("mcap", "MCAP files (.mcap): ROS 1, CDR, protobuf and JSON become columns"),
    ("vel", "recordings of the Koblenz lidar cars (.vel)"),
    ("capture", "captures of Velodyne lidars (.pcap, .pcapng, bare packets)"),
];

const ALL: &[&str] = &["ulog", "rosbag", "mcap", "vel", "capture"];

/// What is written.
pub(super) const OUTPUTS: &[Output] = &[
    Output {
        formats: &["csv", "jsonl", "parquet", "arrow", "npz", "mat"],
        what: "tables",
        kept: &[(
            ALL,
            "every field of every record whose definition is known, else its bytes; \
             not the order of records of several topics",
        )],
    },
    Output {
        formats: &["pcd", "ply", "las", "laz", "kitti", "png"],
        what: "points and their pictures",
        kept: &[
            (
                &["rosbag", "mcap"],
                "PointCloud2, PointCloud, LaserScan and packets of Velodyne lidars, of ROS 1 \
                 or in CDR; foxglove.PointCloud in protobuf or JSON",
            ),
            (
                &["vel", "capture"],
                "the points of all packets; `help convert` tells their columns",
            ),
        ],
    },
    Output {
        formats: &["images"],
        what: "images",
        kept: &[
            (
                &["rosbag", "mcap"],
                "of ROS 1, in CDR, or of Foxglove's types; compressed images byte for \
                 byte, others as PNG",
            ),
            (&["vel"], "JPEG images byte for byte"),
        ],
    },
    Output {
        formats: &["kml", "gpx", "geojson"],
        what: "tracks",
        kept: &[(ALL, "times, positions and heights of topics that have positions")],
    },
    Output {
        formats: &["mcap"],
        what: "MCAP",
        kept: &[
            (
                &["ulog"],
                "every record, as protobuf with the log's definitions; strings and events as \
                 foxglove.Log, places as foxglove.LocationFix, parameters and infos as \
                 metadata; not the changes of parameters' defaults; with --ros2 as CDR, as \
                 in a bag",
            ),
            (
                &["rosbag"],
                "every message byte for byte, with its connection; with --ros2 as CDR",
            ),
            (&["mcap"], "every message byte for byte, metadata and attachments"),
            (
                &["vel", "capture"],
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
                &["ulog"],
                "every record, as messages of types that are made of the log's definitions; \
                 beside them Imu, with the attitude then, Odometry and NavSatFix, strings and events as \
                 rosgraph_msgs/Log; not parameters and infos",
            ),
            (&["rosbag"], "every message byte for byte, with its connection"),
            (
                &["mcap"],
                "messages of ROS 1 byte for byte, those in CDR as messages of ROS 1; not other \
                 encodings, sequence and publish time, metadata and attachments",
            ),
            (
                &["vel", "capture"],
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
            (&["vel"], "every message byte for byte"),
            (&["capture"], "packets of firings; not positions"),
            (
                &["rosbag", "mcap"],
                "packets of one Velodyne lidar (VelodyneScan), a message each",
            ),
        ],
    },
    Output {
        formats: &["pcap"],
        what: "captures",
        kept: &[
            (&["vel"], "packets of firings; not images, poses, GPS and OBD"),
            (&["capture"], "packets of firings and positions, in new frames"),
            (
                &["rosbag", "mcap"],
                "packets of Velodyne lidars (VelodyneScan), in new frames",
            ),
        ],
    },
];
