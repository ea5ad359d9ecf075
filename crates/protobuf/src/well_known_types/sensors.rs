//! Messages of sensors in Foxglove's own types: clouds of points, and images.
//!
//! [The files](super::files) list their fields. As usual in protocol buffers, absent fields are 0
//! or empty, and if a field occurs several times, the last value is valid.

mod encode;
#[cfg(test)]
mod tests;

use crate::{
    descriptor::{Field, FileSet, kind},
    wire::{Wire, for_each_field},
};

/// A cloud of points: `foxglove.PointCloud`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointCloud<'b> {
    /// The time in nanoseconds since 1970.
    pub nanos: i64,
    /// The frame of the points, which should be UTF-8.
    pub frame_id: &'b [u8],
    /// The position of the points in the frame.
    pub pose: Pose,
    /// The length of each point in bytes.
    pub stride: u32,
    /// The fields of a point.
    pub fields: Vec<PackedField<'b>>,
    /// The points, consecutive and little-endian.
    pub data: &'b [u8],
}

/// A field of each point: `foxglove.PackedElementField`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedField<'b> {
    /// The name, which should be UTF-8.
    pub name: &'b [u8],
    /// The position in a point, in bytes.
    pub offset: u32,
    /// The number of the type in the enumeration, from 1 on: `uint8`, `int8`, `uint16`, `int16`,
    /// `uint32`, `int32`, `float32`, `float64`.
    pub kind: u64,
}

/// The distances that a laser measured in a plane: `foxglove.LaserScan`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaserScan {
    /// The time in nanoseconds since 1970.
    pub nanos: i64,
    /// The position of the sensor in the frame.
    pub pose: Pose,
    /// The direction of the first distance in radians.
    pub start_angle: f64,
    /// The direction of the last distance.
    pub end_angle: f64,
    /// The distances, in directions with equal differences.
    pub ranges: Vec<f64>,
    /// The intensities: none, or one for each distance.
    pub intensities: Vec<f64>,
}

/// A translation after a rotation: `foxglove.Pose`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The translation.
    pub position: [f64; 3],
    /// The quaternion of the rotation: x, y, z, w.
    pub orientation: [f64; 4],
}

/// An image file: `foxglove.CompressedImage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressedImage<'b> {
    /// The time in nanoseconds since 1970.
    pub nanos: i64,
    /// The frame of the camera.
    pub frame_id: &'b [u8],
    /// The declared format of the file.
    pub format: &'b [u8],
    /// The bytes of the file.
    pub data: &'b [u8],
}

/// An image of pixels: `foxglove.RawImage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PixelImage<'b> {
    /// The time in nanoseconds since 1970.
    pub nanos: i64,
    /// The frame of the camera.
    pub frame_id: &'b [u8],
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The encoding of pixels, with the names of `sensor_msgs/Image`.
    pub encoding: &'b [u8],
    /// The length of each row in bytes.
    pub step: u32,
    /// The bytes of the rows, from top to bottom.
    pub data: &'b [u8],
}

/// The maximum number of fields of a cloud; the search for those of each point is linear.
const MAX_FIELDS: usize = 4096;

impl<'b> PointCloud<'b> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.PointCloud";

    /// Parses a cloud.
    pub fn parse(message: &'b [u8]) -> Option<Self> {
        let mut cloud = Self::default();
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(bytes)) => cloud.nanos = timestamp(bytes)?,
                (2, Wire::Sized(frame_id)) => cloud.frame_id = frame_id,
                (3, Wire::Sized(bytes)) => cloud.pose = Pose::parse(bytes)?,
                (4, Wire::Fixed32(stride)) => cloud.stride = stride,
                (5, Wire::Sized(bytes)) if cloud.fields.len() < MAX_FIELDS => {
                    cloud.fields.push(PackedField::parse(bytes)?);
                }
                (6, Wire::Sized(data)) => cloud.data = data,
                (1 | 3..=6, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(cloud)
    }

    /// Returns true if `descriptor` defines the Foxglove types of clouds and of their fields with
    /// the fields that are read here.
    pub fn is_defined(descriptor: &[u8]) -> bool {
        let Ok(files) = FileSet::parse(descriptor) else { return false };
        let cloud = [
            ("timestamp", 1, kind::MESSAGE),
            ("point_stride", 4, kind::FIXED32),
            ("fields", 5, kind::MESSAGE),
            ("data", 6, kind::BYTES),
        ];
        let field = [
            ("name", 1, kind::STRING),
            ("offset", 2, kind::FIXED32),
            ("type", 3, kind::ENUM),
        ];
        has_fields(&files, "PointCloud", &cloud)
            && has_fields(&files, "PackedElementField", &field)
    }
}

impl<'b> PackedField<'b> {
    fn parse(message: &'b [u8]) -> Option<Self> {
        let mut field = Self::default();
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(name)) => field.name = name,
                (2, Wire::Fixed32(offset)) => field.offset = offset,
                (3, Wire::Varint(kind)) => field.kind = kind,
                (1..=3, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(field)
    }
}

impl LaserScan {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.LaserScan";

    /// Parses a scan.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let mut scan = Self::default();
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(bytes)) => scan.nanos = timestamp(bytes)?,
                (3, Wire::Sized(bytes)) => scan.pose = Pose::parse(bytes)?,
                (4, Wire::Fixed64(bits)) => scan.start_angle = f64::from_bits(bits),
                (5, Wire::Fixed64(bits)) => scan.end_angle = f64::from_bits(bits),
                (6, wire) => append_doubles(&mut scan.ranges, wire)?,
                (7, wire) => append_doubles(&mut scan.intensities, wire)?,
                (1 | 3..=5, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(scan)
    }

    /// Returns true if `descriptor` defines the Foxglove type with the fields that are read here.
    pub fn is_defined(descriptor: &[u8]) -> bool {
        let Ok(files) = FileSet::parse(descriptor) else { return false };
        let scan = [
            ("timestamp", 1, kind::MESSAGE),
            ("start_angle", 4, kind::DOUBLE),
            ("end_angle", 5, kind::DOUBLE),
            ("ranges", 6, kind::DOUBLE),
            ("intensities", 7, kind::DOUBLE),
        ];
        has_fields(&files, "LaserScan", &scan)
    }
}

impl Pose {
    /// The pose that changes nothing.
    pub const IDENTITY: Self =
        Self { position: [0.0; 3], orientation: [0.0, 0.0, 0.0, 1.0] };

    fn parse(message: &[u8]) -> Option<Self> {
        let mut pose = Self { position: [0.0; 3], orientation: [0.0; 4] };
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(bytes)) => set_doubles(&mut pose.position, bytes)?,
                (2, Wire::Sized(bytes)) => set_doubles(&mut pose.orientation, bytes)?,
                (1 | 2, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(pose)
    }

    /// Returns `point`, rotated and then translated. The quaternion may have any length; that of
    /// the length 0, which is what an absent one has, does not rotate.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        let [x, y, z, w] = self.orientation;
        let square = x * x + y * y + z * z + w * w;
        let scale = if square == 0.0 { 0.0 } else { 2.0 / square };
        let cross = |[a, b, c]: [f64; 3]| [y * c - z * b, z * a - x * c, x * b - y * a];
        // point + 2 w (v × point) + 2 v × (v × point), for the vector v of the quaternion
        let once = cross(point);
        let twice = cross(once);
        [0, 1, 2].map(|axis| {
            point[axis] + scale * (w * once[axis] + twice[axis]) + self.position[axis]
        })
    }
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl<'b> CompressedImage<'b> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.CompressedImage";

    /// Parses an image.
    pub fn parse(message: &'b [u8]) -> Option<Self> {
        let mut image = Self::default();
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(bytes)) => image.nanos = timestamp(bytes)?,
                (2, Wire::Sized(data)) => image.data = data,
                (3, Wire::Sized(format)) => image.format = format,
                (4, Wire::Sized(frame_id)) => image.frame_id = frame_id,
                (1..=4, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(image)
    }
}

impl<'b> PixelImage<'b> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.RawImage";

    /// Parses an image.
    pub fn parse(message: &'b [u8]) -> Option<Self> {
        let mut image = Self::default();
        for_each_field(message, |number, wire| {
            match (number, wire) {
                (1, Wire::Sized(bytes)) => image.nanos = timestamp(bytes)?,
                (2, Wire::Fixed32(width)) => image.width = width,
                (3, Wire::Fixed32(height)) => image.height = height,
                (4, Wire::Sized(encoding)) => image.encoding = encoding,
                (5, Wire::Fixed32(step)) => image.step = step,
                (6, Wire::Sized(data)) => image.data = data,
                (7, Wire::Sized(frame_id)) => image.frame_id = frame_id,
                (1..=7, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(image)
    }
}

/// Sets those of `values` that `message` has: doubles with the numbers from 1 on.
fn set_doubles(values: &mut [f64], message: &[u8]) -> Option<()> {
    for_each_field(message, |number, wire| {
        let index = (number as usize).checked_sub(1)?;
        if let Some(value) = values.get_mut(index) {
            let Wire::Fixed64(bits) = wire else { return None };
            *value = f64::from_bits(bits);
        }
        Some(())
    })
}

/// Appends the doubles of a repeated field, which are packed or single.
fn append_doubles(values: &mut Vec<f64>, wire: Wire<'_>) -> Option<()> {
    match wire {
        Wire::Fixed64(bits) => values.push(f64::from_bits(bits)),
        Wire::Sized(bytes) => {
            let (doubles, rest) = bytes.as_chunks();
            rest.is_empty().then_some(())?;
            values.extend(doubles.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        }
        _ => return None,
    }
    Some(())
}

/// Converts a `google.protobuf.Timestamp` to nanoseconds since 1970.
fn timestamp(message: &[u8]) -> Option<i64> {
    let (mut seconds, mut nanos) = (0_u64, 0_u64);
    for_each_field(message, |number, wire| {
        match (number, wire) {
            (1, Wire::Varint(value)) => seconds = value,
            (2, Wire::Varint(value)) => nanos = value,
            (1 | 2, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    let (seconds, nanos) = (seconds.cast_signed(), nanos.cast_signed());
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Returns true if the Foxglove type `name` has at least the `required` fields: name, number and
/// kind.
fn has_fields(files: &FileSet, name: &str, required: &[(&str, u32, u32)]) -> bool {
    let foxglove_files = files.files.iter().filter(|file| file.package == "foxglove");
    let mut types = foxglove_files.flat_map(|file| &file.messages);
    let Some(message_type) = types.find(|message_type| message_type.name == name)
    else {
        return false;
    };
    required.iter().all(|(name, number, kind)| {
        let is_required = |field: &Field| {
            field.name == *name && field.number == *number && field.kind == *kind
        };
        message_type.fields.iter().any(is_required)
    })
}
