//! The lidar logs in `testdata/` equal the output of their generator, and conform.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

#[path = "../examples/make_lidar_logs/files.rs"]
mod files;

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{DamageKind, Log as _, OpenOptions, Value, conformance};
use logtool_velodyne::{
    capture::{self, CaptureLog},
    model::Model,
    vel::{self, IndexStatus, SizeField, VelLog},
};

fn testdata(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    fs::read(path).unwrap().into()
}

#[test]
fn generator_writes_the_files_in_testdata() {
    for (name, bytes) in files::all_logs().unwrap() {
        // Not `assert_eq`, which would print both.
        assert!(
            testdata(name) == bytes,
            "{name} differs; cargo run -p logtool-velodyne --example make_lidar_logs"
        );
        assert!(bytes.len() < 100_000, "{name}: {}", bytes.len());
    }
}

#[test]
fn generated_logs_conform() {
    conformance::check(&vel::FORMAT, testdata("car.vel"));
    conformance::check_damaged(&vel::FORMAT, testdata("damaged/cut.vel"));
    conformance::check(&capture::FORMAT, testdata("puck.pcap"));
}

#[test]
fn car_log_has_its_generated_contents() {
    let bytes = testdata("car.vel");
    let log = VelLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    assert_eq!(log.version(), (1, 1));
    assert_eq!(log.size_field(), SizeField::AfterItself);
    assert_eq!(log.index(), IndexStatus::Verified);
    let manifest = log.manifest();
    let records = |label: &str| {
        manifest.topic(manifest.topic_id(label).unwrap()).unwrap().records.unwrap()
    };
    assert_eq!(records("obd"), 2);
    assert_eq!(records("gps"), 2);
    assert_eq!(records("image"), 4);
    assert_eq!(records("pose"), 21);
    assert_eq!(records("velodyne_packets"), 6);
    assert_eq!(records("points"), 6);
    assert_eq!(records("message_0x00012345_v3"), 1);
    assert_eq!(manifest.metadata["packets"], Value::UInt(36));
    assert_eq!(log.lidar().unwrap().sensor.model, Model::Hdl64eS2);
    // 2010-09-30 13:11:07 UTC was 613 ms after the start of the program.
    let fit = manifest.clock.to_unix.as_ref().unwrap();
    assert_eq!(fit.offset_nanos, 1_285_852_267_000_000_000 - 613_000_000);
    assert_eq!((fit.spread_nanos, fit.observations), (0, 2));
    assert!(manifest.remarks.iter().any(|remark| remark.starts_with("1 message ")));
}

#[test]
fn truncated_message_keeps_its_complete_packets() {
    let bytes = testdata("damaged/cut.vel");
    let len = bytes.len() as u64;
    let log = VelLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    let manifest = log.manifest();
    assert_eq!(manifest.metadata["packets"], Value::UInt(35));
    let [lost] = &manifest.damage[..] else { panic!("{:?}", manifest.damage) };
    assert_eq!(lost.kind, DamageKind::Truncated);
    assert_eq!(lost.bytes, len - (1_206 - 700)..len);
}

#[test]
fn puck_capture_has_its_generated_contents() {
    let bytes = testdata("puck.pcap");
    let log = CaptureLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    let manifest = log.manifest();
    let labels: Vec<_> = manifest.topics.iter().map(|topic| topic.label()).collect();
    assert_eq!(labels, ["velodyne_packets", "position", "points"]);
    let records: Vec<_> = manifest.topics.iter().map(|topic| topic.records).collect();
    assert_eq!(records, [Some(42), Some(1), Some(42)]);
    assert_eq!(manifest.metadata["other_protocols"], Value::UInt(1));
    let points = manifest.topic_id("points").unwrap();
    assert_eq!(log.lidar(points).unwrap().sensor.model, Model::Vlp16);
    // From 300 degrees over the scan start at 0 to 340.
    let scans = log.scans(points).unwrap();
    let is_at_scan_start: Vec<bool> =
        scans.starts.iter().map(|start| start.is_at_scan_start).collect();
    assert_eq!(is_at_scan_start, [false, true]);
}
