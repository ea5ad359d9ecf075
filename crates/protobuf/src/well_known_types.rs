//! Well-known message types.

mod encode;
mod files;

mod foxglove;
mod sensors;

use crate::descriptor::{Field, File, Message, PROTO3, kind};

pub use self::{
    foxglove::{FoxgloveLog, FrameTransform, LocationFix, LogLevel, PoseInFrame},
    sensors::{CompressedImage, LaserScan, PackedField, PixelImage, PointCloud, Pose},
};

pub(crate) const TIMESTAMP: &str = ".google.protobuf.Timestamp";
pub(crate) const TIMESTAMP_FILE: &str = "google/protobuf/timestamp.proto";
pub(crate) const DURATION: &str = ".google.protobuf.Duration";
pub(crate) const DURATION_FILE: &str = "google/protobuf/duration.proto";

/// Returns the file of the `Timestamp` type.
pub(crate) fn timestamp_file() -> File {
    time_file(TIMESTAMP_FILE, "Timestamp")
}

/// Returns the file of the `Duration` type.
pub(crate) fn duration_file() -> File {
    time_file(DURATION_FILE, "Duration")
}

/// Returns the file of a type with seconds and nanoseconds.
fn time_file(name: &str, message: &str) -> File {
    let fields = vec![
        Field::new("seconds", 1, kind::INT64),
        Field::new("nanos", 2, kind::INT32),
    ];
    let message = Message { name: message.to_owned(), fields, ..Message::default() };
    File {
        name: name.to_owned(),
        package: "google.protobuf".to_owned(),
        messages: vec![message],
        syntax: PROTO3.to_owned(),
        ..File::default()
    }
}
