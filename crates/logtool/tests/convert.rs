//! Conversions through the library alone: rows, formats, destinations and errors.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use logtool::{
    ErrorKind, NoticeLevel, Progress, Result, Session, Strictness, Task,
    convert::{
        Convert, ConvertReport, ConvertRequest, Destination, OutputFormat, TableLayout,
    },
};
use logtool_core::TopicOrigin;

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Converts the log `name` of the test data to a folder or a file in `dir`.
fn convert(
    name: &str,
    destination: Destination,
    request: ConvertRequest,
) -> Result<ConvertReport> {
    Convert::new(testdata(name), destination, request).run(&Session::new())
}

#[test]
fn tables_have_the_rows_that_the_topics_count() {
    for (name, format) in [
        ("quad_flight.ulg", OutputFormat::Parquet),
        ("quad_flight.ulg", OutputFormat::Csv),
        ("rover.bag", OutputFormat::Arrow),
        ("rover.bag", OutputFormat::Jsonl),
        ("rover.bag", OutputFormat::Npz),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let folder = Destination::Folder(dir.path().join("tables"));
        let report = convert(name, folder, ConvertRequest::new(format)).unwrap();
        let log = logtool::open(testdata(name)).unwrap();
        let mut tables = 0;
        for topic in log.topics() {
            let rows = report.topic_rows.get(&(topic.name.clone(), topic.instance));
            tables += u64::from(rows.is_some());
            let is_derived = topic.origin == TopicOrigin::Derived;
            if let Some(records) = topic.records.filter(|_| !is_derived) {
                assert_eq!(rows.copied().unwrap_or(0), records, "{}", topic.label());
            }
        }
        assert_eq!(report.tables, tables, "{name} {}", format.name());
        assert_eq!(report.rows, report.topic_rows.values().sum::<u64>());
        assert_eq!(report.files.len() as u64, tables);
        for file in &report.files {
            assert_eq!(fs::metadata(&file.path).unwrap().len(), file.bytes);
        }
        // CSV and JSON Lines cannot state their origin.
        let has_origin = !matches!(format, OutputFormat::Csv | OutputFormat::Jsonl);
        assert_eq!(report.provenance_file.is_none(), has_origin);
    }
}

#[test]
fn one_topic_becomes_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("imu.parquet");
    let request = ConvertRequest::new(OutputFormat::Parquet).with_topics(["/imu/data"]);
    let destination = Destination::File(file.clone());
    let report = convert("rover.bag", destination.clone(), request).unwrap();
    assert_eq!(report.files[0].path, file);
    assert_eq!((report.files.len(), report.tables), (1, 1));

    let all = ConvertRequest::new(OutputFormat::Parquet);
    let error = convert("rover.bag", destination, all).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
}

#[test]
fn log_is_converted_to_another_log_format() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rover.mcap");
    let request = ConvertRequest::new(OutputFormat::Mcap);
    let report =
        convert("rover.bag", Destination::File(file.clone()), request).unwrap();
    let new = logtool::open(&file).unwrap();
    assert_eq!(new.manifest().records(), Some(report.records));
    let old = logtool::open(testdata("rover.bag")).unwrap();
    assert_eq!(old.manifest().records(), Some(report.records));
}

#[test]
fn points_images_and_tracks_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    for (name, format) in [
        ("puck.pcap", OutputFormat::Laz),
        ("car.vel", OutputFormat::Images),
        ("quad_flight.ulg", OutputFormat::Gpx),
    ] {
        let folder = Destination::Folder(dir.path().join(format.name()));
        let report = convert(name, folder, ConvertRequest::new(format)).unwrap();
        assert!(report.rows > 0 && !report.files.is_empty(), "{}", format.name());
    }
}

#[test]
fn existing_outputs_are_refused_and_replaced_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Destination::Folder(dir.path().to_owned());
    let request = ConvertRequest::new(OutputFormat::Csv).with_topics(["/imu/data"]);
    let conversion = Convert::new(testdata("rover.bag"), folder, request);
    let session = Session::new();
    let first = conversion.run(&session).unwrap();
    let error = conversion.run(&session).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let second = conversion.with_replacement().run(&session).unwrap();
    assert_eq!(second.files, first.files);
}

#[test]
fn contradictory_requests_are_invalid_and_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    let csv = ConvertRequest::new(OutputFormat::Csv);
    let requests = [
        csv.clone().with_layout(TableLayout::Flat),
        ConvertRequest::new(OutputFormat::Npz).with_layout(TableLayout::Spark),
        ConvertRequest::new(OutputFormat::Mcap).with_flat_columns(),
        ConvertRequest::new(OutputFormat::Kml).with_columns(["lat"]),
    ];
    for request in requests {
        let destination = Destination::Folder(folder.clone());
        let error = convert("rover.bag", destination, request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    }
    let missing = csv.with_topics(["/missing"]);
    let error = convert("rover.bag", Destination::Folder(folder.clone()), missing);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!folder.exists());
}

#[test]
fn damage_is_reported_or_fails_a_strict_conversion() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("cut.bag");
    let bytes = fs::read(testdata("rover.bag")).unwrap();
    fs::write(&log, &bytes[..bytes.len() / 2]).unwrap();
    let request = ConvertRequest::new(OutputFormat::Csv);
    let folder = dir.path().join("out");
    let conversion = Convert::new(&log, Destination::Folder(folder.clone()), request);
    let session = Session::new();
    let strict = conversion.clone().with_strictness(Strictness::Strict).run(&session);
    assert_eq!(strict.unwrap_err().kind(), ErrorKind::Damaged);
    assert!(!folder.exists());
    assert!(conversion.run(&session).unwrap().losses.has_damage());
}

/// Records the progress of one task.
#[derive(Default)]
struct Recorder {
    started: Mutex<Vec<(String, u64)>>,
    position: Arc<AtomicU64>,
}

impl Progress for Recorder {
    fn is_visible(&self) -> bool {
        true
    }

    fn start(&self, name: &str, bytes: u64) -> Box<dyn Task> {
        self.started.lock().unwrap().push((name.to_owned(), bytes));
        Box::new(Position(Arc::clone(&self.position)))
    }

    fn start_records(&self, _: &str, _: u64) -> Box<dyn Task> {
        Box::new(Position(Arc::default()))
    }

    fn notice(&self, _: NoticeLevel, _: &str, _: &str) {}
}

struct Position(Arc<AtomicU64>);

impl Task for Position {
    fn set_position(&self, bytes: u64) {
        self.0.fetch_max(bytes, Ordering::Relaxed);
    }
}

#[test]
fn progress_reaches_the_end_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let session = Session::new().with_progress(Arc::clone(&recorder) as _);
    let request = ConvertRequest::new(OutputFormat::Parquet);
    let folder = Destination::Folder(dir.path().to_owned());
    let report = Convert::new(testdata("quad_flight.ulg"), folder, request)
        .run(&session)
        .unwrap();
    let started = recorder.started.lock().unwrap();
    let (name, bytes) = started.last().unwrap();
    assert_eq!((name, *bytes), (&report.name, report.input_bytes));
    let position = recorder.position.load(Ordering::Relaxed);
    assert!(position > 0 && position <= *bytes, "{position} of {bytes}");
}
