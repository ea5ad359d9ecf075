//! The cases of values in outputs: services, images, texts, tables and names.

use std::{collections::BTreeMap, fs, io::Cursor};

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};
use logtool_sinks::decode_wide_gray;
use serde_json::{Value, json};

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

/// A case among the samples, if they are there.
fn case(name: &str) -> Option<String> {
    sample(&format!("cases/{name}"))
}

/// The data of the records that `cat` prints of a sound log.
#[track_caller]
fn cat(log: &str) -> Vec<Value> {
    let run = Folder::new().run(&["cat", "--json", log]).assert_status(0, &[]);
    run.json_lines().into_iter().map(|line| line["data"].clone()).collect()
}

/// The files in the folder of images `topic` of `out`, without the table.
fn images(folder: &Folder, topic: &str) -> Vec<Vec<u8>> {
    let dir = format!("out/{topic}");
    let names = folder.list(&dir).into_iter().filter(|name| name != "index.csv");
    names.map(|name| fs::read(folder.path().join(&dir).join(name)).unwrap()).collect()
}

#[test]
fn events_of_services_are_decoded() {
    let Some(log) = case("mcap/service_events.mcap") else { return };
    let gid: Vec<u8> = (0..16).collect();
    let events = cat(&log);
    assert_eq!(
        events[0],
        json!({
            "info": {
                "event_type": 1, "stamp": 101_000_000_005_i64, "client_gid": gid,
                "sequence_number": 1,
            },
            "request": [{"a": 2, "b": 3}],
            "response": [],
        })
    );
    assert_eq!(events[1]["info"]["event_type"], 2);
    assert_eq!(events[1]["request"], json!([]));
    assert_eq!(events[1]["response"], json!([{"sum": 5}]));
    assert_eq!(events[2]["info"]["sequence_number"], 2);
    assert_eq!(
        (&events[2]["request"], &events[2]["response"]),
        (&json!([]), &json!([]))
    );
    let folder = Folder::new();
    folder.run(&["check", &log]).assert_status(0, &[]);
    folder.run(&["convert", &log, "-o", "x.bag"]).assert_status(0, &[]);
    let x = folder.path().join("x.bag").into_os_string().into_string().unwrap();
    assert_eq!(cat(&x)[1]["response"], json!([{"sum": 5}]));
}

#[test]
fn definition_that_is_only_a_name_is_replaced() {
    let Some(log) = case("mcap/definition_is_only_the_name.mcap") else { return };
    assert_eq!(cat(&log)[0], json!({"x": 1.0, "y": 2.0, "z": 3.0}));
    let info = Folder::new().run(&["info", &log]).assert_status(0, &[]);
    assert!(info.stdout.contains("that of the well-known type is used"), "{info:?}");
}

#[test]
fn names_of_ros2_give_the_same_images() {
    let Some(log) = case("rosbag/yuv_names_of_ros2.bag") else { return };
    let folder = Folder::new();
    let convert = ["convert", &log, "-o", "out", "--format", "images"];
    folder.run(&convert).assert_status(0, &[]);
    let topics = folder.list("out");
    let of = |word: &str| {
        let topic = topics.iter().find(|name| name.ends_with(word)).unwrap();
        images(&folder, topic)
    };
    assert_eq!(of("_uyvy"), of("_yuv422"), "{topics:?}");
    assert_eq!(of("_yuyv"), of("_yuv422_yuy2"), "{topics:?}");
}

#[test]
fn compressed_depth_becomes_millimeters() {
    let Some(log) = case("rosbag/compressed_depth_32fc1.bag") else { return };
    let folder = Folder::new();
    let convert = ["convert", &log, "-o", "out", "--format", "images"];
    folder.run(&convert).assert_status(0, &[]);
    let topic =
        folder.list("out").into_iter().find(|name| !name.contains('.')).unwrap();
    let files = images(&folder, &topic);
    let millimeters = decode_wide_gray(&files[0], 1 << 20).unwrap().samples;
    // compressed_depth_image_transport: depth = A / (v - B), A 10100, B -1009.
    let expected = [500, 1000, 2000, 3001, 5000, 8003, 9902];
    assert!(
        millimeters.iter().filter(|value| **value > 0).eq(expected.iter()),
        "{millimeters:?}"
    );
}

#[test]
fn unsupported_images_and_encapsulations_are_not_damage() {
    if let Some(log) = case("mcap/cdr2_delimited.mcap") {
        let folder = Folder::new();
        let run = folder.run(&["cat", "--json", &log]).assert_status(3, &["00 09"]);
        assert!(!run.stderr.contains("damaged"), "{run:?}");
        assert!(
            run.json_lines().iter().all(|line| line["data"]["payload"].is_string())
        );
        let check = folder.run(&["check", &log]).assert_status(0, &[]).stdout;
        assert!(check.contains("encoding.unsupported"), "{check}");
    }
    let folder = Folder::new();
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema("sensor_msgs/Image", "ros1msg", b"").unwrap();
    let channel = file.channel("/image", schema, "ros1", BTreeMap::new()).unwrap();
    let text =
        |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let numbers = |numbers: &[u32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    for (seconds, encoding, data) in [(1, "mono8", "ab"), (2, "nv16", "abcd")] {
        // Header, height, width, encoding, is_bigendian, step, data.
        let image = [
            numbers(&[0, seconds, 0]),
            text("camera"),
            numbers(&[1, 2]),
            text(encoding),
            vec![0],
            numbers(&[2]),
            text(data),
        ];
        let time = Timestamp::from_nanos(i64::from(seconds));
        file.write(channel, 0, time, time, &image.concat()).unwrap();
    }
    folder.write("x.mcap", &file.finish().unwrap().into_inner());
    let convert = ["convert", "x.mcap", "-o", "out", "--format", "images"];
    let run = folder.run(&convert).assert_status(3, &["\"nv16\" is not supported"]);
    assert!(!run.stderr.contains("damaged"), "{run:?}");
    assert_eq!(images(&folder, "image").len(), 1);
    folder.run(&["check", "x.mcap"]).assert_status(0, &[]);
}

#[test]
fn elements_without_fields_are_counted() {
    let Some(log) = case("rosbag/list_of_empty_type.bag") else { return };
    let data = &cat(&log)[0];
    assert_eq!(data["x"], 9);
    let lists: Vec<&Value> =
        data.as_object().unwrap().values().filter(|value| value.is_array()).collect();
    assert_eq!(lists, [&json!([{}, {}, {}])]);
    let folder = Folder::new();
    for format in ["csv", "parquet"] {
        let convert = ["convert", "-f", &log, "-o", "out", "--format", format];
        folder.run(&convert).assert_status(0, &["the column has their number"]);
    }
    folder
        .run(&["convert", "-f", &log, "-o", "x.ulg"])
        .assert_status(0, &["the column has their number"]);
    let jsonl = ["convert", "-f", &log, "-o", "json", "--format", "jsonl"];
    let run = folder.run(&jsonl).assert_status(0, &[]);
    assert!(!run.stderr.contains("their number"), "{run:?}");
}

/// The text of the case, whose bytes end after the first byte of a second `ü`.
const CUT: &str = "Tür \u{fffd}";

#[test]
fn text_that_ends_inside_a_character_is_the_same_everywhere() {
    let Some(log) = case("ulog/utf8_cut_at_array_end.ulg") else { return };
    let folder = Folder::new();
    for new in ["x.mcap", "x.bag"] {
        folder.run(&["convert", &log, "-o", new]).assert_status(0, &[]);
    }
    folder
        .run(&["convert", &log, "-o", "out", "--format", "csv"])
        .assert_status(0, &["end inside a UTF-8 character"]);
    for file in folder.list("out").iter().filter(|file| file.ends_with(".csv")) {
        let table = folder.read(&format!("out/{file}"));
        assert!(!table.contains('Ã'), "{file}: {table}");
    }
    for file in [log.as_str(), "x.mcap", "x.bag"] {
        let cat = folder.run(&["cat", "--json", file]).stdout;
        assert!(cat.contains(CUT) && !cat.contains('Ã'), "{file}: {cat}");
        let messages = folder.run(&["messages", file]).stdout;
        assert!(messages.contains(CUT), "{file}: {messages}");
    }
    let check = folder.run(&["check", &log]).assert_status(0, &[]).stdout;
    assert!(check.contains("text.incomplete"), "{check}");
}

#[test]
fn cut_text_in_cdr_keeps_its_characters() {
    let Some(log) = case("mcap/utf8_cut_cdr_string.mcap") else { return };
    let folder = Folder::new();
    let run = folder.run(&["cat", "--json", &log]);
    assert!(run.stdout.contains(CUT), "{run:?}");
    assert!(run.stderr.contains("end inside a UTF-8 character"), "{run:?}");
}

#[test]
fn special_floats_are_those_that_readers_expect() {
    let Some(log) = case("ulog/specials.ulg") else { return };
    let folder = Folder::new();
    let cells = |options: &[&str]| -> String {
        let convert = ["convert", "-f", "-q", &log, "-o", "out", "--format", "csv"];
        folder.run(&[&convert[..], options].concat()).assert_status(0, &[]);
        let tables = folder.list("out");
        let tables = tables.iter().filter(|name| name.ends_with(".csv"));
        tables.map(|name| folder.read(&format!("out/{name}"))).collect()
    };
    let plain = cells(&[]);
    let has = |text: &str, word: &str| text.split([',', '\n']).any(|cell| cell == word);
    assert!(has(&plain, "NaN") && has(&plain, "inf") && has(&plain, "-inf"), "{plain}");
    assert!(!has(&plain, "nan"), "{plain}");
    // Spark: nanValue=NaN; positiveInf is Inf, and Infinity is read too.
    let spark = cells(&["--layout", "spark"]);
    for word in ["NaN", "Infinity", "-Infinity"] {
        assert!(has(&spark, word), "{word}: {spark}");
    }
    assert!(!has(&spark, "inf") && !has(&spark, "-inf"), "{spark}");
}

#[test]
fn na_of_r_is_a_missing_number() {
    let Some(log) = case("tables/from_r.csv") else { return };
    // R: c(1.5, NaN, Inf, -Inf); infinities are null in JSON.
    let folder = Folder::new();
    let run = folder.run(&["cat", "--json", "--keep-infinities", &log]);
    let run = run.assert_status(0, &[]);
    let values: Vec<&str> = run.stdout.lines().collect();
    let ends = ["\"a\":1.5", "\"a\":null", "\"a\":1e999", "\"a\":-1e999"];
    for (line, end) in values.iter().zip(ends) {
        assert!(line.contains(end), "{end}: {line}");
    }
    assert_eq!(values.len(), 4);
}

#[test]
fn names_are_changed_for_ros2_with_a_note() {
    let Some(log) = case("rosbag/camel_case.bag") else { return };
    let folder = Folder::new();
    let note = "my_msgs/Pose.timeStamp → time_stamp, my_msgs/Pose.seqNo → seq_no, \
                my_msgs/Pose.frameId → frame_id";
    folder.run(&["convert", &log, "-o", "x.mcap", "--ros2"]).assert_status(0, &[note]);
    let data = folder.run(&["cat", "--json", "x.mcap"]).assert_status(0, &[]);
    let first = &data.json_lines()[0]["data"];
    let names: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 3);
    for name in ["time_stamp", "seq_no", "frame_id"] {
        assert!(names.iter().any(|key| *key == name), "{name}: {first}");
    }
}

#[test]
fn mcap_files_of_ros1_come_with_one_hint() {
    let folder = Folder::new();
    let hint = "hint: Rerun and PlotJuggler 4";
    let (rover, puck) = (testdata("rover.bag"), testdata("puck.pcap"));
    for log in [&rover, &puck] {
        let run = folder.run(&["convert", "-f", log, "-o", "x.mcap"]);
        assert_eq!(run.stderr.matches(hint).count(), 1, "{run:?}");
        let run = folder.run(&["convert", "-f", log, "-o", "x.mcap", "--ros2"]);
        assert_eq!(run.stderr.matches(hint).count(), 0, "{run:?}");
    }
    let several = ["convert", "-f", &rover, &puck, "-o", "out", "--format", "mcap"];
    let run = folder.run(&several);
    assert_eq!((run.status, run.stderr.matches(hint).count()), (0, 1), "{run:?}");
    let quiet = folder.run(&["convert", "-q", "-f", &rover, "-o", "x.mcap"]);
    assert!(!quiet.stderr.contains(hint), "{quiet:?}");
    let flight = testdata("quad_flight.ulg");
    let run = folder.run(&["convert", "-f", &flight, "-o", "x.mcap"]);
    assert!(!run.stderr.contains(hint), "{run:?}");
}

#[test]
fn times_after_2262_are_not_the_end_of_the_log() {
    let Some(log) = case("mcap/log_time_after_2262.mcap") else { return };
    let folder = Folder::new();
    let info = folder.run(&["info", &log]);
    let output = format!("{}{}", info.stdout, info.stderr);
    assert_eq!(info.status, folder.run(&["cat", &log]).status, "{info:?}");
    assert_eq!(info.status, 3, "{info:?}");
    assert!(output.contains("2025-06-15 15:06:42"), "{output}");
    assert!(!output.contains("to 2262-"), "{output}");
    assert!(output.contains("2 records with values"), "{output}");
}

#[test]
fn filtered_ulog_has_one_section() {
    let Some(log) = case("ulog/appended_records.ulg") else { return };
    let folder = Folder::new();
    for command in ["filter", "repair"] {
        let new = format!("{command}.ulg");
        folder.run(&[command, &log, "-o", &new]).assert_status(0, &[]);
        let bytes = fs::read(folder.path().join(&new)).unwrap();
        // The flag bits follow the header: 8 compatible and 8 incompatible ones, and then
        // 3 offsets. The first incompatible flag means appended data (ULog specification).
        assert_eq!(bytes[18], b'B');
        assert_eq!((bytes[27], &bytes[35..59]), (0, &[0; 24][..]), "{command}");
        let records =
            |log: &str| folder.run(&["cat", "--json", log]).json_lines().len();
        assert_eq!(records(&new), records(&log), "{command}");
    }
}

#[test]
fn foxglove_log_is_a_source_of_messages() {
    let folder = Folder::new();
    let flight = testdata("quad_flight.ulg");
    folder.run(&["convert", "-q", &flight, "-o", "x.mcap"]).assert_status(0, &[]);
    let texts = |log: &str| -> Vec<(Value, Value)> {
        let run = folder.run(&["messages", "--json", log]).assert_status(0, &[]);
        let lines = run.json_lines().into_iter();
        lines.map(|line| (line["level"].clone(), line["message"].clone())).collect()
    };
    let (of_ulog, of_mcap) = (texts(&flight), texts("x.mcap"));
    assert!(!of_ulog.is_empty());
    let messages = |list: &[(Value, Value)]| -> Vec<Value> {
        list.iter().map(|(_, message)| message.clone()).collect()
    };
    assert_eq!(messages(&of_mcap), messages(&of_ulog));
    assert!(of_mcap.iter().any(|(level, _)| level == "info"), "{of_mcap:?}");
}

#[test]
fn text_of_csv_that_is_not_utf8_is_reported_by_cat_and_check() {
    let folder = Folder::new();
    folder.write("a.csv", b"time,s\n1,S\xfcd\n2,ok\n");
    let run = folder.run(&["cat", "--json", "a.csv"]).assert_status(0, &["Latin-1"]);
    assert!(run.stdout.contains("\"Süd\""), "{run:?}");
    let check = folder.run(&["check", "a.csv"]).assert_status(0, &[]);
    assert!(check.stdout.contains("text.latin1"), "{check:?}");
}

#[test]
fn infinities_are_words_in_text() {
    let folder = Folder::new();
    folder.write("a.csv", b"time,x\n1,inf\n2,-inf\n3,1.5\n");
    let run = folder.run(&["cat", "--format", "text", "a.csv"]).assert_status(0, &[]);
    for value in ["x=inf", "x=-inf", "x=1.5"] {
        assert!(run.stdout.contains(value), "{value}: {run:?}");
    }
}

#[test]
fn depth_that_is_compressed_with_rvl_becomes_images() {
    let folder = Folder::new();
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let schema = file.schema("sensor_msgs/CompressedImage", "ros1msg", b"").unwrap();
    let channel = file.channel("/image", schema, "ros1", BTreeMap::new()).unwrap();
    let text = |text: &[u8]| [&(text.len() as u32).to_le_bytes()[..], text].concat();
    let numbers = |numbers: &[u32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    // The format and two floats, the width, the height; then the words of RVL for 500, 501, 0, 0
    // and 0, 490, 65535, 0.
    let depth = numbers(&[0, 0, 0, 4, 2, 0x028D_F123, 0x2D2A_D8EF, 0x3100_0000]);
    let message = [
        numbers(&[0, 1, 0]),
        text(b"camera"),
        text(b"16UC1; compressedDepth rvl"),
        text(&depth),
    ];
    let time = Timestamp::from_nanos(1);
    file.write(channel, 0, time, time, &message.concat()).unwrap();
    folder.write("x.mcap", &file.finish().unwrap().into_inner());
    let convert = ["convert", "x.mcap", "-o", "out", "--format", "images"];
    folder.run(&convert).assert_status(0, &[]);
    let files = images(&folder, "image");
    let samples = decode_wide_gray(&files[0], 1 << 20).unwrap().samples;
    assert_eq!(samples, [500, 501, 0, 0, 0, 490, 65_535, 0]);
}
