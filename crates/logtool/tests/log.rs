//! Logs through the library alone: tables, messages and errors.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::path::PathBuf;

use logtool::{ErrorKind, Log, arrow_array::Array as _};
use logtool_core::TimeRange;

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn open(name: &str) -> Log {
    logtool::open(testdata(name)).unwrap()
}

#[test]
fn batches_have_the_rows_that_the_topics_count() {
    for name in ["quad_flight.ulg", "rover.bag"] {
        let log = open(name);
        for topic in log.topics() {
            let table = log.table(&topic.label()).unwrap();
            let batches = table.batches().unwrap();
            let schema = table.schema().unwrap();
            let mut rows = 0;
            for batch in batches {
                let batch = batch.unwrap();
                assert_eq!(batch.schema(), schema, "{name} {}", topic.label());
                assert_eq!(batch.column(0).null_count(), 0);
                rows += batch.num_rows() as u64;
            }
            let is_one_each = topic.origin != logtool_core::TopicOrigin::Derived;
            if let Some(records) = topic.records.filter(|_| is_one_each) {
                assert_eq!(rows, records, "{name} {}", topic.label());
            }
        }
    }
}

#[test]
fn messages_have_the_bytes_of_the_file() {
    let log = open("car.vel");
    let bytes = std::fs::read(testdata("car.vel")).unwrap();
    let mut count = 0;
    for message in log.messages(&[], TimeRange::ALL).unwrap() {
        let message = message.unwrap();
        let start = message.offset as usize;
        let found = bytes[start..].windows(message.payload.len()).next();
        let within = bytes[start..].windows(message.payload.len()).take(64);
        assert!(
            found.is_some() && within.into_iter().any(|part| part == message.payload)
        );
        count += 1;
    }
    assert_eq!(Some(count), log.manifest().records());
}

#[test]
fn columns_and_times_select_rows_and_columns() {
    let log = open("quad_flight.ulg");
    let topic = log.topics().iter().find(|topic| topic.records > Some(100)).unwrap();
    let time = topic.time.unwrap();
    let middle = time.start.shifted_by(i64::try_from(time.span_nanos() / 2).unwrap());
    let count = |range: TimeRange| {
        let table = log.table(&topic.label()).unwrap().with_time(range);
        let rows = |batch: logtool::Result<_>| {
            let batch: logtool::arrow_array::RecordBatch = batch.unwrap();
            batch.num_rows() as u64
        };
        table.batches().unwrap().map(rows).sum::<u64>()
    };
    let before = TimeRange { end: middle, ..TimeRange::ALL };
    let after = TimeRange { start: middle, ..TimeRange::ALL };
    assert_eq!(Some(count(before) + count(after)), topic.records);
    assert!(count(before) > 0 && count(after) > 0);
}

#[test]
fn errors_have_kinds() {
    let missing = logtool::open(testdata("missing.bag")).unwrap_err();
    assert!(missing.to_string().contains("there is no such file"), "{missing}");
    let log = open("rover.bag");
    assert_eq!(log.table("/missing").unwrap_err().kind(), ErrorKind::NotFound);
    let unknown = logtool::open(testdata("README.md")).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unrecognized);
}
