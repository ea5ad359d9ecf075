//! Foxglove's own types in JSON. They have the fields of the protocol buffers, but bytes are base64
//! strings, and times are `{"sec": …, "nsec": …}` (the JSON schemas of foxglove-sdk).

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use logtool_protobuf::{LaserScan, PackedField, PointCloud, Pose};
use serde::Deserialize;
use serde_json::Value;

/// A cloud of points: `foxglove.PointCloud`.
pub(crate) struct JsonCloud<'b> {
    object: CloudObject<'b>,
    /// The decoded bytes of the points.
    data: Vec<u8>,
    /// The time in nanoseconds since 1970.
    nanos: i64,
}

/// An image file: `foxglove.CompressedImage`.
pub(crate) struct JsonImage<'b> {
    /// The time in nanoseconds since 1970.
    pub(crate) nanos: i64,
    pub(crate) frame_id: Cow<'b, str>,
    pub(crate) format: Cow<'b, str>,
    pub(crate) data: Vec<u8>,
}

/// The maximum number of fields of a cloud. It limits the time of linear searches.
pub(crate) const MAX_FIELDS: usize = 4096;

#[derive(Default, Deserialize)]
#[serde(default)]
struct CloudObject<'b> {
    timestamp: TimeObject,
    pose: PoseObject,
    point_stride: u32,
    #[serde(borrow)]
    fields: Vec<FieldObject<'b>>,
    #[serde(borrow)]
    data: Cow<'b, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FieldObject<'b> {
    #[serde(borrow)]
    name: Cow<'b, str>,
    offset: u32,
    r#type: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ScanObject {
    timestamp: TimeObject,
    pose: PoseObject,
    start_angle: f64,
    end_angle: f64,
    /// JSON has no NaN and no infinities, for which encoders write `null`.
    ranges: Vec<Option<f64>>,
    intensities: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PoseObject {
    position: VectorObject,
    orientation: VectorObject,
}

/// A vector, or a quaternion.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct VectorObject {
    x: f64,
    y: f64,
    z: f64,
    w: f64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ImageObject<'b> {
    timestamp: TimeObject,
    #[serde(borrow)]
    frame_id: Cow<'b, str>,
    #[serde(borrow)]
    format: Cow<'b, str>,
    #[serde(borrow)]
    data: Cow<'b, str>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct TimeObject {
    sec: i64,
    nsec: i64,
}

impl<'b> JsonCloud<'b> {
    /// Parses the cloud in `payload`.
    pub(crate) fn parse(payload: &'b [u8]) -> Option<Self> {
        let cloud: CloudObject<'b> = parse_object(payload)?;
        let is_within_limit = cloud.fields.len() <= MAX_FIELDS;
        let (data, nanos) = (decode_base64(&cloud.data)?, cloud.timestamp.nanos()?);
        is_within_limit.then_some(Self { object: cloud, data, nanos })
    }

    /// Returns the cloud as if it was parsed from protocol buffers.
    pub(crate) fn cloud(&self) -> PointCloud<'_> {
        PointCloud {
            nanos: self.nanos,
            pose: self.object.pose.pose(),
            stride: self.object.point_stride,
            fields: self.object.fields.iter().map(FieldObject::packed_field).collect(),
            data: &self.data,
            ..PointCloud::default()
        }
    }

    /// Returns whether the JSON schema `definition` has the fields that are read here.
    pub(crate) fn is_defined(definition: &str) -> bool {
        has_properties(definition, &["timestamp", "point_stride", "fields", "data"])
    }
}

/// Parses the scan in `payload`: `foxglove.LaserScan`.
pub(crate) fn parse_scan(payload: &[u8]) -> Option<LaserScan> {
    let scan: ScanObject = parse_object(payload)?;
    let floats = |values: Vec<Option<f64>>| {
        values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()
    };
    Some(LaserScan {
        nanos: scan.timestamp.nanos()?,
        pose: scan.pose.pose(),
        start_angle: scan.start_angle,
        end_angle: scan.end_angle,
        ranges: floats(scan.ranges),
        intensities: floats(scan.intensities),
    })
}

/// Returns whether the JSON schema `definition` of scans has the fields that are read here.
pub(crate) fn is_scan_defined(definition: &str) -> bool {
    has_properties(definition, &["timestamp", "start_angle", "end_angle", "ranges"])
}

/// Returns whether the JSON schema `definition` has the properties `names`.
fn has_properties(definition: &str, names: &[&str]) -> bool {
    let schema: Value = serde_json::from_str(definition).unwrap_or_default();
    let properties = schema.get("properties");
    names.iter().all(|name| properties.is_some_and(|all| all.get(name).is_some()))
}

impl PoseObject {
    fn pose(self) -> Pose {
        let Self { position: VectorObject { x, y, z, .. }, orientation } = self;
        let VectorObject { x: qx, y: qy, z: qz, w } = orientation;
        // An absent quaternion does not rotate.
        let orientation = match [qx, qy, qz, w] {
            [0.0, 0.0, 0.0, 0.0] => Pose::IDENTITY.orientation,
            orientation => orientation,
        };
        Pose { position: [x, y, z], orientation }
    }
}

impl FieldObject<'_> {
    fn packed_field(&self) -> PackedField<'_> {
        let (name, offset) = (self.name.as_bytes(), self.offset);
        PackedField { name, offset, kind: self.r#type }
    }
}

impl<'b> JsonImage<'b> {
    /// Parses the image in `payload`.
    pub(crate) fn parse(payload: &'b [u8]) -> Option<Self> {
        let image: ImageObject<'b> = parse_object(payload)?;
        let ImageObject { timestamp, frame_id, format, data } = image;
        let nanos = timestamp.nanos()?;
        Some(Self { nanos, frame_id, format, data: decode_base64(&data)? })
    }
}

impl TimeObject {
    fn nanos(self) -> Option<i64> {
        self.sec.checked_mul(1_000_000_000)?.checked_add(self.nsec)
    }
}

/// Parses `payload`, or returns `None` if it is not an object with such fields.
fn parse_object<'b, T: Deserialize<'b>>(payload: &'b [u8]) -> Option<T> {
    // Serde would also accept an array with the values of the fields.
    payload.trim_ascii_start().starts_with(b"{").then_some(())?;
    serde_json::from_slice(payload).ok()
}

/// Decodes base64, with or without padding. Returns `None` if `text` is not base64.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// The base64 alphabet of RFC 4648, 4, with optional padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
