//! `logtool filter`. Another command reads the source and the copy, and their records are
//! equal. The conformance suite reads copies with other programs.

use std::fs;

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

/// What `logtool cat` prints of a log.
fn cat(folder: &Folder, args: &[&str]) -> String {
    folder.run(&[&["cat", "--json", "-q"], args].concat()).assert_success().stdout
}

#[test]
fn filtered_log_equals_the_selected_part() {
    for (log, new, topic, from, to) in [
        ("quad_flight.ulg", "new.ulg", "vehicle_*", "5", "9.5"),
        ("rover.bag", "new.bag", "/imu*", "2", "6"),
    ] {
        let (folder, log) = (Folder::new(), testdata(log));
        let part = ["--topic", topic, "--start", from, "--end", to];
        let args = [&["filter", &log, "-o", new][..], &part].concat();
        folder.run(&args).assert_status(0, &["→", "records"]);
        let before: Vec<String> = times(&cat(&folder, &[&[&*log][..], &part].concat()));
        let after = times(&cat(&folder, &[new, "--topic", topic]));
        assert!(!before.is_empty() && before.len() == after.len(), "{new}");
        assert!(before == after, "{new} is not that part");
    }
}

/// The lines of JSON without the times, which are relative to the start of each log.
fn times(lines: &str) -> Vec<String> {
    let rest = |line: &str| line.split_once(",\"topic\"").unwrap().1.to_owned();
    lines.lines().map(rest).collect()
}

#[test]
fn completely_selected_ulog_is_copied_byte_for_byte() {
    for name in ["quad_flight.ulg", "pasta.ulg", "hostile_types.ulg"] {
        let (folder, log) = (Folder::new(), testdata(name));
        folder.run(&["filter", &log, "-q", "-o", "new.ulg"]).assert_success();
        let new = folder.path().join("new.ulg");
        assert!(fs::read(new).unwrap() == fs::read(log).unwrap(), "{name}");
    }
}

#[test]
fn excluded_topics_are_not_copied() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let args = ["filter", &bag, "-o", "new.bag", "-x", "/imu*", "-x", "/tf", "-q"];
    folder.run(&args).assert_success();
    let report =
        folder.run(&["info", "--json", "new.bag"]).assert_success().json_lines();
    let mut names: Vec<&str> = report[0]["topics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|topic| topic["origin"] == "logged")
        .map(|topic| topic["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    // testdata/README.md names eight topics.
    let want =
        ["/camera/image_raw", "/diagnostics", "/gps/fix", "/map", "/points", "/scan"];
    assert_eq!(names, want);
}

#[test]
fn latched_messages_are_copied_to_the_start_of_a_cut() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let cut =
        ["--start", "2024-06-01T10:00:05Z", "-q", "-t", "/map", "-t", "/imu/data"];
    let without = [&["filter", &bag, "-o", "without.bag"][..], &cut].concat();
    folder.run(&without).assert_success();
    let with = [&["filter", &bag, "-o", "with.bag", "--latch"][..], &cut].concat();
    folder.run(&with).assert_success();
    let count = |bag| cat(&folder, &[bag, "--topic", "/map"]).lines().count();
    assert_eq!((count("without.bag"), count("with.bag")), (0, 1));
    let map = &folder.run(&["cat", "--json", "with.bag", "-n1"]).json_lines()[0];
    // date -u -d 2024-06-01T10:00:05Z +%s
    assert_eq!(
        (&map["topic"], map["time"].as_i64()),
        (&"/map".into(), Some(1717236005000000000))
    );
}

#[test]
fn records_are_retimed_by_their_stamp() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let args =
        ["filter", &bag, "-o", "new.bag", "--restamp", "-t", "/imu*", "-t", "/tf"];
    folder.run(&args).assert_status(0, &["these keep their times: /tf"]);
    // The cut has no message of /map.
    let cut =
        ["filter", &bag, "-o", "cut.bag", "--restamp", "-t", "/imu*", "-t", "/map"];
    let run = folder.run(&[&cut[..], &["--start", "2024-06-01T10:00:05Z"]].concat());
    assert!(!run.assert_status(0, &[]).stderr.contains("keep their times"));
    for line in folder.run(&["cat", "--json", "new.bag", "-t", "/imu*"]).json_lines() {
        let stamp = line["data"]["header"]["stamp"].as_i64().unwrap();
        assert_eq!(line["time"].as_i64(), Some(stamp), "{line}");
    }
}

#[test]
fn topics_are_renamed() {
    for (log, new, from, to) in [
        ("quad_flight.ulg", "new.ulg", "battery_status.1", "cells.1"),
        ("rover.bag", "new.bag", "/imu/data", "/imu"),
    ] {
        let (folder, log) = (Folder::new(), testdata(log));
        let name = to.strip_suffix(".1").unwrap_or(to);
        let rename = format!("{from}={name}");
        folder
            .run(&["filter", &log, "-o", new, "-q", "--rename", &rename])
            .assert_success();
        let count = times(&cat(&folder, &[&log, "--topic", from])).len();
        assert_eq!(times(&cat(&folder, &[new, "--topic", to])).len(), count);
        folder.run(&["cat", new, "--topic", from]).assert_status(1, &["no topic"]);
    }
}

#[test]
fn existing_output_is_replaced_only_with_force() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("new.ulg", b"mine");
    let args = ["filter", "flight.ulg", "-o", "new.ulg"];
    folder.run(&args).assert_status(1, &["exists already", "--force"]);
    assert_eq!(folder.read("new.ulg"), "mine");
    folder.run(&[&args[..], &["--force", "-q"]].concat()).assert_success();
    assert_eq!(folder.list("."), ["flight.ulg", "new.ulg"]);
}

#[test]
fn filter_rejects_unusable_arguments_without_output() {
    let folder = Folder::with_log(&bytes::log());
    for (status, args, words) in [
        (2, &["-o", "new.bag"][..], "looks like a ROS bag, and the log is a ULog"),
        (2, &["-o", "new.ulg", "--latch"], "--start"),
        (2, &["-o", "new.ulg", "--rename", "att"], "/old/name=/new/name"),
        (1, &["-o", "new.ulg", "--rename", "atz=b"], "did you mean `att`"),
        (
            2,
            &["-o", "new.ulg", "--rename", "att=b", "--rename", "att=c"],
            "renamed twice",
        ),
        (1, &["-o", "new.ulg", "--restamp"], "header.stamp"),
        (1, &["-o", "new.ulg", "--topic", "messages"], "no topic is left"),
        (
            2,
            &["-o", "new.ulg", "--compression", "lz4"],
            "ULogs have no compressed chunks",
        ),
    ] {
        folder
            .run(&[&["filter", "flight.ulg"], args].concat())
            .assert_status(status, &[words]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn each_compression_has_the_same_records() {
    let Some(bag) = sample("rosbag/example-bz2.bag") else { return };
    let folder = Folder::new();
    let want = cat(&folder, &[&bag]);
    for compression in ["none", "lz4", "bz2"] {
        let args =
            ["filter", &bag, "-o", "new.bag", "-fq", "--compression", compression];
        folder.run(&args).assert_success();
        assert!(cat(&folder, &["new.bag"]) == want, "{compression}");
    }
}

#[test]
fn log_is_not_written_over_itself() {
    let folder = Folder::with_log(&bytes::log());
    let before = std::fs::read(folder.path().join("flight.ulg")).unwrap();
    for args in [
        &["filter", "flight.ulg", "-t", "att"][..],
        &["repair", "./flight.ulg"],
        &["merge", "flight.ulg", "flight.ulg"],
        &["convert", "flight.ulg", "--format", "ulog"],
    ] {
        let args = [args, &["-f", "-o", "flight.ulg"]].concat();
        folder.run(&args).assert_status(2, &["would be overwritten by itself"]);
    }
    assert_eq!(std::fs::read(folder.path().join("flight.ulg")).unwrap(), before);
}

#[test]
fn rename_to_a_topic_of_another_type_is_warned_about() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let args = ["filter", &bag, "-fo", "new.bag", "--rename"];
    let run = folder.run(&[&args[..], &["/gps/fix=/scan"]].concat());
    let types = "sensor_msgs/LaserScan, sensor_msgs/NavSatFix";
    run.assert_status(0, &[&format!("/scan will have several types: {types}")]);
    let run = folder.run(&[&args[..], &["/gps/fix=/fix"]].concat());
    assert!(!run.stderr.contains("several types"), "{run:?}");
    let only = ["/gps/fix=/scan", "--topic", "/gps/fix"];
    let run = folder.run(&[&args[..], &only].concat());
    assert!(!run.stderr.contains("several types"), "{run:?}");
}
