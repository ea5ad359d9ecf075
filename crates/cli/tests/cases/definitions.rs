//! Topics with a damaged definition: each command reports data loss, for all formats.

use std::{collections::BTreeMap, io::Cursor};

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

/// Checks that each command warns of `topic` of `log`, and fails if it is strict.
fn is_loss_everywhere(log: &str, topic: &str) {
    let folder = Folder::new();
    let name = format!("out.{}", log.rsplit('.').next().unwrap());
    let commands: [&[&str]; 7] = [
        &["info", log],
        &["cat", log],
        &["convert", "--format", "csv", "-o", "tables", "--force", log],
        &["filter", "-o", &name, "--force", log],
        &["repair", "-o", &name, "--force", log],
        &["merge", "--same-clock", "-o", &name, "--force", log, log],
        &["batch", "--format", "parquet", "-o", "data", "--force", log],
    ];
    for command in commands {
        let run = folder.run(command);
        assert_eq!(run.status, 3, "{command:?}: {run:?}");
        let output = format!("{}{}", run.stdout, run.stderr);
        assert!(output.contains("definition"), "{command:?}: {run:?}");
        assert!(output.contains(topic), "{command:?}: {run:?}");
        let run = folder.run(&[&["--strict"], command].concat());
        assert_eq!(run.status, 1, "{command:?}: {run:?}");
    }
    let check = folder.run(&["check", log]).assert_status(3, &[]);
    assert!(check.stdout.contains(".broken"), "{check:?}");
}

#[test]
fn broken_definition_of_a_ulog_is_loss() {
    let Some(log) = sample("cases/ulog/broken_definition.ulg") else { return };
    is_loss_everywhere(&log, "sensor_gps");
    let folder = Folder::new();
    let report = folder.run(&["repair", "--json", "-o", "out.ulg", &log]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["undecodable_records"], 10);
    // The offset and the name of the timestamp are valid: records are 1 ms apart, from 2 ms.
    let lines = folder.run(&["cat", "-t", "sensor_gps", &log]).json_lines();
    let times: Vec<i64> =
        lines.iter().map(|line| line["time"].as_i64().unwrap()).collect();
    let want: Vec<i64> = (2..12).map(|millis| millis * 1_000).collect();
    assert_eq!(times, want);
}

#[test]
fn broken_schema_of_an_mcap_file_is_loss() {
    let Some(log) = sample("cases/mcap/broken_schema.mcap") else { return };
    is_loss_everywhere(&log, "/p");
    // In the bytes of the file: the opcode 0x03 at 345, and the length 74, which is 83 with
    // the record header.
    let folder = Folder::new();
    folder
        .run(&["cat", &log])
        .assert_status(3, &["bytes 345..428: the definition of a topic"]);
    let check = folder.run(&["check", &log]).assert_status(3, &[]).stdout;
    assert!(check.contains("(at byte 345)"), "{check}");
}

/// Reads files with a broken schema, in compressed and uncompressed chunks, with and without a
/// summary. The message has the offset of the schema, or of the compressed chunk.
#[test]
fn broken_schema_is_reported_with_its_offset() {
    let folder = Folder::new();
    let text = b"no_such/Type field_of_a_broken_schema\n";
    for compression in ["none", "lz4", "zstd"] {
        let sound = mcap("cdr", Some(("ros2msg", text)), &[0, 1, 0, 0, 7]);
        folder.write("sound.mcap", &sound);
        let convert = ["filter", "-f", "sound.mcap", "-o", "log.mcap", "--compression"];
        folder.run(&[&convert[..], &[compression]].concat());
        let whole = std::fs::read(folder.path().join("log.mcap")).unwrap();
        // Without the summary, the footer and the magic are also missing.
        folder.write("cut.mcap", &whole[..whole.len() - 37]);
        for log in ["log.mcap", "cut.mcap"] {
            let bytes = std::fs::read(folder.path().join(log)).unwrap();
            let run = folder
                .run(&["cat", log])
                .assert_status(3, &["the definition of a topic"]);
            let place = run.stderr.split("bytes ").nth(1).unwrap();
            let place = place.split(':').next().unwrap();
            let (start, end) = place.split_once("..").unwrap();
            let [start, end] = [start, end].map(|at| at.parse::<usize>().unwrap());
            let declared = &bytes[start..end];
            let contains =
                |needle: &[u8]| declared.windows(needle.len()).any(|w| w == needle);
            let is_chunk = declared[0] == 0x06; // MCAP specification, "Chunk (op=0x06)"
            assert!(
                contains(text) || is_chunk && compression != "none",
                "{compression} {log}"
            );
            let check = folder.run(&["check", log]).assert_status(3, &[]).stdout;
            assert!(check.contains(&format!("(at byte {start})")), "{check}");
        }
    }
}

#[test]
fn batch_summary_names_damaged_topics() {
    let folder = Folder::new();
    for topics in 1..=5 {
        let mut file =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        for topic in 0..topics {
            let text = b"pkg/Missing x\n";
            let schema = file.schema("pkg/Thing", "ros2msg", text).unwrap();
            let name = format!("/t{topic}");
            let channel = file.channel(&name, schema, "cdr", BTreeMap::new()).unwrap();
            let time = Timestamp::from_nanos(1_000);
            file.write(channel, 0, time, time, &[0; 12]).unwrap();
        }
        folder.write("log.mcap", &file.finish().unwrap().into_inner());
        let named = match topics {
            1 => "the definition of /t0 cannot be used",
            2 => "the definitions of /t0, /t1 cannot be used",
            3 => "the definitions of /t0, /t1, /t2 cannot be used",
            4 => "the definitions of /t0, /t1, /t2 and 1 other topic cannot be used",
            _ => "the definitions of /t0, /t1, /t2 and 2 other topics cannot be used",
        };
        let batch =
            ["batch", "--force", "log.mcap", "-o", "set", "--format", "parquet"];
        folder.run(&batch).assert_status(3, &[named]);
    }
}

#[test]
fn type_missing_in_a_bag_is_loss() {
    let Some(log) = sample("rosbag/edge/def_missing_dep.bag") else { return };
    is_loss_everywhere(&log, "/d");
}

#[test]
fn recursive_type_is_loss() {
    is_loss_everywhere(&testdata("bad/types_25_deep.ulg"), "top");
}

/// A schema: its encoding and its text.
type Schema<'s> = (&'s str, &'s [u8]);

/// An MCAP file with two messages on one channel.
fn mcap(encoding: &str, schema: Option<Schema<'_>>, message: &[u8]) -> Vec<u8> {
    let options = WriterOptions::default();
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = match schema {
        Some((encoding, text)) => file.schema("pkg/Thing", encoding, text).unwrap(),
        None => Default::default(),
    };
    let channel = file.channel("/thing", schema, encoding, BTreeMap::new()).unwrap();
    for number in 0..2 {
        let time = Timestamp::from_nanos(1_000 + i64::from(number));
        file.write(channel, number, time, time, message).unwrap();
    }
    file.finish().unwrap().into_inner()
}

#[test]
fn unreadable_schema_of_any_encoding_is_loss() {
    let folder = Folder::new();
    let broken: [(&str, &str, &[u8], &[u8]); 4] = [
        ("protobuf", "protobuf", b"\x0a\xff\xff\xff\x07no descriptor", b"\x08\x01"),
        ("json", "jsonschema", b"{\"type\": \"obj", b"{\"a\": 1}"),
        ("ros1", "ros1msg", b"float64 x\n\0\0\0\0\n", &[0; 8]),
        ("cdr", "ros2msg", b"pkg/Missing x\n", &[0; 12]),
    ];
    for (encoding, schema, text, message) in broken {
        let log = folder.write(
            &format!("{encoding}.mcap"),
            &mcap(encoding, Some((schema, text)), message),
        );
        is_loss_everywhere(log.to_str().unwrap(), "/thing");
    }
}

#[test]
fn unknown_or_empty_schema_is_not_loss() {
    let folder = Folder::new();
    let sound: [(&str, Option<Schema<'_>>); 5] = [
        ("odd", None),
        ("odd", Some(("odd", b"\x04\x05\x06"))),
        ("protobuf", Some(("flatbuffer", b"\x04\x05\x06"))),
        ("cdr", Some(("ros2idl", b"module pkg {}"))),
        ("ros1", Some(("ros1msg", b""))),
    ];
    for (encoding, schema) in sound {
        folder.write("log.mcap", &mcap(encoding, schema, &[0, 1, 0, 0, 7]));
        for command in [&["info", "log.mcap"][..], &["cat", "log.mcap"]] {
            let run = folder.run(command);
            assert_eq!(run.status, 0, "{encoding} {schema:?} {run:?}");
        }
    }
}
