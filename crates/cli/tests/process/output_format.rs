//! `--format` of the commands that write one file, and the extension of its name.

use std::fs;

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

/// The first bytes of logs, according to the specifications in `docs/formats`.
const MCAP_MAGIC: &[u8] = b"\x89MCAP0\r\n";
const BAG_MAGIC: &[u8] = b"#ROSBAG V2.0\n";
const ULOG_MAGIC: &[u8] = b"ULog\x01\x12\x35";

fn starts_with(folder: &Folder, name: &str, magic: &[u8]) -> bool {
    fs::read(folder.path().join(name)).unwrap().starts_with(magic)
}

#[test]
fn filter_merge_and_repair_write_the_requested_format_under_any_name() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    for (args, magic) in [
        (&["filter", &bag, "--format", "mcap"][..], MCAP_MAGIC),
        (&["filter", &bag, "--format", "BAG"], BAG_MAGIC),
        (&["filter", &bag], BAG_MAGIC),
        (&["filter", "flight.ulg", "--format", "ulog"], ULOG_MAGIC),
        (&["repair", &bag, "--format", "mcap"], MCAP_MAGIC),
        (&["merge", &bag, "flight.ulg", "--format", "mcap"], MCAP_MAGIC),
        (&["merge", &bag, "flight.ulg", "--format", "bag"], BAG_MAGIC),
    ] {
        let extra: &[&str] =
            if args[0] == "merge" { &["--offset=2=1717236000"] } else { &[] };
        let args = [args, extra, &["-q", "-f", "-o", "copy.out"]].concat();
        folder.run(&args).assert_success();
        assert!(starts_with(&folder, "copy.out", magic), "{args:?}");
    }
}

#[test]
fn unsuitable_formats_are_rejected_with_the_possible_ones() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    let possible = "a copy of a ROS bag can be a ROS bag or an MCAP file";
    for (args, words) in [
        (&["filter", &bag, "--format", "ulog"][..], possible),
        (&["repair", &bag, "--format", "vel"], possible),
        (
            &["filter", "flight.ulg", "--format", "mcap"],
            "a copy of a ULog can be a ULog;",
        ),
        (&["merge", &bag, &bag, "--format", "pcap"], possible),
        (&["filter", &bag, "--format", "csv"], possible),
        (&["filter", &bag, "--format", "txt"], "possible values: ulog, bag, mcap, vel"),
    ] {
        folder.run(&[args, &["-o", "copy"]].concat()).assert_status(2, &[words]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn names_of_other_formats_contradict_the_requested_format() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    for (args, words) in [
        (&["filter", &bag, "--format", "mcap", "-o", "x.bag"][..], "looks like bag"),
        (&["filter", &bag, "--format", "mcap", "-o", "x.csv"], "looks like csv"),
        (&["plot", "flight.ulg", "att.x", "--format", "png", "-o", "x.svg"], "is png"),
        (&["index", "flight.ulg", "--format", "csv", "-o", "x.parquet"], "is csv"),
    ] {
        folder.run(args).assert_status(2, &[words, "--format"]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn plots_and_reports_have_the_requested_format_under_any_name() {
    let folder = Folder::with_log(&bytes::log());
    for (args, magic) in [
        (&["plot", "flight.ulg", "att.x", "--format", "png"][..], &b"\x89PNG"[..]),
        (&["plot", "flight.ulg", "att.x", "--format", "svg"], b"<svg"),
        (&["plot", "flight.ulg", "att.x", "--format", "pdf"], b"%PDF-"),
        (&["report", "flight.ulg", "--format", "html"], b"<!DOCTYPE html>"),
    ] {
        folder.run(&[args, &["-q", "-f", "-o", "picture"]].concat()).assert_success();
        assert!(starts_with(&folder, "picture", magic), "{args:?}");
    }
    let hints = [
        "the name x.bmp does not state a format",
        ".svg or .png or .pdf, or use --format",
    ];
    folder
        .run(&["plot", "flight.ulg", "att.x", "-o", "x.bmp"])
        .assert_status(2, &hints);
    let hints = ["the name x does not state a format", "end in .html"];
    folder.run(&["report", "flight.ulg", "-o", "x"]).assert_status(2, &hints);
}

#[test]
fn catalogs_have_the_requested_format_under_any_name() {
    let folder = Folder::with_log(&bytes::log());
    let index = |format: &str, out: &str| {
        folder.run(&["index", "flight.ulg", "--format", format, "-o", out])
    };
    index("csv", "catalog").assert_status(0, &[]);
    let catalog = folder.read("catalog");
    assert!(catalog.starts_with("log,source,digest,source_bytes,modified,format"));
    let rows = catalog.lines().skip(1);
    let topics: Vec<&str> = rows.map(|row| row.split(',').nth(21).unwrap()).collect();
    // The topics of the log in `bytes`, those of all ULogs, and the derived messages.
    let of_all = ["logged_strings", "parameter_changes", "dropouts", "messages"];
    assert_eq!(topics, [&["att", "att", "bat"][..], &of_all].concat());
    // An existing catalog is replaced, but no other file.
    index("csv", "catalog").assert_status(0, &[]);
    folder.write("mine.csv", b"a,b\n1,2\n");
    index("csv", "mine.csv").assert_status(1, &["mine.csv is not a catalog of logs"]);
    assert_eq!(folder.read("mine.csv"), "a,b\n1,2\n");
    index("jsonl", "lines").assert_status(0, &[]);
    assert!(folder.read("lines").starts_with("{\"log\":\"flight\""));
    index("parquet", "table").assert_status(0, &[]);
    assert!(starts_with(&folder, "table", b"PAR1"));
}

#[test]
fn calibrations_have_the_requested_format_under_any_name() {
    let Some(log) = sample("velodyne/puck.pcap") else { return };
    let folder = Folder::new();
    for (format, start) in [("yaml", "lasers"), ("xml", "<?xml")] {
        let args = ["calibration", &log, "-f", "-q", "--format", format, "-o", "lidar"];
        folder.run(&args).assert_success();
        let text = folder.read("lidar");
        assert!(text.trim_start().starts_with(start), "{format}: {text:.80}");
    }
}

#[test]
fn defaults_of_format_do_not_apply_to_files_with_an_extension() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("logtool.toml", b"format = \"parquet\"\n");
    folder.run(&["filter", "flight.ulg", "-q", "-o", "copy.ulg"]).assert_success();
    folder.run(&["plot", "flight.ulg", "att.x", "-q", "-o", "x.svg"]).assert_success();
}

#[test]
fn plots_reports_and_catalogs_are_not_written_to_standard_output() {
    let folder = Folder::with_log(&bytes::log());
    for args in [
        &["plot", "flight.ulg", "att.x", "--format", "svg"][..],
        &["report", "flight.ulg", "--format", "html"],
        &["index", "flight.ulg", "--format", "csv"],
    ] {
        let run = folder.run(&[args, &["-o", "-"]].concat());
        run.assert_status(
            2,
            &["cannot be written to standard output", "hint: name a file"],
        );
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn plots_and_reports_without_a_name_are_named_like_the_log() {
    let folder = Folder::with_log(&bytes::log());
    folder.run(&["plot", "flight.ulg", "att.x", "-q"]).assert_success();
    folder
        .run(&["plot", "flight.ulg", "att.x", "-q", "--format", "png"])
        .assert_success();
    folder.run(&["report", "./flight.ulg", "-q"]).assert_success();
    let names = ["flight.html", "flight.png", "flight.svg", "flight.ulg"];
    assert_eq!(folder.list("."), names);
    assert!(folder.read("flight.svg").starts_with("<svg"));
    // An existing file is kept.
    folder.run(&["plot", "flight.ulg", "att.x"]).assert_status(1, &["exists already"]);
    let log = bytes::log();
    let run = folder.run_with(&["plot", "-", "att.x"], &log);
    run.assert_status(2, &["has no name", "hint: name a file with -o"]);
}
