//! Batches and indexes through the library alone: results, progress, shards and errors.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use logtool::{
    ErrorKind, Session, Strictness,
    convert::{AsofMerge, ConvertRequest, OutputFormat},
    dataset::{
        BatchRequest, DatasetPlan, DatasetProgress, DatasetReport, IndexRequest,
        LogOutcome, LogReport, Shard, TableSurvey,
    },
};
use tempfile::TempDir;

/// Returns a folder `logs` with copies of test data, and a file that is not a log.
fn logs(names: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let logs = dir.path().join("logs");
    fs::create_dir(&logs).unwrap();
    for name in names {
        fs::copy(testdata.join(name), logs.join(name)).unwrap();
    }
    fs::write(logs.join("notes.txt"), "not a log").unwrap();
    dir
}

fn batch(dir: &TempDir) -> BatchRequest {
    BatchRequest::new([dir.path().join("logs")], dir.path().join("dataset"))
}

fn run(request: &BatchRequest) -> DatasetReport {
    request.run(&Session::new()).unwrap()
}

/// Records the progress.
#[derive(Default)]
struct Recorder {
    plan: Mutex<Option<DatasetPlan>>,
    bytes: AtomicU64,
    skipped: AtomicU64,
    outcomes: Mutex<Vec<String>>,
}

impl DatasetProgress for Recorder {
    fn start(&self, plan: &DatasetPlan) {
        *self.plan.lock().unwrap() = Some(*plan);
    }

    fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn skip_bytes(&self, bytes: u64) {
        self.skipped.fetch_add(bytes, Ordering::Relaxed);
    }

    fn finish_log(&self, log: &LogReport) {
        let outcome = match &log.outcome {
            LogOutcome::Converted { .. } => "converted",
            LogOutcome::Indexed { .. } => "indexed",
            LogOutcome::Unchanged { .. } => "unchanged",
            _ => "failed",
        };
        self.outcomes.lock().unwrap().push(format!("{} {outcome}", log.name));
    }
}

impl Recorder {
    /// Returns the outcomes of all logs, sorted by their names.
    fn outcomes(&self) -> Vec<String> {
        let mut outcomes = self.outcomes.lock().unwrap().clone();
        outcomes.sort();
        outcomes
    }
}

#[test]
fn batch_converts_logs_once_and_reports_progress() {
    let dir = logs(&["pasta.ulg", "rover.bag"]);
    let (first, second) =
        (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    let report = run(&batch(&dir).with_progress(first.clone()));
    assert_eq!((report.new_logs, report.unchanged_logs, report.other_files), (2, 0, 1));
    assert!(report.files > 0 && report.rows > 0 && report.failed.is_empty());
    assert!(report.catalog_error.is_none());
    assert!(dir.path().join("dataset/_catalog.parquet").is_file());
    let plan = first.plan.lock().unwrap().unwrap();
    assert_eq!((plan.logs, plan.raised_memory_bytes), (2, None));
    assert_eq!(first.outcomes(), ["pasta converted", "rover converted"]);
    assert_eq!(first.bytes.load(Ordering::Relaxed), plan.bytes);
    assert_eq!(report.bytes, plan.bytes);

    let report = run(&batch(&dir).with_progress(second.clone()));
    assert_eq!((report.new_logs, report.unchanged_logs, report.files), (0, 2, 0));
    assert_eq!(second.outcomes(), ["pasta unchanged", "rover unchanged"]);
    assert_eq!(second.skipped.load(Ordering::Relaxed), plan.bytes);
    assert_eq!(second.bytes.load(Ordering::Relaxed), 0);

    let columns = ConvertRequest::new(OutputFormat::Parquet).with_flat_columns();
    assert_eq!(run(&batch(&dir).with_conversion(columns)).new_logs, 2, "other options");
    assert_eq!(run(&batch(&dir)).new_logs, 2, "other options again");
    assert_eq!(run(&batch(&dir).with_reconversion()).new_logs, 2, "forced");
}

#[test]
fn failed_log_stops_no_other_and_has_a_typed_error() {
    let dir = logs(&["pasta.ulg"]);
    let broken = dir.path().join("logs/broken.ulg");
    fs::write(&broken, "not a log").unwrap();
    let report = run(&batch(&dir));
    assert_eq!((report.new_logs, report.failed.len()), (1, 1));
    let (source, error) = report.failed.first_key_value().unwrap();
    assert_eq!(Path::new(source), broken);
    assert_eq!(error.kind(), ErrorKind::Unrecognized);
    assert!(
        error.to_string().starts_with(&format!("cannot open {source}: ")),
        "{error}"
    );
    let message = error.message_without_context(source);
    assert!(!message.contains("broken.ulg"), "{message}");
}

#[test]
fn shards_convert_disjoint_parts() {
    let dir = logs(&["pasta.ulg", "rover.bag", "quad_flight.ulg"]);
    let mut new_logs = 0;
    for index in 0..2 {
        let shard = Shard::new(index, 2).unwrap().unwrap();
        new_logs += run(&batch(&dir).with_shard(shard)).new_logs;
        let catalog = format!("dataset/_catalog-{index}-of-2.parquet");
        assert!(dir.path().join(catalog).is_file());
    }
    assert_eq!(new_logs, 3);
    let report = run(&batch(&dir));
    assert_eq!((report.new_logs, report.unchanged_logs), (0, 3));
}

/// Returns a ULog with one message of the topic `gps`, which has `field` with these bytes.
fn ulog(field: &str, bytes: &[u8]) -> Vec<u8> {
    let mut log = b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0".to_vec();
    let mut add = |kind: u8, payload: &[&[u8]]| {
        let payload = payload.concat();
        log.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
        log.push(kind);
        log.extend(payload);
    };
    add(b'F', &[b"gps:uint64_t timestamp;", field.as_bytes(), b";"]);
    add(b'A', &[&[0, 0, 0], b"gps"]);
    add(b'D', &[&[0, 0], &7_u64.to_le_bytes(), bytes]);
    log
}

#[test]
fn shards_in_any_order_give_the_same_tables_after_assign_tables() {
    let dir = logs(&[]);
    fs::write(dir.path().join("logs/a.ulg"), ulog("float x", &[0; 4])).unwrap();
    fs::write(dir.path().join("logs/b.ulg"), ulog("char[4] x", b"text")).unwrap();
    let shard = |index| batch(&dir).with_shard(Shard::new(index, 2).unwrap().unwrap());
    let session = Session::new();
    let surveys = [1, 0].map(|index| {
        let survey = shard(index).survey_tables(&session).unwrap();
        TableSurvey::from_json(&survey.to_json().unwrap()).unwrap()
    });
    batch(&dir).assign_tables(surveys, &session).unwrap();
    for index in [1, 0] {
        assert_eq!(run(&shard(index)).new_logs, 1);
    }
    let tables = fs::read_dir(dir.path().join("dataset")).unwrap();
    let names = tables.map(|table| table.unwrap().file_name().into_string().unwrap());
    let separate = names.filter(|name| name.starts_with("gps~"));
    let separate: Vec<String> = separate.collect();
    let file = |table: &str, log: &str| {
        let name = format!("dataset/{table}/log={log}/instance=0/part-0.parquet");
        dir.path().join(name).is_file()
    };
    // `a` is the first in the order of the names, and `char[4]` is a text.
    assert_eq!(separate.len(), 1);
    assert!(file("gps", "a") && file(&separate[0], "b"));
    assert!(TableSurvey::from_json("{}").is_err());
}

#[test]
fn patterns_without_a_match_are_reported() {
    let dir = logs(&["pasta.ulg"]);
    let with_topics = |topics: &[&str]| {
        let request = ConvertRequest::new(OutputFormat::Csv);
        batch(&dir).with_conversion(request.with_topics(topics.iter().copied()))
    };
    let report = run(&with_topics(&["kitchen_*", "gps_*"]));
    assert_eq!(report.unmatched_patterns, ["topic `gps_*`"]);
    assert!(!report.is_selection_empty);
    assert!(run(&with_topics(&["gps_*"])).is_selection_empty);
}

#[test]
fn batch_refuses_merged_tables_and_foreign_folders() {
    let dir = logs(&["pasta.ulg"]);
    let kind =
        |request: &BatchRequest| request.run(&Session::new()).unwrap_err().kind();
    let period = std::time::Duration::from_millis(10);
    let merged = ConvertRequest::new(OutputFormat::Parquet);
    let merged = merged.with_merge(AsofMerge::new(period));
    let request = batch(&dir).with_conversion(merged);
    assert_eq!(kind(&request), ErrorKind::InvalidRequest);
    assert!(!dir.path().join("dataset").exists());
    fs::create_dir(dir.path().join("dataset")).unwrap();
    fs::write(dir.path().join("dataset/thesis.txt"), "").unwrap();
    assert_eq!(kind(&batch(&dir)), ErrorKind::InvalidRequest);
}

#[test]
fn index_describes_logs_and_opens_only_changed_ones_again() {
    let dir = logs(&["pasta.ulg", "rover.bag"]);
    let index = |output: &str| {
        let output: PathBuf = dir.path().join(output);
        IndexRequest::new([dir.path().join("logs")], output)
    };
    let session = Session::new();
    let report = index("all.jsonl").run(&session).unwrap();
    assert_eq!((report.new_logs, report.files, report.failed.len()), (2, 0, 0));
    let rows = fs::read_to_string(dir.path().join("all.jsonl")).unwrap();
    assert!(rows.contains("kitchen_status") && rows.contains("rover.bag"));

    // A catalog does not trust the times of files that were changed just before.
    for name in ["pasta.ulg", "rover.bag"] {
        let log =
            fs::File::options().write(true).open(dir.path().join("logs").join(name));
        let hour_ago =
            std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        log.unwrap().set_modified(hour_ago).unwrap();
    }
    assert_eq!(index("all.parquet").run(&session).unwrap().new_logs, 2);
    assert_eq!(index("all.parquet").run(&session).unwrap().unchanged_logs, 2);
    let strict = index("all.parquet").with_strictness(Strictness::Strict);
    assert_eq!(strict.run(&session).unwrap().new_logs, 2, "other options");
    let error = index("all.txt").run(&session).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}
