//! The files of Foxglove's types, each with the files that it imports.
//!
//! ```text
//! Log                 1 timestamp | 2 level | 3 message | 4 name | 5 file | 6 line fixed32
//! LocationFix         6 timestamp | 7 frame_id | 1 latitude | 2 longitude | 3 altitude
//!                     | 4 position_covariance, repeated | 5 position_covariance_type
//! PointCloud          1 timestamp | 2 frame_id | 3 pose | 4 point_stride fixed32
//!                     | 5 fields, repeated | 6 data
//! PackedElementField  1 name | 2 offset fixed32 | 3 type
//! CompressedImage     1 timestamp | 4 frame_id | 2 data | 3 format
//! RawImage            1 timestamp | 7 frame_id | 2 width fixed32 | 3 height fixed32
//!                     | 4 encoding | 5 step fixed32 | 6 data
//! FrameTransform      1 timestamp | 2 parent_frame_id | 3 child_frame_id | 4 translation
//!                     | 5 rotation
//! PoseInFrame         1 timestamp | 2 frame_id | 3 pose
//! Pose                1 position | 2 orientation
//! Vector3, Quaternion 1 x | 2 y | 3 z | 4 w, doubles
//! ```
//! (`schemas/proto/foxglove` of foxglove-sdk, a file for each type. These are the fields that
//! all versions have.)

use crate::{
    descriptor::{Enum, Field, File, FileSet, Message, PROTO3, kind},
    well_known_types::{TIMESTAMP, TIMESTAMP_FILE, timestamp_file},
};

pub(super) fn log() -> FileSet {
    let levels = ["UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"];
    let fields = vec![
        timestamp(1),
        Field::new("level", 2, kind::ENUM).with_type_name(".foxglove.Log.Level"),
        Field::new("message", 3, kind::STRING),
        Field::new("name", 4, kind::STRING),
        Field::new("file", 5, kind::STRING),
        Field::new("line", 6, kind::FIXED32),
    ];
    set([], file("Log", fields, vec![numbered_enum("Level", &levels)]))
}

pub(super) fn location_fix() -> FileSet {
    const KIND: &str = ".foxglove.LocationFix.PositionCovarianceType";
    let kinds = ["UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN"];
    let fields = vec![
        timestamp(6),
        Field::new("frame_id", 7, kind::STRING),
        Field::new("latitude", 1, kind::DOUBLE),
        Field::new("longitude", 2, kind::DOUBLE),
        Field::new("altitude", 3, kind::DOUBLE),
        Field::new("position_covariance", 4, kind::DOUBLE).as_repeated(),
        Field::new("position_covariance_type", 5, kind::ENUM).with_type_name(KIND),
    ];
    let kinds = numbered_enum("PositionCovarianceType", &kinds);
    set([], file("LocationFix", fields, vec![kinds]))
}

pub(super) fn point_cloud() -> FileSet {
    let fields = vec![
        timestamp(1),
        Field::new("frame_id", 2, kind::STRING),
        Field::new("pose", 3, kind::MESSAGE).with_type_name(".foxglove.Pose"),
        Field::new("point_stride", 4, kind::FIXED32),
        Field::new("fields", 5, kind::MESSAGE)
            .with_type_name(".foxglove.PackedElementField")
            .as_repeated(),
        Field::new("data", 6, kind::BYTES),
    ];
    let imported = [packed_element_field(), vector(), quaternion(), pose()];
    set(imported, file("PointCloud", fields, vec![]))
}

pub(super) fn compressed_image() -> FileSet {
    let fields = vec![
        timestamp(1),
        Field::new("frame_id", 4, kind::STRING),
        Field::new("data", 2, kind::BYTES),
        Field::new("format", 3, kind::STRING),
    ];
    set([], file("CompressedImage", fields, vec![]))
}

pub(super) fn raw_image() -> FileSet {
    let fields = vec![
        timestamp(1),
        Field::new("frame_id", 7, kind::STRING),
        Field::new("width", 2, kind::FIXED32),
        Field::new("height", 3, kind::FIXED32),
        Field::new("encoding", 4, kind::STRING),
        Field::new("step", 5, kind::FIXED32),
        Field::new("data", 6, kind::BYTES),
    ];
    set([], file("RawImage", fields, vec![]))
}

pub(super) fn frame_transform() -> FileSet {
    let fields = vec![
        timestamp(1),
        Field::new("parent_frame_id", 2, kind::STRING),
        Field::new("child_frame_id", 3, kind::STRING),
        Field::new("translation", 4, kind::MESSAGE).with_type_name(".foxglove.Vector3"),
        Field::new("rotation", 5, kind::MESSAGE).with_type_name(".foxglove.Quaternion"),
    ];
    set([vector(), quaternion()], file("FrameTransform", fields, vec![]))
}

pub(super) fn pose_in_frame() -> FileSet {
    let fields = vec![
        timestamp(1),
        Field::new("frame_id", 2, kind::STRING),
        Field::new("pose", 3, kind::MESSAGE).with_type_name(".foxglove.Pose"),
    ];
    set([vector(), quaternion(), pose()], file("PoseInFrame", fields, vec![]))
}

fn packed_element_field() -> File {
    const KIND: &str = ".foxglove.PackedElementField.NumericType";
    let kinds = [
        "UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32",
        "FLOAT64",
    ];
    let fields = vec![
        Field::new("name", 1, kind::STRING),
        Field::new("offset", 2, kind::FIXED32),
        Field::new("type", 3, kind::ENUM).with_type_name(KIND),
    ];
    file("PackedElementField", fields, vec![numbered_enum("NumericType", &kinds)])
}

fn pose() -> File {
    let fields = vec![
        Field::new("position", 1, kind::MESSAGE).with_type_name(".foxglove.Vector3"),
        Field::new("orientation", 2, kind::MESSAGE)
            .with_type_name(".foxglove.Quaternion"),
    ];
    file("Pose", fields, vec![])
}

fn vector() -> File {
    file("Vector3", doubles(&["x", "y", "z"]), vec![])
}

fn quaternion() -> File {
    file("Quaternion", doubles(&["x", "y", "z", "w"]), vec![])
}

fn doubles(names: &[&str]) -> Vec<Field> {
    let numbered = (1..).zip(names);
    numbered.map(|(number, name)| Field::new(name, number, kind::DOUBLE)).collect()
}

fn timestamp(number: u32) -> Field {
    Field::new("timestamp", number, kind::MESSAGE).with_type_name(TIMESTAMP)
}

fn numbered_enum(name: &str, values: &[&str]) -> Enum {
    let values = (0..).zip(values).map(|(number, value)| ((*value).to_owned(), number));
    Enum { name: name.to_owned(), values: values.collect() }
}

/// Returns `file`, whose type has a time, after the files that it imports.
fn set<const N: usize>(imported: [File; N], file: File) -> FileSet {
    FileSet {
        files: [timestamp_file()].into_iter().chain(imported).chain([file]).collect(),
    }
}

/// Returns the file of a type. It imports the files of the types of its fields; each of these files
/// has the name of its type.
fn file(name: &str, fields: Vec<Field>, enums: Vec<Enum>) -> File {
    let mut imports: Vec<String> = Vec::new();
    for field in &fields {
        let file = match field.type_name.strip_prefix(".foxglove.") {
            Some(type_name) if !type_name.contains('.') => file_name(type_name),
            None if field.type_name == TIMESTAMP => TIMESTAMP_FILE.to_owned(),
            _ => continue,
        };
        if !imports.contains(&file) {
            imports.push(file);
        }
    }
    let message =
        Message { name: name.to_owned(), fields, enums, ..Message::default() };
    File {
        name: file_name(name),
        package: "foxglove".to_owned(),
        imports,
        messages: vec![message],
        syntax: PROTO3.to_owned(),
        ..File::default()
    }
}

fn file_name(name: &str) -> String {
    format!("foxglove/{name}.proto")
}
