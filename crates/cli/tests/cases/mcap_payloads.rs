//! Messages of MCAP files and bags that their definitions do not describe: they are too long, or
//! cannot be decoded.

use std::{collections::BTreeMap, fs::File, io::Cursor};

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::Field,
};
use serde_json::{Value, json};

use crate::program::Folder;

/// How the messages of a topic are encoded.
struct Encoding {
    schema: &'static str,
    message: &'static str,
    definition: &'static [u8],
}

const CDR: Encoding =
    Encoding { schema: "ros2msg", message: "cdr", definition: b"int32 x\nstring s" };
const ROS1: Encoding =
    Encoding { schema: "ros1msg", message: "ros1", definition: b"int32 x\nstring s" };
/// The `FileDescriptorSet` of `syntax = "proto3"; package p; message T { int32 x = 1; string s =
/// 2; }`, by hand after `descriptor.proto`.
const PROTOBUF: Encoding = Encoding {
    schema: "protobuf",
    message: "protobuf",
    definition: b"\x0a\x2f\x0a\x07t.proto\x12\x01p\x22\x19\x0a\x01T\
        \x12\x09\x0a\x01x\x18\x01\x20\x01\x28\x05\
        \x12\x09\x0a\x01s\x18\x02\x20\x01\x28\x09\
        \x62\x06proto3",
};

/// Writes a file with `payloads` on `/x`, at 1 s, 2 s, and so on.
fn write_file(folder: &Folder, name: &str, encoding: &Encoding, payloads: &[&[u8]]) {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let type_name = match encoding.schema {
        "protobuf" => "p.T",
        _ => "p/msg/T",
    };
    let schema = file.schema(type_name, encoding.schema, encoding.definition).unwrap();
    let channel = file.channel("/x", schema, encoding.message, BTreeMap::new());
    let channel = channel.unwrap();
    for (seconds, payload) in (1..).zip(payloads) {
        let time = Timestamp::from_nanos(seconds * 1_000_000_000);
        file.write(channel, 0, time, time, payload).unwrap();
    }
    folder.write(name, &file.finish().unwrap().into_inner());
}

/// Returns the message with `x` = 7 and `s` = "hi", encoded by hand, followed by `rest`.
fn message(encoding: &Encoding, rest: &[u8]) -> Vec<u8> {
    let fields: &[u8] = match encoding.message {
        "cdr" => b"\0\x01\0\0\x07\0\0\0\x03\0\0\0hi\0",
        "ros1" => b"\x07\0\0\0\x02\0\0\0hi",
        _ => b"\x08\x07\x12\x02hi",
    };
    [fields, rest].concat()
}

#[test]
fn trailing_bytes_follow_the_same_rule_in_all_encodings() {
    let folder = Folder::new();
    for encoding in [&CDR, &ROS1, &PROTOBUF] {
        let name = encoding.message;
        for len in [4, 8, 100] {
            let payload = message(encoding, &vec![0xab; len]);
            write_file(&folder, "x.mcap", encoding, &[&payload]);
            let extra_bytes = format!("{len} bytes of 1 record belong to no field");
            let run = folder
                .run(&["cat", "--json", "x.mcap"])
                .assert_status(3, &[&extra_bytes]);
            let data = &run.json_lines()[0]["data"];
            assert_eq!(*data, json!({"x": 7, "s": "hi"}), "{name} {len}");
            folder
                .run(&["convert", "-f", "x.mcap", "-o", "x.csv"])
                .assert_status(3, &[&extra_bytes]);
            assert_eq!(folder.read("x.csv"), "time,x,s\n1000000000,7,hi\n", "{name}");
            let check = folder.run(&["check", "x.mcap"]).assert_status(3, &[]);
            assert!(check.stdout.contains("damage.extra_bytes"), "{name} {check:?}");
            folder.run(&["--strict", "cat", "x.mcap"]).assert_status(1, &[]);
        }
    }
}

#[test]
fn unknown_protobuf_fields_are_trailing_bytes() {
    let folder = Folder::new();
    // Field 3 as a varint, field 9 as a string, and field 3 as a group that contains a
    // varint.
    for rest in [&b"\x18\x01"[..], b"\x4a\x03new", b"\x1b\x08\x01\x1c"] {
        let payload = [rest, &message(&PROTOBUF, b"")].concat();
        write_file(&folder, "x.mcap", &PROTOBUF, &[&payload]);
        let extra_bytes =
            format!("{} bytes of 1 record belong to no field", rest.len());
        let run =
            folder.run(&["cat", "--json", "x.mcap"]).assert_status(3, &[&extra_bytes]);
        assert_eq!(run.json_lines()[0]["data"], json!({"x": 7, "s": "hi"}));
    }
    write_file(&folder, "sound.mcap", &PROTOBUF, &[&message(&PROTOBUF, b""), b""]);
    folder.run(&["check", "sound.mcap"]).assert_status(0, &[]);
    let lines =
        folder.run(&["cat", "--json", "sound.mcap"]).assert_status(0, &[]).json_lines();
    assert_eq!(lines[1]["data"], json!({"x": 0, "s": ""}));
}

/// A valid message, a truncated one, and another valid one.
fn payloads(encoding: &Encoding) -> [Vec<u8>; 3] {
    let sound = message(encoding, b"");
    let cut = sound[..sound.len() - 1].to_vec();
    [sound.clone(), cut, sound]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn undecodable_mcap_record_is_a_row_with_its_payload() {
    for encoding in [&CDR, &ROS1, &PROTOBUF] {
        let folder = Folder::new();
        let payloads = payloads(encoding);
        write_file(
            &folder,
            "x.mcap",
            encoding,
            &payloads.each_ref().map(Vec::as_slice),
        );
        let payload = hex(&payloads[1]);
        let csv = format!(
            "time,x,s,payload\n1000000000,7,hi,\n2000000000,,,{payload}\n3000000000,7,hi,\n"
        );
        for threads in ["1", "2"] {
            let run = |args: &[&str]| {
                let run = folder.run(&[&["--threads", threads], args].concat());
                run.assert_status(3, &["1 record of /x lost"])
            };
            let convert = |to: &str| {
                run(&["convert", "--force", "x.mcap", "-o", "tables", "--format", to]);
            };
            convert("csv");
            assert_eq!(folder.read("tables/x_x_0.csv"), csv);
            convert("jsonl");
            let lines: Vec<Value> = folder
                .read("tables/x_0.jsonl")
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(lines.len(), 3);
            assert_eq!(lines[0]["payload"], Value::Null);
            let lost = json!({"time": 2_000_000_000, "x": null, "s": null, "payload": payload});
            assert_eq!(lines[1], lost);
            convert("parquet");
            is_in_parquet(&folder, "tables/x_0.parquet", &payloads[1]);
            for (to, name) in
                [("arrow", "x_0.arrow"), ("npz", "x_0.npz"), ("mat", "x.mat")]
            {
                convert(to);
                let bytes =
                    std::fs::read(folder.path().join("tables").join(name)).unwrap();
                let contains =
                    |needle: &[u8]| bytes.windows(needle.len()).any(|w| w == needle);
                assert!(contains(b"payload") && contains(&payloads[1]), "{to}");
            }
            run(&["convert", "--force", "-t", "/x", "x.mcap", "-o", "one.csv"]);
            assert_eq!(folder.read("one.csv"), csv);
            let stdout =
                run(&["convert", "x.mcap", "-o", "-", "--format", "csv"]).stdout;
            assert_eq!(stdout, csv);
            let one_field = run(&[
                "convert", "--field", "x", "x.mcap", "-o", "-", "--format", "csv",
            ]);
            assert!(one_field.stdout.contains(&format!("2000000000,,{payload}\n")));
            let merge = ["--merge", "asof", "--rate", "1", "--format", "csv"];
            run(&[&["convert", "--force", "x.mcap", "-o", "merged"], &merge[..]]
                .concat());
            let merged = folder.read("merged/merged.csv");
            assert!(merged.contains(&format!("2000000000,,,{payload}\n")), "{merged}");
            run(&["batch", "--force", "x.mcap", "-o", "set", "--format", "parquet"]);
            is_in_parquet(&folder, "set/x/log=x/part-0.parquet", &payloads[1]);
        }
        folder
            .run(&["--strict", "convert", "x.mcap", "-o", "strict", "--format", "csv"])
            .assert_status(1, &[]);
        assert!(folder.list("strict").is_empty());
    }
}

/// Checks that the second of three rows has only its time and `payload`.
#[track_caller]
fn is_in_parquet(folder: &Folder, name: &str, payload: &[u8]) {
    let file = File::open(folder.path().join(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let column = |row: usize, name: &str| {
        let mut columns = rows[row].get_column_iter();
        columns.find(|(column, _)| *column == name).unwrap().1.clone()
    };
    assert_eq!(rows.len(), 3);
    assert_eq!(column(0, "payload"), Field::Null);
    assert_eq!(column(1, "x"), Field::Null);
    assert_eq!(column(1, "payload"), Field::Bytes(payload.to_vec().into()));
    assert_eq!(column(2, "x"), Field::Int(7));
}

#[test]
fn undecodable_bag_record_is_a_row_with_its_payload() {
    let folder = Folder::new();
    let payloads = payloads(&ROS1);
    write_file(&folder, "x.mcap", &ROS1, &payloads.each_ref().map(Vec::as_slice));
    folder.run(&["convert", "x.mcap", "-o", "x.bag"]);
    let run = folder.run(&["convert", "x.bag", "-o", "-", "--format", "csv"]);
    let payload = hex(&payloads[1]);
    let run = run.assert_status(3, &["1 record of /x lost"]);
    assert!(run.stdout.contains(&format!("2000000000,,,{payload}\n")), "{run:?}");
}

#[test]
fn lists_and_structs_of_undecodable_records_are_null() {
    let folder = Folder::new();
    let definition =
        b"float32[2] a\nstring[] l\nIn[2] s\nIn one\n===\nMSG: p/In\nuint8 b";
    let encoding = Encoding { definition, ..ROS1 };
    let sound = b"\0\0\x80\x3f\0\0\0\x40\x01\0\0\0\x01\0\0\0x\x05\x06\x07";
    write_file(&folder, "x.mcap", &encoding, &[&sound[..9], sound]);
    let run = folder.run(&["convert", "x.mcap", "-o", "-", "--format", "jsonl"]);
    let lines = run.assert_status(3, &[]).json_lines();
    let lost = json!({"time": 1_000_000_000, "a": null, "l": null, "s": null, "one": null,
        "payload": hex(&sound[..9])});
    let read = json!({"time": 2_000_000_000, "a": [1.0, 2.0], "l": ["x"],
        "s": [{"b": 5}, {"b": 6}], "one": {"b": 7}, "payload": null});
    assert_eq!(lines, [lost, read]);
    for to in ["parquet", "arrow", "npz", "mat"] {
        folder
            .run(&["convert", "x.mcap", "-o", to, "--format", to])
            .assert_status(3, &[]);
    }
}

#[test]
fn field_named_payload_keeps_its_name_and_values() {
    let folder = Folder::new();
    let encoding = Encoding { definition: b"int32 payload", ..CDR };
    let [sound, cut] = [&b"\0\x01\0\0\x07\0\0\0"[..], b"\0\x01\0\0\x07\0\0"];
    write_file(&folder, "x.mcap", &encoding, &[sound, cut]);
    let run = folder
        .run(&["convert", "x.mcap", "-o", "-", "--format", "csv"])
        .assert_status(3, &[]);
    let table = "time,payload,payload_\n1000000000,7,\n2000000000,,00010000070000\n";
    assert_eq!(run.stdout, table);
}

/// A cloud of one point at 1, 2, 3 with the stamp 1 s, as `sensor_msgs/msg/PointCloud2` in CDR, by
/// hand.
fn cloud() -> Vec<u8> {
    let mut cdr = b"\0\x01\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0a\0\0\0".to_vec();
    cdr.extend(b"\x01\0\0\0\x01\0\0\0\x03\0\0\0"); // height, width, three fields
    for (name, offset) in [(b'x', 0), (b'y', 4), (b'z', 8)] {
        cdr.extend([2, 0, 0, 0, name, 0, 0, 0, offset, 0, 0, 0]);
        cdr.extend([7, 0, 0, 0, 1, 0, 0, 0]); // FLOAT32, one
    }
    cdr.extend(b"\0\0\0\0\x0c\0\0\0\x0c\0\0\0\x0c\0\0\0"); // byte order, steps, length
    cdr.extend([1_f32, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()));
    cdr.push(1);
    cdr
}

/// Writes `plain.mcap`, and `packed.mcap` as rosbag2 does with the compression mode `message`.
fn write_packed(folder: &Folder, pack: &dyn Fn(&[u8]) -> Vec<u8>) {
    let image = b"\0\x01\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0a\0\0\0\x05\0\0\0jpeg\0\0\0\0\
        \x04\0\0\0\xff\xd8\xff\xd9";
    for (name, is_packed) in [("plain.mcap", false), ("packed.mcap", true)] {
        let mut file =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        for (topic, type_name, message) in [
            ("/text", "std_msgs/msg/String", &b"\0\x01\0\0\x03\0\0\0hi\0"[..]),
            ("/cloud", "sensor_msgs/msg/PointCloud2", &cloud()),
            ("/image", "sensor_msgs/msg/CompressedImage", image),
        ] {
            let schema = file.schema(type_name, "ros2msg", b"").unwrap();
            let channel = file.channel(topic, schema, "cdr", BTreeMap::new()).unwrap();
            let time = Timestamp::from_nanos(1_000_000_000);
            let payload = if is_packed { pack(message) } else { message.to_vec() };
            file.write(channel, 0, time, time, &payload).unwrap();
        }
        let text = "compression_format: zstd\ncompression_mode: MESSAGE\n".to_owned();
        let metadata = BTreeMap::from([("serialized_metadata".to_owned(), text)]);
        file.metadata("rosbag2", &metadata).unwrap();
        folder.write(name, &file.finish().unwrap().into_inner());
    }
}

#[test]
fn messages_compressed_one_by_one_are_decompressed() {
    // Frames that declare their size, as rosbag2 writes them, and frames that do not.
    let with_size = |message: &[u8]| zstd::bulk::compress(message, 1).unwrap();
    let without_size = |message: &[u8]| zstd::stream::encode_all(message, 3).unwrap();
    for pack in [&with_size as &dyn Fn(&[u8]) -> Vec<u8>, &without_size] {
        let folder = Folder::new();
        write_packed(&folder, pack);
        let cat = |log: &str| folder.run(&["cat", log]).assert_status(0, &[]).stdout;
        let plain = cat("plain.mcap");
        assert!(plain.contains(r#"{"data":"hi"}"#), "{plain}");
        assert_eq!(cat("packed.mcap"), plain);
        folder.run(&["check", "packed.mcap"]).assert_status(0, &[]);
        for (name, log) in [("plain", "plain.mcap"), ("packed", "packed.mcap")] {
            let convert =
                ["convert", log, "-t", "/cloud/points", "-o", "-", "--format", "csv"];
            let points = folder.run(&convert).assert_status(0, &[]).stdout;
            assert_eq!(points.lines().count(), 2, "{points}");
            assert!(points.contains(",1.0,2.0,3.0"), "{points}");
            folder
                .run(&["convert", log, "-o", name, "--format", "images"])
                .assert_status(0, &[]);
            assert_eq!(folder.list(&format!("{name}/image")).len(), 2);
            folder.run(&["convert", log, "-o", &format!("{name}.bag")]);
        }
        assert_eq!(cat("packed.bag"), cat("plain.bag"));
        // Copies keep the messages as they are, and the metadata that describes them.
        let text = b"\0\x01\0\0\x03\0\0\0hi\0";
        for command in ["filter", "repair"] {
            let new = format!("{command}.mcap");
            let args = [command, "packed.mcap", "-o", &new, "--compression", "none"];
            folder.run(&args).assert_status(0, &[]);
            assert_eq!(cat(&new), plain);
            let bytes = std::fs::read(folder.path().join(&new)).unwrap();
            let contains =
                |needle: &[u8]| bytes.windows(needle.len()).any(|w| w == needle);
            assert!(
                contains(&pack(text)) && contains(b"compression_mode: MESSAGE"),
                "{command}"
            );
        }
    }
}

#[test]
fn broken_or_huge_compressed_messages_are_printed_as_payloads() {
    let folder = Folder::new();
    let frame = zstd::bulk::compress(&message(&CDR, b""), 1).unwrap();
    // A truncated message, one that declares 2^62 bytes, and a valid one.
    let huge = b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x40\x01\0\0";
    let payloads = [&frame[..frame.len() - 1], huge, &frame];
    write_file(&folder, "x.mcap", &CDR, &payloads);
    let lines = folder.run(&["cat", "x.mcap"]).assert_status(3, &[]).json_lines();
    assert_eq!(lines[0]["data"], json!({"payload": hex(payloads[0])}));
    assert_eq!(lines[1]["data"], json!({"payload": hex(huge)}));
    assert_eq!(lines[2]["data"], json!({"x": 7, "s": "hi"}));
    let run = folder
        .run(&["convert", "x.mcap", "-o", "-", "--format", "csv"])
        .assert_status(3, &[]);
    assert!(run.stdout.contains(&format!("2000000000,,,{}\n", hex(huge))), "{run:?}");
}
