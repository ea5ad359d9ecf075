//! MCAP files converted from bags. The conformance suite reads them with other programs.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};
use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// What `logtool cat` prints of a log.
fn cat(folder: &Folder, log: &str, more: &[&str]) -> String {
    folder.run(&[&["cat", "-q", "--json", log], more].concat()).assert_success().stdout
}

#[test]
fn bag_converted_to_mcap_has_the_same_records() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["convert", &bag, "-o", "new.mcap"]).assert_status(0, &["491 records"]);
    assert_eq!(cat(&folder, "new.mcap", &[]), cat(&folder, &bag, &[]));
    let part = ["--topic", "/gps/*", "--start", "2", "--end", "3"];
    let (new, old) = (cat(&folder, "new.mcap", &part), cat(&folder, &bag, &part));
    assert!(new == old && new.lines().count() == 5, "5 Hz for a second: {new}");
    folder
        .run(&["convert", "new.mcap", "-o", "back.bag"])
        .assert_status(0, &["491 records"]);
    assert_eq!(cat(&folder, "back.bag", &[]), cat(&folder, &bag, &[]));
    let info = folder.run(&["info", "--json", "new.mcap"]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros1");
    assert_eq!(info["metadata"]["indexed"], true);
    assert_eq!(info["records"], 491);
}

#[test]
fn chunks_have_the_requested_compression() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let convert = |log: &str, out: &str, compression: &str| {
        folder.run(&["convert", log, "-q", "-o", out, "--compression", compression])
    };
    let contains = |name: &str, text: &[u8]| {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        bytes.windows(text.len()).any(|window| window == text)
    };
    convert(&bag, "a.mcap", "lz4").assert_success();
    convert(&testdata("puck.pcap"), "b.bag", "bz2").assert_status(0, &[]);
    // A string in MCAP is its length and its bytes; a field of a bag's header is
    // `name=value`.
    assert!(
        contains("a.mcap", b"\x03\0\0\0lz4") && !contains("a.mcap", b"\x04\0\0\0zstd")
    );
    assert!(
        contains("b.bag", b"compression=bz2")
            && !contains("b.bag", b"compression=none")
    );
    convert(&bag, "c", "lz4").assert_status(2, &["--compression is for"]);
    for (out, compression) in [("c.mcap", "bz2"), ("c.bag", "zstd")] {
        convert(&bag, out, compression)
            .assert_status(2, &["do not support", "the compression can be"]);
    }
    assert_eq!(folder.list("."), ["a.mcap", "b.bag"]);
}

#[test]
fn bags_are_filtered_merged_and_repaired_to_mcap() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let gps = ["--topic", "/gps/fix", "--compression", "lz4"];
    folder
        .run(&[&["filter", &bag, "-o", "gps.mcap"][..], &gps].concat())
        .assert_status(0, &["50 records"]);
    let imu = ["--topic", "/imu/data", "--compression", "none"];
    folder
        .run(&[&["filter", &bag, "-o", "imu.mcap"][..], &imu].concat())
        .assert_status(0, &["250 records"]);
    folder
        .run(&["merge", "gps.mcap", "imu.mcap", "-o", "both.mcap"])
        .assert_status(0, &["300 records"]);
    let want =
        cat(&folder, &bag, &["--order", "time", "-t", "/imu/data", "-t", "/gps/fix"]);
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&cat(&folder, "both.mcap", &[])), sorted(&want));

    // Without its end. The readable messages are written to a complete file.
    let whole = std::fs::read(folder.path().join("imu.mcap")).unwrap();
    folder.write("cut.mcap", &whole[..whole.len() / 2]);
    folder
        .run(&["repair", "cut.mcap", "-o", "mended.mcap"])
        .assert_status(3, &["records"]);
    let mended = cat(&folder, "mended.mcap", &[]);
    assert!(cat(&folder, "imu.mcap", &[]).starts_with(&mended) && mended.len() > 1_000);
}

#[test]
fn unsuitable_input_for_mcap_is_an_error_without_output() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder.run(&["convert", &log, "-o", "p.mcap", "-q"]).assert_success();
    folder
        .run(&["convert", "p.mcap", "-o", "new.bag"])
        .assert_status(1, &["protobuf", "ROS 1"]);
    let bag = testdata("rover.bag");
    folder
        .run(&["convert", &bag, "-o", "x.mcap", "--flat"])
        .assert_status(2, &["no columns"]);
    folder
        .run(&["convert", &bag, &log, "-o", "x.mcap"])
        .assert_status(2, &["several logs in one file", "merge"]);
    assert_eq!(folder.list("."), ["p.mcap"]);
}

#[test]
fn health_of_a_broken_mcap_file_has_its_profile_and_chunks() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    let packed = ["filter", &bag, "-q", "-o", "a.mcap", "--compression", "lz4"];
    folder.run(&packed).assert_success();
    let expected = ["profile     ros1, written by logtool", "chunks      \"lz4\": "];
    for args in [&["info", "a.mcap"][..], &["info", "--health", "a.mcap"]] {
        let shown = folder.run(args).assert_success().stdout;
        assert!(expected.iter().all(|line| shown.contains(line)), "{shown}");
    }
    // Without its end, and with a broken chunk.
    let mut bytes = std::fs::read(folder.path().join("a.mcap")).unwrap();
    bytes.truncate(bytes.len() - 100);
    let at = bytes.windows(7).position(|at| at == b"\x03\0\0\0lz4").unwrap() + 60;
    bytes[at..at + 40].fill(0xff);
    folder.write("b.mcap", &bytes);
    let shown = folder.run(&["info", "--health", "b.mcap"]);
    assert_eq!(shown.status, 3, "{shown:?}");
    assert!(expected.iter().all(|line| shown.stdout.contains(line)), "{shown:?}");
}

#[test]
fn unknown_compression_is_a_single_error() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    let packed = ["filter", &bag, "-q", "-o", "a.mcap", "--compression", "lz4"];
    folder.run(&packed).assert_success();
    let mut bytes = std::fs::read(folder.path().join("a.mcap")).unwrap();
    let name = b"\x03\0\0\0lz4";
    for at in 0..bytes.len() - name.len() {
        if bytes[at..].starts_with(name) {
            bytes[at + 4..at + 7].copy_from_slice(b"brz");
        }
    }
    bytes.truncate(bytes.len() - 100); // nor an end, nor its checksum
    folder.write("b.mcap", &bytes);
    let message = "the unknown compression \"brz\"";
    for args in [
        &["cat"][..],
        &["convert", "-o", "tables"],
        &["convert", "-o", "new.bag"],
        &["filter", "-o", "new.mcap"],
        &["merge", "a.mcap", "-o", "new.mcap"],
    ] {
        let run = folder.run(&[args, &["b.mcap"]].concat());
        run.assert_status(1, &["error: b.mcap: ", message]);
        assert_eq!(folder.list("."), ["a.mcap", "b.mcap"]);
    }
    let shown = folder.run(&["info", "b.mcap"]).stdout;
    assert!(shown.contains(message), "{shown}");
}

#[test]
fn foxglove_images_are_written_to_files() {
    let folder = Folder::new();
    // Encoded by hand, according to foxglove-sdk's .proto files: the time 1.5 s, and a file
    // or 2 by 1 pixels.
    let stamp = b"\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01\x00";
    let stamp = &stamp[..10];
    let jpeg = b"\x12\x05\xff\xd8\xff\xe0x\x1a\x04jpeg\x22\x03cam";
    let raw =
        b"\x15\x02\0\0\0\x1d\x01\0\0\0\x22\x05mono8\x2d\x02\0\0\0\x32\x02\x07\x09";
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    for (topic, type_name, message) in [
        ("/file", "foxglove.CompressedImage", &jpeg[..]),
        ("/raw", "foxglove.RawImage", raw),
    ] {
        let schema = file.schema(type_name, "protobuf", b"").unwrap();
        let channel =
            file.channel(topic, schema, "protobuf", Default::default()).unwrap();
        let (time, message) = (Timestamp::from_nanos(9), [stamp, message].concat());
        file.write(channel, 0, time, time, &message).unwrap();
    }
    folder.write("a.mcap", &file.finish().unwrap().into_inner());
    let args = ["convert", "a.mcap", "-q", "-o", "out", "--format", "images"];
    folder.run(&args).assert_success();
    let read =
        |name: &str| std::fs::read(folder.path().join("out").join(name)).unwrap();
    assert_eq!(read("file/1.500000000.jpg"), b"\xff\xd8\xff\xe0x");
    assert!(read("raw/1.500000000.png").starts_with(b"\x89PNG"));
}

#[test]
fn log_time_beyond_tables_is_reported_and_copied() {
    let folder = Folder::new();
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let channel = file.channel("/a", Default::default(), "json", Default::default());
    let channel = channel.unwrap();
    // One second, and twice the first time that is too late for tables.
    for nanos in [1_000_000_000, i64::MAX, i64::MAX] {
        let time = Timestamp::from_nanos(nanos);
        file.write(channel, 0, time, time, b"{}").unwrap();
    }
    folder.write("a.mcap", &file.finish().unwrap().into_inner());
    let expected = ["2 records with values", "null: its log time is after 2262-04-11"];
    folder.run(&["convert", "a.mcap", "-o", "t"]).assert_status(3, &expected);
    assert_eq!(folder.read("t/a_a_0.csv"), "time,json\n1000000000,{}\n,{}\n,{}\n");
    folder.run(&["filter", "a.mcap", "-o", "b.mcap"]).assert_status(3, &["3 records"]);
    folder.run(&["convert", "b.mcap", "-o", "u"]).assert_status(3, &expected);
}

#[test]
fn messages_without_a_time_are_left_out_of_bags() {
    let folder = Folder::new();
    for (encoding, type_name, schema_encoding, message) in [
        ("ros1", "a/B", "ros1msg", &b"\x07\0\0\0"[..]),
        ("cdr", "a/msg/B", "ros2msg", &b"\0\x01\0\0\x07\0\0\0"[..]),
    ] {
        let mut file =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        let schema = file.schema(type_name, schema_encoding, b"int32 x").unwrap();
        let channel = file.channel("/p", schema, encoding, Default::default()).unwrap();
        // One second, and the first time that is too late for all logs.
        for nanos in [1_000_000_000, i64::MAX] {
            let time = Timestamp::from_nanos(nanos);
            file.write(channel, 0, time, time, message).unwrap();
        }
        folder.write("a.mcap", &file.finish().unwrap().into_inner());
        let expected = ["1 record of /p lost", "its time is later than 2^63 - 2 ns"];
        folder
            .run(&["convert", "-f", "a.mcap", "-o", "a.bag"])
            .assert_status(3, &expected);
        let rows = folder.run(&["cat", "--json", "a.bag"]).assert_status(0, &[]);
        assert_eq!(rows.stdout.lines().count(), 1, "{encoding}: {rows:?}");
    }
}
