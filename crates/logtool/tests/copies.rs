//! Repairs, filters, merges and checks through the library alone.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::path::PathBuf;

use logtool::{
    ErrorKind, Session, Strictness,
    check::{self, check},
    filter::Filter,
    merge::{Merge, MergeInput},
    output::LogOutput,
    repair::Repair,
    time::typed_time::TypedTime,
};
use logtool_core::{Severity, TimeRange};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

#[test]
fn repair_reports_losses_and_writes_a_sound_log() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new();
    for name in ["crashed.ulg", "lost_sector.ulg", "lost_sector.bag", "cut.vel"] {
        let damaged = testdata("damaged").join(name);
        let output = folder.path().join(name);
        let mut report = Repair::new(&damaged, &*output).run(&session).unwrap();
        assert!(report.losses.has_damage(), "{name}");
        assert!(!report.losses.sorted_findings().is_empty(), "{name}");
        assert!(!report.topic_losses.is_empty(), "{name}");
        let bytes = std::fs::metadata(&output).unwrap().len();
        assert_eq!(report.output.bytes, bytes, "{name}");
        let sound = logtool::open(&output).unwrap();
        assert_eq!(sound.damage(), [], "{name}");
        let records = sound.messages(&[], TimeRange::ALL).unwrap().count() as u64;
        assert_eq!(records, report.output.records, "{name}");
        assert!(report.check.at_least(Severity::Error).next().is_none(), "{name}");
    }
}

#[test]
fn strict_repair_of_a_damaged_log_fails_and_leaves_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("flight.ulg");
    let request = Repair::new(testdata("damaged/crashed.ulg"), &*output);
    let request = request.with_strictness(Strictness::Strict);
    let error = request.run(&Session::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn filter_keeps_the_selected_topics_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("part.bag");
    let log = logtool::open(testdata("rover.bag")).unwrap();
    let time = log.manifest().time.unwrap();
    let middle = i64::try_from(time.span_nanos() / 2).unwrap();
    let request = Filter::new(testdata("rover.bag"), &*output)
        .with_topics(["/imu/data", "/gps*"])
        .with_excluded_topics(["/imu*"])
        .with_renamed_topic("/gps/fix", "/fix")
        .with_end(TypedTime::Relative(middle));
    let report = request.run(&Session::new()).unwrap();

    let end = time.start.shifted_by(middle);
    let selected = TimeRange { end, ..TimeRange::ALL };
    let gps = log.messages(&["/gps*".to_owned()], selected).unwrap().count() as u64;
    assert!(gps > 0 && report.output.records == gps);
    let part = logtool::open(&output).unwrap();
    assert_eq!(part.manifest().records(), Some(gps));
    let names = |name: &str| part.topics().iter().any(|topic| topic.name == name);
    assert!(names("/fix") && !names("/gps/fix") && !names("/imu/data"));
}

#[test]
fn merge_of_two_parts_has_all_records_in_time_order() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new();
    let [imu, others, output] =
        ["imu.bag", "others.bag", "all.bag"].map(|name| folder.path().join(name));
    let bag = testdata("rover.bag");
    let request = Filter::new(&bag, &*imu).with_topics(["/imu*"]);
    let imu_records = request.run(&session).unwrap().output.records;
    let request = Filter::new(&bag, &*others).with_excluded_topics(["/imu*"]);
    request.run(&session).unwrap();

    let report = Merge::new([&*imu, &*others], &*output).run(&session).unwrap();
    let log = logtool::open(&bag).unwrap();
    assert_eq!(Some(report.output.records), log.manifest().records());
    assert_eq!(report.logs[0].records, imu_records);
    assert!(report.logs.iter().all(|log| log.losses.is_empty()));
    let merged = logtool::open(&output).unwrap();
    let times = |log: &logtool::Log| {
        let messages = log.messages(&[], TimeRange::ALL).unwrap();
        let mut times: Vec<_> = messages.map(|one| one.unwrap().time).collect();
        times.sort_unstable();
        times
    };
    assert_eq!(times(&merged), times(&log));
}

#[test]
fn merge_applies_the_offset_of_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("all.mcap");
    let second = 1_000_000_000;
    let later = MergeInput::new(testdata("rover.bag")).with_offset(second);
    let inputs = [testdata("rover.bag").into(), later];
    let report = Merge::new(inputs, &*output).run(&Session::new()).unwrap();
    assert_eq!(report.logs[1].offset_nanos, second);
    let time = |path| logtool::open(path).unwrap().manifest().time.unwrap();
    let (before, merged) = (time(testdata("rover.bag")), time(output));
    assert_eq!(merged.start, before.start);
    assert_eq!(merged.end, before.end.shifted_by(second));
}

#[test]
fn merge_rejects_logs_without_a_common_clock() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("all.mcap");
    let one = Merge::new([testdata("rover.bag")], &*output);
    let error = one.run(&Session::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let flight = folder.path().join("no_gps.ulg");
    std::fs::write(&flight, ulog_of_one_record()).unwrap();
    let inputs = [flight, testdata("rover.bag")];
    let error = Merge::new(inputs, &*output).run(&Session::new()).unwrap_err();
    assert!(error.to_string().contains("no common clock"), "{error}");
    assert!(!output.exists());
}

/// Returns a ULog without a UTC reference.
fn ulog_of_one_record() -> Vec<u8> {
    let mut log = b"ULog\x01\x12\x35\x01".to_vec();
    log.extend(0u64.to_le_bytes());
    let subscription = [&[0u8, 0, 0], &b"rate"[..]].concat();
    let record = [&[0u8, 0][..], &1_000u64.to_le_bytes()].concat();
    let messages: [(u8, &[u8]); 3] =
        [(b'F', b"rate:uint64_t timestamp;"), (b'A', &subscription), (b'D', &record)];
    for (kind, payload) in messages {
        log.extend((payload.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend(payload);
    }
    log
}

#[test]
fn outputs_are_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("new.vel");
    std::fs::write(&output, "old").unwrap();
    let session = Session::new();
    let error = Filter::new(testdata("car.vel"), &*output).run(&session).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let replacing = LogOutput::new(&output).with_replacement();
    let report = Filter::new(testdata("car.vel"), replacing).run(&session).unwrap();
    let log = logtool::open(&output).unwrap();
    assert_eq!(log.manifest().records(), Some(report.output.records));
}

#[test]
fn filter_refuses_to_overwrite_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("car.vel");
    std::fs::copy(testdata("car.vel"), &path).unwrap();
    let output = LogOutput::new(&path).with_replacement();
    let error = Filter::new(&path, output).run(&Session::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[test]
fn check_finds_errors_only_in_damaged_logs() {
    let session = Session::new();
    for name in ["quad_flight.ulg", "rover.bag", "car.vel", "puck.pcap"] {
        let report = check(testdata(name), &session).unwrap();
        assert_eq!(report.count(Severity::Error), 0, "{name}: {report:?}");
    }
    let report = check(testdata("damaged/crashed.ulg"), &session).unwrap();
    assert_eq!(report.max_severity(), Some(Severity::Error));
    assert_eq!(report.format, "ulog");
    // The most severe findings come first, and each has a documented code.
    let severities = report.findings.iter().map(|finding| finding.code.severity);
    assert!(severities.is_sorted_by(|a, b| a >= b));
    for finding in &report.findings {
        assert!(check::codes().contains(&finding.code), "{}", finding.code.name);
    }
}
