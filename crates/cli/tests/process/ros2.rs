//! Bags as MCAP files for ROS 2, and the reverse. The conformance suite compares the values with
//! those of other programs.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};
use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// Returns the output of `logtool cat` for a log without the `seq` of headers, which ROS 2 does
/// not have.
fn cat(folder: &Folder, log: &str) -> String {
    let text = folder.run(&["cat", "-q", "--json", log]).assert_success().stdout;
    let mut parts = text.split("\"seq\":");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(part.split_once(',').unwrap().1);
    }
    left
}

#[test]
fn bag_converted_for_ros_2_has_the_same_records() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder
        .run(&["convert", &bag, "-o", "new.mcap", "--ros2"])
        .assert_status(0, &["491 records"]);
    assert_eq!(cat(&folder, "new.mcap"), cat(&folder, &bag));
    let info = folder.run(&["info", "--json", "new.mcap"]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros2");
    // A file of ROS 1 is converted to the same file.
    folder
        .run(&["convert", &bag, "-o", "ros1.mcap"])
        .assert_status(0, &["491 records"]);
    folder
        .run(&["convert", "ros1.mcap", "-o", "again.mcap", "--ros2"])
        .assert_status(0, &["491 records"]);
    assert_eq!(cat(&folder, "again.mcap"), cat(&folder, "new.mcap"));
}

#[test]
fn only_mcap_outputs_accept_ros2() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder
        .run(&["convert", &bag, "-o", "x", "--ros2"])
        .assert_status(2, &["--format mcap"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn mismatching_message_is_reported_and_the_others_are_converted() {
    // The declared number of fields of the first cloud exceeds its length.
    let folder = Folder::new();
    folder
        .run(&["convert", &testdata("rover.bag"), "-o", "a.mcap"])
        .assert_status(0, &[]);
    let part = ["--topic", "/points", "--compression", "none"];
    folder
        .run(&[&["filter", "a.mcap", "-o", "b.mcap"][..], &part].concat())
        .assert_status(0, &[]);
    let mut bytes = std::fs::read(folder.path().join("b.mcap")).unwrap();
    let frame = b"\x05\0\0\0lidar";
    let at = bytes.windows(frame.len()).position(|some| some == frame).unwrap();
    bytes[at..at + 4].fill(0xff);
    folder.write("broken.mcap", &bytes);
    folder
        .run(&["convert", "broken.mcap", "-o", "new.mcap", "--ros2"])
        .assert_status(3, &["19 records", "does not match its schema", "/points"]);
    assert_eq!(cat(&folder, "new.mcap").lines().count(), 19);
}

#[test]
fn filter_merge_and_repair_accept_ros2() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let whole = ["convert", &bag, "-o", "whole.mcap", "--ros2", "-q"];
    folder.run(&whole).assert_success();
    for command in ["filter", "repair"] {
        let new = format!("{command}.mcap");
        folder.run(&[command, &bag, "-o", &new, "--ros2", "-q"]).assert_success();
        assert_eq!(cat(&folder, &new), cat(&folder, "whole.mcap"));
        let refused = folder.run(&[command, &bag, "-o", "new.bag", "--ros2"]);
        refused.assert_status(2, &["only MCAP files have messages of ROS 2"]);
    }
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).assert_success();
    }
    let merged = ["merge", "a.bag", "b.bag", "-o", "merged.mcap", "--ros2", "-q"];
    folder.run(&merged).assert_success();
    let info = folder.run(&["info", "--json", "merged.mcap"]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros2");
}

/// The topics of a log, as `info` prints them.
fn topics(folder: &Folder, log: &str) -> Vec<Value> {
    let info = folder.run(&["info", "--json", log]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    info["topics"].as_array().unwrap().clone()
}

#[test]
fn bag_round_trips_through_ros_2_except_for_seq() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["convert", &bag, "-q", "-o", "ros2.mcap", "--ros2"]).assert_success();
    folder
        .run(&["convert", "ros2.mcap", "-o", "new.bag"])
        .assert_status(0, &["491 records"]);
    assert_eq!(cat(&folder, "new.bag"), cat(&folder, &bag));
    let key = |topic: &Value| {
        let text = |key: &str| topic[key].to_string();
        let metadata = |key: &str| topic["metadata"][key].to_string();
        [text("name"), text("type_name"), metadata("md5sum"), metadata("latching")]
    };
    let expected: Vec<_> = topics(&folder, &bag).iter().map(key).collect();
    let actual: Vec<_> = topics(&folder, "new.bag").iter().map(key).collect();
    assert_eq!(actual, expected);
    assert!(
        actual[0][2].len() == 34 && actual.iter().any(|of| of[3] == "\"true\""),
        "{actual:?}"
    );
    // Some topics, a part of the time, and as one of several logs.
    let part = ["-q", "-t", "/imu*", "--start", "1s", "--end", "5s"];
    for (verb, log, out) in
        [("convert", "ros2.mcap", "part.bag"), ("filter", &bag, "wanted.bag")]
    {
        folder.run(&[&[verb, log, "-o", out][..], &part].concat()).assert_success();
    }
    assert_eq!(cat(&folder, "part.bag"), cat(&folder, "wanted.bag"));
    folder
        .run(&["merge", "ros2.mcap", &bag, "-o", "twice.bag"])
        .assert_status(0, &["982 records"]);
    assert_eq!(topics(&folder, "twice.bag").len(), expected.len());
}

/// A channel of one message: its name, encoding, type, schema encoding, definition and message.
type Channel<'c> = (&'c str, &'c str, &'c str, &'c str, &'c str, &'c [u8]);

/// Returns an MCAP file of these channels, with one message each.
fn mcap(channels: &[Channel<'_>]) -> Vec<u8> {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    for (name, encoding, type_name, of_schema, definition, message) in channels {
        let schema = file.schema(type_name, of_schema, definition.as_bytes()).unwrap();
        let words = [("callerid".to_owned(), format!("/of{name}"))];
        let channel = file.channel(name, schema, encoding, words.into()).unwrap();
        let time = Timestamp::from_nanos(1_500_000_000_000_000_000);
        file.write(channel, 7, time, time, message).unwrap();
    }
    file.finish().unwrap().into_inner()
}

#[test]
fn content_dropped_from_a_ros_2_file_is_named_before_the_bag_is_written() {
    let folder = Folder::new();
    let big = b"\0\0\0\0\0\0\0\x05\0\0\0\x03hi\0"; // 5 and "hi", the highest byte first
    let wide = b"\0\x01\0\0\0\0\0\0";
    let all = [
        (
            "/big",
            "cdr",
            "a_msgs/msg/B",
            "ros2msg",
            "int32 x\nstring<=9 s \"no\"",
            &big[..],
        ),
        ("/wide", "cdr", "a_msgs/msg/W", "ros2msg", "wstring s", wide),
        ("/idl", "cdr", "a_msgs/msg/I", "ros2idl", "module a_msgs {};", wide),
        ("/json", "json", "", "", "", b"{}"),
        ("/old", "ros1", "a_msgs/Old", "ros1msg", "uint8 x", b"\x09"),
    ];
    folder.write("all.mcap", &mcap(&all));
    let expected = [
        "warning: all.mcap: left out: the topic \"/wide\": a_msgs/W.s is a wstring",
        "left out: the topic \"/idl\": its definition is encoded as \"ros2idl\"",
        "left out: the topic \"/json\": its messages are encoded as",
        "2 records",
    ];
    folder.run(&["convert", "all.mcap", "-o", "all.bag"]).assert_status(0, &expected);
    let bytes = std::fs::read(folder.path().join("all.bag")).unwrap();
    // Encoded by hand, as ROS 1 writes them: little-endian, without the NUL.
    let contains = |some: &[u8]| bytes.windows(some.len()).any(|at| at == some);
    assert!(
        contains(b"\x0a\0\0\0\x05\0\0\0\x02\0\0\0hi"),
        "its length, and the message"
    );
    assert!(contains(b"int32 x\nstring s\n") && contains(b"callerid=/of/big"));
    assert!(contains(b"\x01\0\0\0\x09"));
    folder.write("old.mcap", &mcap(&all[4..]));
    let expected = [&expected[..3], &["3 records"]].concat();
    let merged = ["merge", "all.mcap", "old.mcap", "-o", "merged.bag"];
    folder.run(&merged).assert_status(0, &expected);
    // `filter` copies messages unchanged.
    let args = ["filter", "all.mcap", "-o", "x.bag", "-t", "/big"];
    folder.run(&args).assert_status(
        1,
        &[
            "the encoding of its messages is \"cdr\"",
            "hint: `logtool convert` makes a bag",
        ],
    );
    // No remaining topic can be written to a bag.
    folder.write("none.mcap", &mcap(&all[1..4]));
    let refused = ["no topic can be translated to messages of ROS 1", "/wide", "/json"];
    folder.run(&["convert", "none.mcap", "-o", "none.bag"]).assert_status(1, &refused);
    assert!(!folder.list(".").contains(&"none.bag".to_owned()));
}

#[test]
fn mismatching_ros_2_message_is_reported_and_the_others_are_converted() {
    let folder = Folder::new();
    let good = b"\0\x01\0\0\x01\0\0\0";
    let fields = ("cdr", "a_msgs/msg/B", "ros2msg", "int32 x");
    let (encoding, of, of_schema, definition) = fields;
    let channel = |name, message| (name, encoding, of, of_schema, definition, message);
    let parameters = b"\0\x03\0\0\x01\0\0\0"; // a list of parameters
    let channels = [
        channel("/a", &good[..]),
        channel("/b", &good[..6]),
        channel("/c", parameters),
    ];
    folder.write("some.mcap", &mcap(&channels));
    let expected = ["1 record of /b lost", "does not match its schema", "PL_CDR"];
    folder.run(&["convert", "some.mcap", "-o", "some.bag"]).assert_status(3, &expected);
    assert_eq!(cat(&folder, "some.bag").lines().count(), 1);
}

#[test]
fn time_before_1970_is_reported_for_ros_1() {
    let folder = Folder::new();
    let time = "builtin_interfaces/Time t\nbuiltin_interfaces/Duration d";
    let channel =
        |name, message| (name, "cdr", "a_msgs/msg/T", "ros2msg", time, message);
    // Encoded by hand: -1 s and half a second, and -1 s as a duration, which ROS 1 also has;
    // then times that both can represent.
    let before = b"\0\x01\0\0\xff\xff\xff\xff\0\x65\xcd\x1d\xff\xff\xff\xff\0\0\0\0";
    let after = b"\0\x01\0\0\xff\xff\xff\x7f\0\x65\xcd\x1d\xff\xff\xff\xff\0\0\0\0";
    let all = [channel("/before", &before[..]), channel("/after", after)];
    folder.write("both.mcap", &mcap(&all));
    let expected = ["2 records", "a time before 1970, which ROS 1 reads", "of /before"];
    let run = folder
        .run(&["convert", "both.mcap", "-o", "both.bag"])
        .assert_status(3, &expected);
    assert!(!run.stderr.contains("of /after"), "{run:?}");
    assert_eq!(cat(&folder, "both.bag").lines().count(), 2);
    folder.write("after.mcap", &mcap(&all[1..]));
    folder
        .run(&["convert", "after.mcap", "-o", "after.bag"])
        .assert_status(0, &["1 record"]);
}

#[test]
fn dropped_metadata_is_named_before_a_bag_is_written() {
    let folder = Folder::new();
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema("a_msgs/Old", "ros1msg", b"uint8 x").unwrap();
    let metadata =
        [("a=b".to_owned(), "c".to_owned()), ("kept".to_owned(), "d".to_owned())];
    let channel = file.channel("/old", schema, "ros1", metadata.into()).unwrap();
    let time = Timestamp::from_nanos(1_500_000_000_000_000_000);
    file.write(channel, 7, time, time, b"\x09").unwrap();
    let words = [("by".to_owned(), "hand".to_owned())].into();
    file.metadata("notes", &words).unwrap();
    // The provenance does not count as dropped metadata.
    file.metadata("logtool", &words).unwrap();
    folder.write("a.mcap", &file.finish().unwrap().into_inner());
    let expected = "warning: a.mcap: left out: 1 metadata record (notes), 1 channel metadata pair: a \
                bag has only messages";
    for command in ["convert", "filter", "repair"] {
        let out = format!("{command}.bag");
        folder.run(&[command, "a.mcap", "-o", &out]).assert_status(0, &[expected]);
    }
    folder
        .run(&["merge", "a.mcap", "convert.bag", "-o", "c.bag"])
        .assert_status(0, &[expected]);
}
