//! Descriptions, parameters, log messages, plots and reports through the library alone.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::path::PathBuf;

use logtool::{
    ErrorKind, Session,
    info::{InfoRequest, TextOptions},
    log_messages::LogMessage,
    parameters::{ParameterDiffRequest, ParametersRequest},
};
use logtool_core::{TimeRange, TopicContent};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

#[test]
fn info_has_the_facts_of_the_manifest_and_serialises_as_json() {
    let request = InfoRequest::new(testdata("rover.bag"));
    let info = request
        .with_frequencies()
        .with_health()
        .with_digest()
        .run(&Session::new())
        .unwrap();
    let manifest = info.log().manifest();
    assert_eq!((info.format.as_str(), info.records), ("rosbag", manifest.records()));
    assert_eq!(info.topics.len(), manifest.topics.len());
    assert!(info.topics.iter().any(|topic| topic.frequency.is_some()));
    assert_eq!(info.health.as_ref().unwrap().parts.count, manifest.parts.len() as u64);
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["digest"].as_str(), info.digest.as_deref());
    assert_eq!(json["metadata"]["indexed"], true);
    let text = info.to_text(&TextOptions::new().with_file_name_only());
    assert!(text.starts_with("rover.bag  ROS bag, "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// Returns a ULog of the topics `a` and `b`, whose records have only these times in microseconds.
fn ulog_of_times(records: impl IntoIterator<Item = (u16, u64)>) -> Vec<u8> {
    let mut log = b"ULog\x01\x12\x35\x01".to_vec();
    log.extend(500_u64.to_le_bytes());
    let mut message = |kind: u8, payload: &[u8]| {
        log.extend((payload.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend(payload);
    };
    message(b'F', b"a:uint64_t timestamp;");
    message(b'F', b"b:uint64_t timestamp;");
    message(b'A', &[0, 0, 0, b'a']);
    message(b'A', &[0, 1, 0, b'b']);
    for (topic, time) in records {
        message(b'D', &[&topic.to_le_bytes()[..], &time.to_le_bytes()].concat());
    }
    log
}

#[test]
fn frequencies_are_of_records_in_the_order_of_time() {
    // Parts of this log have 10 records. That of the topic `a` at 1500 µs is the last one of
    // the file, and each part has a record of the topic `b` with the impossible time 0.
    let time = |n: u64| 1000 + 100 * n;
    let a = (0..40).filter(|n| *n != 5).chain([5]).map(|n| (0, time(n)));
    let with_b = a.enumerate().flat_map(|(place, record)| {
        let b = if place % 4 == 3 { 0 } else { time(place as u64) };
        [record, (1, b)]
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.ulg");
    std::fs::write(&path, ulog_of_times(with_b)).unwrap();
    let info = InfoRequest::new(&path).with_frequencies().run(&Session::new()).unwrap();
    assert!(info.log().manifest().parts.len() > 5);
    let of = |name: &str| {
        let topic = info.topics.iter().find(|topic| topic.topic == name).unwrap();
        let found = topic.frequency.unwrap();
        (found.min_period_ns, found.median_period_ns, found.max_period_ns)
    };
    assert_eq!(of("a"), (100_000, 100_000, 100_000));
    // Every fourth record of `b` is missing.
    assert_eq!(of("b"), (100_000, 100_000, 200_000));
}

#[test]
fn info_of_an_open_log_measures_no_frequencies() {
    let info = logtool::open(testdata("quad_flight.ulg")).unwrap().info();
    assert!(info.topics.iter().all(|topic| topic.frequency.is_none()));
    assert!(info.digest.is_none() && info.health.is_none());
}

#[test]
fn parameters_are_selected_by_patterns() {
    let (path, session) = (testdata("quad_flight.ulg"), Session::new());
    let all = ParametersRequest::new(&path).run(&session).unwrap();
    let first = all.list.first().unwrap();
    let one = ParametersRequest::new(&path).with_names([first.name.to_lowercase()]);
    let one = one.run(&session).unwrap();
    assert_eq!((&one.list[..], one.total), (&[first.clone()][..], all.list.len()));
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), [&first.name]);
    let missing = ParametersRequest::new(&path).with_names(["NO_SUCH"]).run(&session);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    let same = ParameterDiffRequest::new(&path, &path).run(&session).unwrap();
    assert_eq!((same.differences.len(), same.compared), (0, all.total));
    assert!(ParametersRequest::new(testdata("rover.bag")).run(&session).is_err());
}

#[test]
fn log_messages_have_a_level_and_a_text() {
    let log = logtool::open(testdata("quad_flight.ulg")).unwrap();
    let messages = log.log_messages(TimeRange::ALL).unwrap();
    let messages: Vec<LogMessage> = messages.map(Result::unwrap).collect();
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|one| !one.level.is_empty() && !one.text.is_empty()));
    assert!(
        logtool::open(testdata("puck.pcap"))
            .unwrap()
            .log_messages(TimeRange::ALL)
            .is_err()
    );
}

#[test]
fn topics_of_points_are_marked() {
    for (name, content) in [
        ("rover.bag", TopicContent::CloudPoints),
        ("puck.pcap", TopicContent::LidarPoints),
        ("car.vel", TopicContent::LidarPoints),
    ] {
        let log = logtool::open(testdata(name)).unwrap();
        let points = log.topics().iter().filter(|topic| topic.content == content);
        assert!(points.count() > 0, "{name}");
        let unmarked = log.topics().iter().filter(|topic| !topic.content.is_points());
        assert!(unmarked.count() > 0, "{name}");
    }
}

#[cfg(feature = "plot")]
#[test]
fn plot_has_a_panel_for_each_unit() {
    use logtool::plot::PlotRequest;

    let fields = ["vehicle_local_position.vx", "vehicle_local_position.x"];
    let request = PlotRequest::new(testdata("quad_flight.ulg"), fields);
    let plot = request.run(&Session::new()).unwrap();
    let units: Vec<&str> =
        plot.chart.panels.iter().map(|panel| panel.unit.as_str()).collect();
    assert_eq!(units, ["m/s", "m"]);
    assert!(plot.svg().unwrap().contains("<svg"));
    assert!(plot.png().unwrap().png.starts_with(b"\x89PNG"));
}

#[cfg(feature = "plot")]
#[test]
fn report_has_its_sections_in_order() {
    use logtool::report::ReportRequest;

    let request = ReportRequest::new(testdata("rover.bag"));
    let report = request.run(&Session::new()).unwrap();
    let titles: Vec<&str> =
        report.page.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["Summary", "Track", "Scans", "Images", "Plots", "Topics"]);
    assert!(report.page.html().starts_with("<!DOCTYPE html>"));
}
