//! Foxglove's own types as messages of ROS, in the package `foxglove_msgs`. They have the fields of
//! the protocol buffers.

use logtool_protobuf::{LaserScan, PackedField, PointCloud, Pose};

use crate::{
    field_reader::{Encoding, FieldReader},
    sensor::json::MAX_FIELDS,
};

/// The name of clouds in ROS 1, and their first fields.
pub(crate) const CLOUD: (&str, &str) = (
    "foxglove_msgs/PointCloud",
    "time timestamp\nstring frame_id\ngeometry_msgs/Pose pose\nuint32 point_stride\n\
     foxglove_msgs/PackedElementField[] fields\nuint8[] data\n\
     ===\nMSG: foxglove_msgs/PackedElementField\n\
     string name\nuint32 offset\nuint8 type\n",
);

/// The name of scans in ROS 1, and their first fields.
pub(crate) const SCAN: (&str, &str) = (
    "foxglove_msgs/LaserScan",
    "time timestamp\nstring frame_id\ngeometry_msgs/Pose pose\nfloat64 start_angle\n\
     float64 end_angle\nfloat64[] ranges\nfloat64[] intensities\n",
);

/// The types in both definitions.
pub(crate) const POSE: &str = "\
===
MSG: geometry_msgs/Pose
geometry_msgs/Point position
geometry_msgs/Quaternion orientation
===
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
===
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
";

/// Parses the cloud in `payload`. The fields after its data are not read.
pub(crate) fn parse_cloud(
    payload: &[u8],
    encoding: Encoding,
) -> Option<PointCloud<'_>> {
    let mut reader = FieldReader::new(payload, encoding)?;
    let (nanos, frame_id) = (reader.stamp()?, reader.text()?);
    let (pose, stride) = (pose(&mut reader)?, reader.u32()?);
    let count = usize::try_from(reader.count()?).ok()?;
    if count > MAX_FIELDS {
        return None;
    }
    let field = |_| {
        let (name, offset) = (reader.text()?, reader.u32()?);
        Some(PackedField { name, offset, kind: reader.u8()?.into() })
    };
    let fields = (0..count).map(field).collect::<Option<_>>()?;
    let data = reader.numbers(1)?;
    Some(PointCloud { nanos, frame_id, pose, stride, fields, data })
}

/// Parses the scan in `payload`. The fields after its intensities are not read.
pub(crate) fn parse_scan(payload: &[u8], encoding: Encoding) -> Option<LaserScan> {
    let mut reader = FieldReader::new(payload, encoding)?;
    let nanos = reader.stamp()?;
    reader.text()?;
    let pose = pose(&mut reader)?;
    let (start_angle, end_angle) = (reader.f64()?, reader.f64()?);
    let (ranges, intensities) = (reader.f64_list()?, reader.f64_list()?);
    Some(LaserScan { nanos, pose, start_angle, end_angle, ranges, intensities })
}

fn pose(reader: &mut FieldReader<'_>) -> Option<Pose> {
    let mut numbers = [0.0; 7];
    for number in &mut numbers {
        *number = reader.f64()?;
    }
    let [x, y, z, qx, qy, qz, w] = numbers;
    Some(Pose { position: [x, y, z], orientation: [qx, qy, qz, w] })
}
