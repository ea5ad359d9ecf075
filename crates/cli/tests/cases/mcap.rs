//! The cases of MCAP files.

use std::{collections::BTreeMap, io::Cursor};

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};
use serde_json::{Value, json};

use crate::{program::Folder, samples::sample};

/// A case among the samples, if they are there.
fn case(name: &str) -> Option<String> {
    sample(&format!("cases/mcap/{name}"))
}

/// What `info --json` prints of a log.
fn info(folder: &Folder, log: &str) -> Value {
    serde_json::from_str(&folder.run(&["info", "--json", log]).stdout).unwrap()
}

/// The lines that `cat` prints of a sound log: the topic and the data.
fn cat(folder: &Folder, log: &str) -> Vec<(String, Value)> {
    let lines = folder.run(&["cat", "--json", log]).assert_status(0, &[]).json_lines();
    let pair =
        |line: Value| (line["topic"].as_str().unwrap().into(), line["data"].clone());
    lines.into_iter().map(pair).collect()
}

/// Checks that no command finds damage in `log`, and that copies have its `records`.
#[track_caller]
fn is_sound(log: &str, records: u64) {
    let folder = Folder::new();
    folder.run(&["check", log]).assert_status(0, &[]);
    folder.run(&["--strict", "cat", log]).assert_status(0, &[]);
    assert_eq!(info(&folder, log)["records"], records, "{log}");
    for command in ["filter", "repair"] {
        let new = format!("{command}.mcap");
        let run =
            folder.run(&["--strict", command, log, "-o", &new]).assert_status(0, &[]);
        assert!(!run.stderr.contains("damage"), "{run:?}");
        assert_eq!(cat(&folder, &new), cat(&folder, log), "{log} {command}");
    }
}

#[test]
fn schemas_missing_in_the_summary_are_read_from_the_data() {
    let Some(log) = case("no_repeat_schemas.mcap") else { return };
    is_sound(&log, 20);
    let folder = Folder::new();
    let lines = cat(&folder, &log);
    assert_eq!(lines[0], ("/chatter".into(), json!({"data": "msg 0"})));
    assert_eq!(lines[1], ("/j".into(), json!({"x": 0.1})));
    folder
        .run(&["convert", &log, "-o", "tables", "--format", "csv"])
        .assert_status(0, &[]);
    assert!(folder.read("tables/no_repeat_schemas_chatter_0.csv").contains("msg 9"));
    folder.run(&["merge", &log, &log, "-o", "merged.mcap"]).assert_status(0, &[]);
    assert_eq!(cat(&folder, "merged.mcap").len(), 2 * lines.len());
    assert_eq!(cat(&folder, "merged.mcap")[0], lines[0]);
}

#[test]
fn padded_file_without_a_repeated_schema_has_its_schema() {
    let Some(log) = case("pad_schema_lost.mcap") else { return };
    is_sound(&log, 1);
    assert_eq!(info(&Folder::new(), &log)["topics"][0]["type_name"], "Example");
}

#[test]
fn messages_are_counted_without_statistics() {
    let Some(log) = case("no_statistics.mcap") else { return };
    is_sound(&log, 20);
    let folder = Folder::new();
    folder.run(&["index", &log, "-o", "catalog.jsonl"]).assert_status(0, &[]);
    assert!(folder.read("catalog.jsonl").contains("\"records\":20"));
}

#[test]
fn padded_records_are_not_damage() {
    for (name, records) in [
        ("pad_attachment_crc.mcap", 0),
        ("pad_id_reused.mcap", 1),
        ("pad_nosummary_garbled.mcap", 10),
        ("pad_summary_crc.mcap", 1),
    ] {
        if let Some(log) = case(name) {
            is_sound(&log, records);
        }
    }
}

/// A file of the types of ROS 2 with one message of `payload` on `/x`.
fn cdr_file(folder: &Folder, name: &str, definition: &str, payload: &[u8]) {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema("p/msg/T", "ros2msg", definition.as_bytes()).unwrap();
    let channel = file.channel("/x", schema, "cdr", BTreeMap::new()).unwrap();
    let time = Timestamp::from_nanos(1_000_000_000);
    file.write(channel, 0, time, time, payload).unwrap();
    folder.write(name, &file.finish().unwrap().into_inner());
}

#[test]
fn trailing_bytes_of_cdr_messages_are_reported() {
    if let Some(log) = case("cdr_surplus4.mcap") {
        let run = Folder::new().run(&["cat", "--json", &log]);
        let run = run.assert_status(3, &["4 bytes of 1 record belong to no field"]);
        assert_eq!(run.json_lines()[0]["data"], json!({"x": 5}));
    }
    let folder = Folder::new();
    for extra_bytes in [4, 8, 12, 100] {
        let payload =
            [&[0, 1, 0, 0, 5, 0, 0, 0][..], &vec![0xab; extra_bytes]].concat();
        cdr_file(&folder, "x.mcap", "int32 x", &payload);
        let report = format!("{extra_bytes} bytes of 1 record belong to no field");
        let run = folder.run(&["cat", "--json", "x.mcap"]).assert_status(3, &[&report]);
        assert_eq!(run.json_lines()[0]["data"], json!({"x": 5}), "{extra_bytes}");
        let convert = ["convert", "-f", "x.mcap", "-o", "x", "--format", "csv"];
        folder.run(&convert).assert_status(3, &[&report]);
        assert_eq!(folder.read("x/x_x_0.csv"), "time,x\n1000000000,5\n");
        folder.run(&["check", "x.mcap"]).assert_status(3, &[]);
        // The record is copied with these bytes.
        folder.run(&["repair", "x.mcap", "-o", "y.mcap", "-f"]).assert_status(3, &[]);
        let extra = format!("{extra_bytes} extra bytes");
        let strict = ["--strict", "repair", "x.mcap", "-o", "strict.mcap"];
        folder.run(&strict).assert_status(1, &[&extra]);
        assert!(!folder.path().join("strict.mcap").exists(), "{extra_bytes}");
    }
}

#[test]
fn undecodable_record_is_printed_as_its_payload() {
    let folder = Folder::new();
    // A payload that is too short, a string that is longer than the message, and an unknown
    // encapsulation.
    for (definition, payload) in [
        ("int32 x", "0001000005"),
        ("string s", "00010000ff00000061"),
        ("int32 x", "0003000005000000"),
    ] {
        let byte = |at: usize| u8::from_str_radix(&payload[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..payload.len()).step_by(2).map(byte).collect();
        cdr_file(&folder, "x.mcap", definition, &bytes);
        let run =
            folder.run(&["cat", "--json", "x.mcap"]).assert_status(3, &["warning: "]);
        assert_eq!(
            run.json_lines()[0]["data"],
            json!({"payload": payload}),
            "{definition}"
        );
        let text = folder.run(&["cat", "--format", "text", "x.mcap"]).stdout;
        assert!(text.contains(payload), "{text}");
        folder.run(&["--strict", "cat", "x.mcap"]).assert_status(1, &[]);
    }
}

#[test]
fn empty_definition_of_a_common_type_is_replaced() {
    let Some(log) = case("n9_known_empty.mcap") else { return };
    let folder = Folder::new();
    folder.run(&["repair", &log, "-o", "new.mcap"]).assert_status(0, &[]);
    for log in [log.as_str(), "new.mcap"] {
        assert_eq!(cat(&folder, log), [("/x".into(), json!({"data": "hi"}))]);
        let schema = folder.run(&["schema", log]).assert_success().stdout;
        assert!(schema.contains("string data"), "{schema}");
    }
    // The same bytes, with a type that is not a common one.
    cdr_file(&folder, "t.mcap", "", b"\0\x01\0\0\x03\0\0\0hi\0");
    let run = folder.run(&["cat", "--json", "t.mcap"]);
    assert_eq!(
        run.json_lines()[0]["data"],
        json!({"payload": "0001000003000000686900"})
    );
}

/// A file with one message on `/x`, whose schema is empty.
fn file_without_definition(
    folder: &Folder,
    (encoding, schema, type_name): (&str, &str, &str),
    payload: &[u8],
) {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema(type_name, schema, b"").unwrap();
    let channel = file.channel("/x", schema, encoding, BTreeMap::new()).unwrap();
    let time = Timestamp::from_nanos(1_000_000_000);
    file.write(channel, 0, time, time, payload).unwrap();
    folder.write("x.mcap", &file.finish().unwrap().into_inner());
}

#[test]
fn empty_definitions_of_common_types_are_replaced_in_each_encoding() {
    let folder = Folder::new();
    let [text, xyz] = [json!({"data": "hi"}), json!({"x": 1.0, "y": 0.0, "z": 0.0})];
    let vector = [&1_f64.to_le_bytes()[..], &[0; 16]].concat();
    let cdr = |message: &[u8]| [b"\0\x01\0\0", message].concat();
    for (definition, payload, expected) in [
        (("ros1", "ros1msg", "std_msgs/String"), b"\x02\0\0\0hi".to_vec(), &text),
        (("ros1", "", "std_msgs/String"), b"\x02\0\0\0hi".to_vec(), &text),
        (("cdr", "ros2msg", "std_msgs/String"), cdr(b"\x03\0\0\0hi\0"), &text),
        (("cdr", "", "std_msgs/msg/String"), cdr(b"\x03\0\0\0hi\0"), &text),
        (("ros1", "ros1msg", "geometry_msgs/Vector3"), vector.clone(), &xyz),
        (("cdr", "ros2msg", "geometry_msgs/msg/Vector3"), cdr(&vector), &xyz),
    ] {
        file_without_definition(&folder, definition, &payload);
        folder.run(&["repair", "-f", "x.mcap", "-o", "new.mcap"]).assert_status(0, &[]);
        for log in ["x.mcap", "new.mcap"] {
            assert_eq!(
                cat(&folder, log),
                [("/x".into(), expected.clone())],
                "{definition:?}"
            );
            let schema = folder.run(&["schema", log]).assert_success().stdout;
            let field = if *expected == text { "string data" } else { "float64 x" };
            assert!(schema.contains(field), "{definition:?} {schema}");
        }
    }
}

/// Round trips of types that have another name or other fields in ROS 2.
#[test]
fn types_that_differ_in_ros_2_round_trip() {
    let folder = Folder::new();
    let id = [&[7; 16][..]].concat();
    // A `Marker` of ROS 1 that has only zeros takes 154 bytes.
    for (ros1, ros2, payload, added) in [
        ("uuid_msgs/UniqueID", "unique_identifier_msgs/msg/UUID", id, false),
        (
            "visualization_msgs/Marker",
            "visualization_msgs/msg/Marker",
            vec![0; 154],
            true,
        ),
    ] {
        let definition = if added { "" } else { "uint8[16] uuid" };
        let mut file =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        let schema = file.schema(ros1, "ros1msg", definition.as_bytes()).unwrap();
        let channel = file.channel("/x", schema, "ros1", BTreeMap::new()).unwrap();
        let time = Timestamp::from_nanos(1_000_000_000);
        file.write(channel, 0, time, time, &payload).unwrap();
        folder.write("x.mcap", &file.finish().unwrap().into_inner());
        folder.run(&["convert", "-f", "x.mcap", "-o", "x.bag"]).assert_status(0, &[]);
        folder
            .run(&["convert", "-f", "x.bag", "--ros2", "-o", "new.mcap"])
            .assert_status(0, &[]);
        folder
            .run(&["convert", "-f", "new.mcap", "-o", "new.bag"])
            .assert_status(0, &[]);
        let topic = |log: &str| info(&folder, log)["topics"][0].clone();
        assert_eq!(topic("new.mcap")["type_name"], ros2);
        assert_eq!(topic("new.bag")["type_name"], ros1);
        assert_eq!(topic("new.bag")["md5sum"], topic("x.bag")["md5sum"]);
        assert_eq!(cat(&folder, "new.bag"), cat(&folder, "x.mcap"));
        let message = &cat(&folder, "new.mcap")[0].1;
        assert_eq!(message.get("texture_resource").is_some(), added, "{message}");
    }
}

#[test]
fn rosout_messages_are_converted_to_ros_2() {
    let Some(log) = case("rosout_ros2.mcap") else { return };
    let folder = Folder::new();
    // The sample has messages of ROS 1 in CDR. It is first converted to a bag, as in the
    // reports.
    folder.run(&["convert", &log, "-o", "rosout.bag"]).assert_status(0, &[]);
    let left_out = "frame_id and topics are omitted";
    folder
        .run(&["convert", "rosout.bag", "--ros2", "-o", "new.mcap"])
        .assert_status(0, &[left_out]);
    let topic = &info(&folder, "new.mcap")["topics"][0];
    assert_eq!(topic["type_name"], "rcl_interfaces/msg/Log");
    let lines = cat(&folder, "new.mcap");
    assert_eq!(lines.len(), 200);
    let expected = json!({
        "stamp": 1_699_999_999_999_500_000_i64, "level": 20, "name": "/node",
        "msg": "periodic message 0", "file": "node.cpp", "function": "main", "line": 42,
    });
    assert_eq!(lines[0], ("/rosout".into(), expected));
    let messages = folder.run(&["messages", "--json", "new.mcap"]).assert_success();
    assert_eq!(messages.json_lines()[0]["level"], "info");
    // The conversion back to CDR.
    folder.run(&["convert", "new.mcap", "-o", "back.bag"]).assert_status(0, &[]);
    let topic = &info(&folder, "back.bag")["topics"][0];
    assert_eq!(topic["type_name"], "rosgraph_msgs/Log");
    assert_eq!(cat(&folder, "back.bag")[0].1["level"], 2);
}

/// Every eighth of the 416 files of the suite; `conformance/mcap/suite.py` compares all.
#[test]
fn conformance_suite_of_the_format_is_sound() {
    let Some(suite) = sample("cases/mcap-conformance") else { return };
    let mut files: Vec<_> = std::fs::read_dir(suite)
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path().into_os_string().into_string().unwrap())
        .filter(|file| file.ends_with(".mcap"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 416);
    for file in files.iter().step_by(8) {
        let text = std::fs::read_to_string(file.replace(".mcap", ".json")).unwrap();
        let suite: Value = serde_json::from_str(&text).unwrap();
        let records = suite["records"].as_array().unwrap().iter();
        let messages = records.filter(|record| record["type"] == "Message");
        is_sound(file, messages.count() as u64);
    }
}

#[test]
fn twenty_thousand_channels_without_a_summary_are_read() {
    let Some(log) = case("mcap_20000_channels.mcap.gz") else { return };
    let folder = Folder::new();
    let info = info(&folder, &log);
    assert_eq!(info["topics"].as_array().unwrap().len(), 20_000);
    assert_eq!(info["records"], 20_000);
    assert_eq!(cat(&folder, &log).len(), 20_000);
    let check = folder.run(&["check", &log]);
    assert_eq!(check.status, 0, "{check:?}");
    assert!(check.stdout.contains("mcap.summary.missing"), "{check:?}");
}

#[test]
fn messages_before_the_damage_of_an_lz4_block_are_read() {
    let Some(file) = sample("cases/mcap/lz4_sector_zeroed.mcap") else { return };
    let folder = Folder::new();
    let read = folder.run(&["cat", &file]).assert_status(3, &["damaged"]);
    // Python's `mcap` finds as many messages before the damage that equal the originals.
    assert!(read.stdout.lines().count() >= 5_653, "{}", read.stdout.lines().count());
    folder.run(&["repair", &file, "-o", "new.mcap"]).assert_status(3, &["doubtful"]);
    let second_run = folder.run(&["cat", "new.mcap"]).assert_status(0, &[]);
    assert_eq!(second_run.stdout.lines().count(), read.stdout.lines().count());
}

#[test]
fn doubtful_messages_are_listed_or_dropped() {
    let Some(file) = sample("cases/mcap/m15_ZSTD_corrupt.mcap") else { return };
    let folder = Folder::new();
    let all = folder
        .run(&["cat", &file])
        .assert_status(3, &["doubtful"])
        .stdout
        .lines()
        .count();
    folder
        .run(&["repair", &file, "-o", "listed.mcap"])
        .assert_status(3, &["listed in metadata records called logtool.doubtful"]);
    let listed = std::fs::read(folder.path().join("listed.mcap")).unwrap();
    let contains =
        |text: &[u8]| listed.windows(text.len()).any(|window| window == text);
    assert!(contains(b"logtool.doubtful") && contains(b" messages, log_time "));
    // Some of the modified messages cannot be decoded.
    let run = folder.run(&["cat", "listed.mcap"]);
    assert_eq!(run.stdout.lines().count(), all);
    folder
        .run(&["repair", &file, "-o", "sound.mcap", "--drop-doubtful"])
        .assert_status(3, &["left out: a checksum is wrong"]);
    let sound = folder.run(&["cat", "sound.mcap"]).assert_status(0, &[]);
    assert!(sound.stdout.lines().count() < all);
    let sound = std::fs::read(folder.path().join("sound.mcap")).unwrap();
    assert!(!sound.windows(16).any(|window| window == b"logtool.doubtful"));
}

#[test]
fn repaired_file_has_no_reused_schema_id() {
    let Some(file) = sample("cases/mcap/repair_keeps_reused_schema_id.mcap") else {
        return;
    };
    let folder = Folder::new();
    folder.run(&["repair", &file, "-o", "new.mcap"]);
    let check = folder.run(&["check", "new.mcap"]).assert_status(0, &[]);
    // The messages of the original are not in time order either.
    let lines: Vec<&str> = check.stdout.lines().skip(1).collect();
    assert!(lines.iter().all(|line| line.contains("time.mixed")), "{lines:?}");
}

#[test]
fn messages_beside_chunks_are_noted() {
    let Some(log) = sample("cases/mcap/chunked_and_bare_messages.mcap") else { return };
    let check = Folder::new().run(&["check", &log]).assert_status(0, &[]).stdout;
    assert!(check.contains("mcap.message.unchunked"), "{check}");
}
