//! The table of conversions between formats. A test of the command tries each of its cells.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::formats::LogFormat;

/// A group of output formats that can be written from the same inputs.
///
/// ```
/// use logtool::formats::{CONVERSIONS, LogFormat};
///
/// let images = CONVERSIONS.iter().find(|one| one.formats.contains(&"images")).unwrap();
/// assert!(images.preserved_data(LogFormat::Ulog).is_none());
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Conversion {
    /// The names of the formats.
    pub formats: &'static [&'static str],
    /// A description in a few words.
    #[serde(rename = "what")]
    pub description: &'static str,
    /// The formats of logs that can be converted, and what is kept and lost of them.
    #[serde(rename = "from", serialize_with = "kept_by_name")]
    pub kept: &'static [(&'static [LogFormat], &'static str)],
}

impl Conversion {
    /// Returns what is kept of logs of the format `input`, or `None` if they cannot be
    /// converted.
    pub fn preserved_data(&self, input: LogFormat) -> Option<&'static str> {
        let found = self.kept.iter().find(|(inputs, _)| inputs.contains(&input));
        found.map(|(_, kept)| *kept)
    }
}

/// Writes an object of the names of the inputs.
fn kept_by_name<S: Serializer>(
    kept: &[(&[LogFormat], &str)],
    out: S,
) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(None)?;
    for (inputs, kept) in kept {
        for input in *inputs {
            map.serialize_entry(input.display_name(), kept)?;
        }
    }
    map.end()
}

const ULOG: &[LogFormat] = &[LogFormat::Ulog];
const BAG: &[LogFormat] = &[LogFormat::Rosbag];
const MCAP: &[LogFormat] = &[LogFormat::Mcap];
const VEL: &[LogFormat] = &[LogFormat::Vel];
const CAPTURE: &[LogFormat] = &[LogFormat::Capture];
const TABLES: &[LogFormat] = &[LogFormat::Csv, LogFormat::Parquet];
const MESSAGES: &[LogFormat] = &[LogFormat::Rosbag, LogFormat::Mcap];
const PACKETS: &[LogFormat] = &[LogFormat::Vel, LogFormat::Capture];

/// All conversions.
pub const CONVERSIONS: &[Conversion] = &[
    Conversion {
        formats: &["csv", "jsonl", "parquet", "arrow", "npz", "mat"],
        description: "tables",
        kept: &[(
            LogFormat::ALL,
            "every field of every record whose definition is known, else its bytes; \
             not the order of records of several topics",
        )],
    },
    Conversion {
        formats: &["pcd", "ply", "las", "laz", "kitti", "png"],
        description: "points and their pictures",
        kept: &[
            (
                MESSAGES,
                "PointCloud2, PointCloud, LaserScan and packets of Velodyne lidars, of ROS 1 \
                 or in CDR; foxglove.PointCloud and foxglove.LaserScan in protobuf or JSON",
            ),
            (
                PACKETS,
                "the points of all packets; `logtool help lidars` lists their columns",
            ),
        ],
    },
    Conversion {
        formats: &["images"],
        description: "images",
        kept: &[
            (
                MESSAGES,
                "of ROS 1, in CDR, or of Foxglove's types; compressed images byte for \
                 byte, others as PNG",
            ),
            (VEL, "JPEG images byte for byte"),
        ],
    },
    Conversion {
        formats: &["kml", "gpx", "geojson"],
        description: "tracks",
        kept: &[(
            LogFormat::ALL,
            "times, positions and heights of topics that have positions",
        )],
    },
    Conversion {
        formats: &["mcap"],
        description: "MCAP",
        kept: &[
            (
                ULOG,
                "every record, as protobuf with the log's definitions; strings and events as \
                 foxglove.Log, places as foxglove.LocationFix, poses as \
                 foxglove.FrameTransform, parameters and information as metadata; not the changes of \
                 parameters' defaults; on request as CDR, as in a bag",
            ),
            (
                BAG,
                "every message byte for byte, with its connection; on request as CDR",
            ),
            (MCAP, "every message byte for byte, metadata and attachments"),
            (
                PACKETS,
                "scans as PointCloud2, images, positions and poses as messages of ROS, other \
                 messages as types made for them, or on request as Foxglove's types, in \
                 protobuf; packets, if they are selected or there are no points of them, as \
                 VelodyneScan",
            ),
            (TABLES, "every row, as protobuf with a type made of the columns"),
        ],
    },
    Conversion {
        formats: &["bag"],
        description: "bags",
        kept: &[
            (
                ULOG,
                "every record, as messages of types that are made of the log's definitions; \
                 beside them Imu, with the attitude then, Odometry, transforms, poses \
                 and NavSatFix, strings and events as rosgraph_msgs/Log; not parameters and information",
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
                 messages as types made for them; packets, if they are selected or there are no \
                 points of them, as VelodyneScan",
            ),
            (
                TABLES,
                "every row, as a message with a type made of the flat columns; not tables with \
                 lists of varying length",
            ),
        ],
    },
    Conversion {
        formats: &["vel"],
        description: ".vel",
        kept: &[
            (VEL, "every message byte for byte"),
            (CAPTURE, "packets of firings; not positions"),
            (MESSAGES, "packets of one Velodyne lidar (VelodyneScan), a message each"),
        ],
    },
    Conversion {
        formats: &["pcap"],
        description: "captures",
        kept: &[
            (VEL, "packets of firings; not images, poses, GPS and OBD"),
            (CAPTURE, "packets of firings and positions, in new frames"),
            (MESSAGES, "packets of Velodyne lidars (VelodyneScan), in new frames"),
        ],
    },
    Conversion {
        formats: &["ulog"],
        description: "ULogs",
        kept: &[
            (ULOG, "every record byte for byte, information and parameters"),
            (
                MESSAGES,
                "numbers, texts, and lists of numbers up to 4,096, with times in microseconds; \
                 not binary data and lists of messages",
            ),
            (
                PACKETS,
                "numbers and texts of positions, poses and other messages, and of points if their \
                 topic is selected; not packets and images",
            ),
            (
                TABLES,
                "numbers, texts, and lists of numbers up to 4,096, with times in microseconds; \
                 not binary data and lists of structs",
            ),
        ],
    },
];
