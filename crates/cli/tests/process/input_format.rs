//! `--input-format`: files whose first bytes are destroyed.

use std::fs;

use crate::{program::Folder, samples::sample};

/// A sample, its format, the number of its first bytes that are destroyed, a part of the
/// warning, and the number of its records in the destroyed bytes.
type Case = (&'static str, &'static str, usize, &'static str, usize);

const CASES: [Case; 11] = [
    ("ulog/pyulog_sample.ulg", "ulog", 16, "bytes 0..16", 0),
    ("ulog/pyulog_sample.ulg", "ulog", 100, "bytes 0..16", 0),
    ("ulog/pyulog_sample.ulg", "ulog", 2000, "bytes 0..16", 0),
    ("rosbag/example.bag", "bag", 64, "bytes 0..4117", 0),
    ("rosbag/example-lz4.bag", "rosbag", 4000, "bytes 0..4117", 0),
    ("cases/mcap/m15_ZSTD.mcap", "mcap", 8, "bytes 0..8", 0),
    ("cases/mcap/m15_ZSTD.mcap", "MCAP", 20, "bytes 0..8", 0),
    ("velodyne/sample_real_s1.vel", "vel", 12, "bytes 0..20", 0),
    ("velodyne/sample_real_s1.vel", "vel", 200, "bytes 0..12", 2),
    ("velodyne/vlp16_gadomski_single.pcap", "pcap", 24, "bytes 0..24", 0),
    ("velodyne/vlp16_opendlv_sampleShort.pcap", "pcap", 1000, "bytes 0..24", 1),
];

#[test]
fn records_after_a_destroyed_start_are_read() {
    for (name, format, destroyed, lost, missing) in CASES {
        let Some(path) = sample(name) else { continue };
        let folder = Folder::new();
        let intact = folder.run(&["cat", &path]).stdout.lines().count();
        let mut bytes = fs::read(&path).unwrap();
        bytes[..destroyed].fill(0xa5);
        folder.write("log.bin", &bytes);
        let args = ["cat", "--input-format", format, "log.bin"];
        let read = folder.run(&args).assert_status(3, &[lost]);
        let case = format!("{name}, {destroyed} bytes");
        assert_eq!(read.stdout.lines().count(), intact - missing, "{case}");
    }
}

#[test]
fn every_command_takes_the_format() {
    let Some(path) = sample("cases/mcap/m15_ZSTD.mcap") else { return };
    let mut bytes = fs::read(path).unwrap();
    bytes[..8].fill(0);
    let folder = Folder::new();
    folder.write("log.mcap", &bytes);
    let commands: [&[&str]; 9] = [
        &["info", "log.mcap"],
        &["schema", "log.mcap"],
        &["convert", "log.mcap", "-o", "tables"],
        &["filter", "log.mcap", "-o", "part.mcap"],
        &["repair", "log.mcap", "-o", "whole.mcap"],
        &["merge", "log.mcap", "log.mcap", "-o", "both.mcap"],
        &["report", "log.mcap", "-o", "report.html"],
        &["index", "log.mcap", "-o", "catalog.parquet"],
        &["batch", "log.mcap", "-o", "dataset"],
    ];
    for command in commands {
        let without = folder.run(command);
        assert!(matches!(without.status, 1 | 3), "{without:?}");
        let run = folder.run(&[command, &["--input-format", "mcap"]].concat());
        assert!(matches!(run.status, 0 | 3), "{run:?}");
    }
    let check = folder.run(&["check", "log.mcap", "--input-format", "mcap"]);
    assert!(check.stdout.contains("the magic bytes of the file are lost"), "{check:?}");
    // The repaired file needs no option.
    folder.run(&["info", "whole.mcap"]).assert_success();
}

#[test]
fn wrong_input_format_is_an_error() {
    let Some(path) = sample("cases/mcap/m15_ZSTD.mcap") else { return };
    let folder = Folder::new();
    for format in ["ulog", "bag", "vel", "pcap", "csv", "parquet"] {
        let run = folder.run(&["info", "--input-format", format, &path]);
        run.assert_status(1, &["error: "]);
    }
    let unknown = folder.run(&["info", "--input-format", "text", &path]);
    unknown.assert_status(2, &["possible values: ulog, bag, mcap, vel, pcap"]);
}
