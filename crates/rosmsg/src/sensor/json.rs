//! Foxglove's own types in JSON: like in protocol buffers, but bytes are base64 strings, and times
//! are `{"sec": …, "nsec": …}` (the JSON schemas of foxglove-sdk).

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use logtool_protobuf::{PackedField, PointCloud};
use serde::Deserialize;
use serde_json::Value;

/// A cloud of points: `foxglove.PointCloud`.
pub(crate) struct JsonCloud<'b> {
    layout: CloudText<'b>,
    data: Vec<u8>,
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

/// The maximum number of fields of a cloud; the search for those of each point is linear.
const MAX_FIELDS: usize = 4096;

#[derive(Default, Deserialize)]
#[serde(default)]
struct CloudText<'b> {
    timestamp: Moment,
    point_stride: u32,
    #[serde(borrow)]
    fields: Vec<FieldText<'b>>,
    #[serde(borrow)]
    data: Cow<'b, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FieldText<'b> {
    #[serde(borrow)]
    name: Cow<'b, str>,
    offset: u32,
    r#type: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ImageText<'b> {
    timestamp: Moment,
    #[serde(borrow)]
    frame_id: Cow<'b, str>,
    #[serde(borrow)]
    format: Cow<'b, str>,
    #[serde(borrow)]
    data: Cow<'b, str>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Moment {
    sec: i64,
    nsec: i64,
}

impl<'b> JsonCloud<'b> {
    /// Parses the cloud in `payload`.
    pub(crate) fn parse(payload: &'b [u8]) -> Option<Self> {
        let cloud: CloudText<'b> = object(payload)?;
        let is_fair = cloud.fields.len() <= MAX_FIELDS;
        let (data, nanos) = (bytes(&cloud.data)?, cloud.timestamp.nanos()?);
        is_fair.then_some(Self { layout: cloud, data, nanos })
    }

    /// Returns the same cloud in the form of protocol buffers.
    pub(crate) fn cloud(&self) -> PointCloud<'_> {
        PointCloud {
            nanos: self.nanos,
            stride: self.layout.point_stride,
            fields: self.layout.fields.iter().map(FieldText::packed_field).collect(),
            data: &self.data,
            ..PointCloud::default()
        }
    }

    /// Returns whether the JSON schema `definition` has the fields that are read here.
    pub(crate) fn is_defined(definition: &str) -> bool {
        let schema: Value = serde_json::from_str(definition).unwrap_or_default();
        let properties = schema.get("properties");
        let has_property =
            |name: &str| properties.is_some_and(|all| all.get(name).is_some());
        ["timestamp", "point_stride", "fields", "data"].into_iter().all(has_property)
    }
}

impl FieldText<'_> {
    fn packed_field(&self) -> PackedField<'_> {
        let (name, offset) = (self.name.as_bytes(), self.offset);
        PackedField { name, offset, kind: self.r#type }
    }
}

impl<'b> JsonImage<'b> {
    /// Parses the image in `payload`.
    pub(crate) fn parse(payload: &'b [u8]) -> Option<Self> {
        let image: ImageText<'b> = object(payload)?;
        let ImageText { timestamp, frame_id, format, data } = image;
        let nanos = timestamp.nanos()?;
        Some(Self { nanos, frame_id, format, data: bytes(&data)? })
    }
}

impl Moment {
    fn nanos(self) -> Option<i64> {
        self.sec.checked_mul(1_000_000_000)?.checked_add(self.nsec)
    }
}

/// Parses `payload`, if it is an object.
fn object<'b, T: Deserialize<'b>>(payload: &'b [u8]) -> Option<T> {
    // Serde would also accept an array of the values.
    payload.trim_ascii_start().starts_with(b"{").then_some(())?;
    serde_json::from_slice(payload).ok()
}

/// Decodes base64, padded or not; returns `None` if `text` is not base64.
fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// The base64 alphabet of RFC 4648, 4, with optional padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
