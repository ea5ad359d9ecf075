//! Point clouds of Foxglove's types, in protobuf and JSON. The messages are written by
//! hand from foxglove-sdk's `.proto` files. The conformance suite compares the output
//! of the Python package.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

mod common;

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use bytes::Bytes;
use logtool_core::{
    Damage, DamageKind, Log as _, OpenOptions, Timestamp, TopicId, conformance,
};
use logtool_mcap::{FORMAT, McapLog, Writer, WriterOptions};
use logtool_protobuf::{Field, File, FileSet, Message, kind};

/// A cloud with the time 5.000000007 s and points of 6 bytes: `x` float32 at offset 0,
/// `i` uint16 at offset 4.
fn cloud(points: &[u8]) -> Vec<u8> {
    let head = b"\x0a\x04\x08\x05\x10\x07\x12\x03map\x25\x06\0\0\0\
        \x2a\x05\x0a\x01x\x18\x07\x2a\x0a\x0a\x01i\x15\x04\0\0\0\x18\x03\x32";
    [&head[..], &[points.len() as u8], points].concat()
}

/// Returns the descriptors of the cloud types; `stride` is the field number of
/// `point_stride`.
fn descriptors(stride: u32) -> Vec<u8> {
    let message = |name: &str, fields: Vec<Field>| Message {
        name: name.to_owned(),
        fields,
        ..Message::default()
    };
    let enumeration = logtool_protobuf::Enum {
        name: "NumericType".to_owned(),
        values: vec![("UNKNOWN".to_owned(), 0)],
    };
    let field = message(
        "PackedElementField",
        vec![
            Field::new("name", 1, kind::STRING),
            Field::new("offset", 2, kind::FIXED32),
            Field::new("type", 3, kind::ENUM).with_type_name(".foxglove.NumericType"),
        ],
    );
    let point_cloud = message(
        "PointCloud",
        vec![
            Field::new("timestamp", 1, kind::MESSAGE).with_type_name(".foxglove.Stamp"),
            Field::new("frame_id", 2, kind::STRING),
            Field::new("point_stride", stride, kind::FIXED32),
            Field::new("fields", 5, kind::MESSAGE)
                .with_type_name(".foxglove.PackedElementField")
                .as_repeated(),
            Field::new("data", 6, kind::BYTES),
        ],
    );
    let stamp = message(
        "Stamp",
        vec![
            Field::new("seconds", 1, kind::INT64),
            Field::new("nanos", 2, kind::INT32),
        ],
    );
    let file = File {
        name: "a.proto".to_owned(),
        package: "foxglove".to_owned(),
        messages: vec![stamp, field, point_cloud],
        enums: vec![enumeration],
        syntax: "proto3".to_owned(),
        ..File::default()
    };
    FileSet { files: vec![file] }.to_bytes()
}

fn file(descriptors: &[u8], messages: &[Vec<u8>]) -> Bytes {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema("foxglove.PointCloud", "protobuf", descriptors).unwrap();
    let channel = file.channel("/cloud", schema, "protobuf", BTreeMap::new()).unwrap();
    for (number, message) in (0..).zip(messages) {
        let time = Timestamp::from_nanos(1_000 + i64::from(number));
        file.write(channel, number, time, time, message).unwrap();
    }
    file.finish().unwrap().into_inner().into()
}

/// Returns the table of the topic `name`.
fn table(log: &McapLog, name: &str) -> (RecordBatch, Vec<Damage>) {
    let id = log.manifest().topics.iter().position(|topic| topic.name == name);
    common::table(log, TopicId(id.unwrap() as u32))
}

fn open(bytes: Bytes) -> McapLog {
    McapLog::open(Arc::new(bytes), OpenOptions::default()).unwrap()
}

#[test]
fn foxglove_clouds_have_derived_topic_of_points() {
    let two = cloud(b"\0\0\x80\x3f\x01\0\0\0\0\x40\x02\x01");
    let bytes = file(&descriptors(4), &[two.clone(), cloud(b""), two]);
    conformance::check(&FORMAT, bytes.clone());
    let log = open(bytes);
    let (points, damage) = table(&log, "/cloud/points");
    assert_eq!(damage, []);
    let schema = points.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["time", "stamp", "index", "x", "i"]);
    assert_eq!(
        points.column(3).as_primitive::<Float32Type>().values(),
        &[1.0, 2.0, 1.0, 2.0]
    );
    assert_eq!(
        points.column(4).as_primitive::<UInt16Type>().values(),
        &[1, 258, 1, 258]
    );
    let stamps = points.column(1).as_primitive::<TimestampNanosecondType>();
    assert_eq!(stamps.value(0), 5_000_000_007);
    assert_eq!(points.column(2).as_primitive::<UInt32Type>().values(), &[0, 1, 0, 1]);
    // The topic itself still has its columns.
    assert_eq!(table(&log, "/cloud").0.num_rows(), 3);
}

#[test]
fn foxglove_clouds_in_json_have_same_points() {
    let schema = br#"{"type":"object","properties":{"timestamp":{},"point_stride":{},
        "fields":{},"data":{"type":"string","contentEncoding":"base64"}}}"#;
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema_name = "foxglove.PointCloud";
    let schemas = [
        ("/cloud", file.schema(schema_name, "jsonschema", schema).unwrap()),
        ("/other", file.schema(schema_name, "jsonschema", b"{}").unwrap()),
    ];
    for (topic, schema) in schemas {
        let channel = file.channel(topic, schema, "json", BTreeMap::new()).unwrap();
        // The points of `cloud` above, in base64 as Python encodes them.
        for (number, message) in (0..).zip([
            &br#"{"timestamp":{"sec":5,"nsec":7},"point_stride":6,"fields":[{"name":"x",
                "offset":0,"type":7},{"name":"i","offset":4,"type":3}],
                "data":"AACAPwEAAAAAQAIB"}"#[..],
            b"[]",
        ]) {
            let time = Timestamp::from_nanos(1_000 + i64::from(number));
            file.write(channel, number, time, time, message).unwrap();
        }
    }
    let bytes: Bytes = file.finish().unwrap().into_inner().into();
    conformance::check(&FORMAT, bytes.clone());
    let log = open(bytes);
    assert_eq!(log.manifest().topics.len(), 3, "the other schema has no such fields");
    let (points, damage) = table(&log, "/cloud/points");
    assert_eq!(points.column(3).as_primitive::<Float32Type>().values(), &[1.0, 2.0]);
    assert_eq!(points.column(4).as_primitive::<UInt16Type>().values(), &[1, 258]);
    let stamps = points.column(1).as_primitive::<TimestampNanosecondType>();
    assert_eq!(stamps.value(1), 5_000_000_007);
    assert_eq!(damage.iter().map(|one| one.records).sum::<u64>(), 1);
}

#[test]
fn truncated_or_invalid_cloud_is_damage() {
    let complete = cloud(b"\0\0\x80\x3f\x01\0");
    let incomplete = cloud(b"\0\0\x80\x3f\x01\0\0\0\0"); // a point and a half
    let without_last_byte = complete[..complete.len() - 1].to_vec();
    let mut beyond_end = complete.clone();
    beyond_end[29] = 5; // `i` starts at byte 5 of 6
    let log = open(file(
        &descriptors(4),
        &[complete, incomplete, without_last_byte, beyond_end],
    ));
    let (points, damage) = table(&log, "/cloud/points");
    assert_eq!(points.num_rows(), 3);
    // If a field of a cloud exceeds its points, the other fields are decoded.
    assert_eq!(points["x"].null_count(), 0);
    assert!(points["i"].is_valid(1) && points["i"].is_null(2));
    let reported: Vec<_> = damage.iter().map(|one| (one.kind, one.records)).collect();
    let expected = [
        (DamageKind::Undecodable, 1),
        (DamageKind::Undecodable, 1),
        (DamageKind::TypeMismatch, 1),
    ];
    assert_eq!(reported, expected, "{damage:?}");
    let reason = "its field i is at the bytes 5..7 of points of 6 bytes";
    assert_eq!(damage[2].reason.as_deref(), Some(reason));
}

#[test]
fn column_is_null_in_clouds_without_the_field() {
    let first = cloud(b"\0\0\x80\x3f\x01\0");
    let mut second = first.clone();
    assert_eq!(second[27], b'i');
    second[27] = b't';
    let log = open(file(&descriptors(4), &[first.clone(), second, first]));
    let (points, damage) = table(&log, "/cloud/points");
    assert_eq!((points.num_rows(), damage), (3, vec![]));
    let numbers = |name: &str| -> Vec<Option<u16>> {
        points[name].as_primitive::<UInt16Type>().iter().collect()
    };
    assert_eq!(numbers("i"), [Some(1), None, Some(1)]);
    assert_eq!(numbers("t"), [None, Some(1), None]);
}

#[test]
fn foxglove_type_with_other_fields_has_no_points() {
    let log = open(file(&descriptors(7), &[cloud(b"")]));
    assert_eq!(log.manifest().topics.len(), 1);
}
