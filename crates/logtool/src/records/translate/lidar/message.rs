//! The data of messages of lidars, independent of their encoding.

use logtool_core::Primitive;

/// The kinds of data that have a common message type.
#[derive(Clone, Copy, Debug)]
pub(super) enum LidarMessageType {
    Cloud,
    CompressedImage,
    Image,
    Transform,
}

/// The fields of a point: name, offset in the point, and type. `time` is in seconds and `t` in
/// nanoseconds after the time of the cloud.
pub(super) const FIELDS: [(&str, u32, Primitive); 12] = [
    ("x", 0, Primitive::F32),
    ("y", 4, Primitive::F32),
    ("z", 8, Primitive::F32),
    ("intensity", 12, Primitive::F32),
    ("ring", 16, Primitive::U16),
    ("time", 18, Primitive::F32),
    ("t", 22, Primitive::U32),
    ("intensity_calibrated", 26, Primitive::F32),
    ("azimuth", 30, Primitive::F32),
    ("distance", 34, Primitive::F32),
    ("laser", 38, Primitive::U8),
    ("return_type", 39, Primitive::U8),
];

/// A scan as one message.
pub(super) struct Cloud<'s> {
    /// The number of the scan.
    pub(super) number: u32,
    pub(super) nanos: i64,
    pub(super) frame: &'s str,
    /// The size of a point in bytes.
    pub(super) step: u32,
    pub(super) points: &'s [u8],
}

/// An image.
pub(super) struct Image<'b> {
    pub(super) nanos: i64,
    /// The frame of the camera.
    pub(super) frame: String,
    /// The format of a file, or the pixel format.
    pub(super) encoding: &'b str,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) data: &'b [u8],
}

impl Image<'_> {
    /// Returns the size of a row of pixels in bytes; `None` for a compressed file.
    pub(super) fn step(&self) -> Option<u32> {
        let channels = match self.encoding {
            "mono8" => 1,
            "rgb8" => 3,
            _ => return None,
        };
        Some(self.width.wrapping_mul(channels))
    }
}

/// The parent frame of all transforms.
pub(super) const PARENT: &str = "world";

/// An attitude, i.e. a rotation without a translation.
pub(super) struct Rotation<'t> {
    pub(super) nanos: i64,
    /// The frame that is rotated.
    pub(super) child: &'t str,
    /// The quaternion `x`, `y`, `z`, `w`.
    pub(super) rotation: [f64; 4],
}
