//! Logs through the library alone: tables, messages and errors.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{path::PathBuf, time::Duration};

use logtool::{
    ErrorKind, Log, Session, Stop,
    arrow_array::{Array as _, RecordBatch},
    arrow_schema::{DataType, TimeUnit},
    convert::{AsofMerge, ConvertRequest, OutputFormat},
    time::clock::TimeChoice,
};
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
        let payload = bytes[start..].windows(message.payload.len()).next();
        let windows = bytes[start..].windows(message.payload.len()).take(64);
        assert!(
            payload.is_some()
                && windows.into_iter().any(|part| part == message.payload)
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
    assert_eq!(missing.kind(), ErrorKind::NoSuchFile);
    let log = open("rover.bag");
    assert_eq!(log.table("/missing").unwrap_err().kind(), ErrorKind::NotFound);
    let unknown = logtool::open(testdata("README.md")).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unrecognized);
}

#[test]
fn typed_times_are_durations_or_utc() {
    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let duration = DataType::Duration(TimeUnit::Nanosecond);
    for (name, topic, clock, expected) in [
        ("quad_flight.ulg", "battery_status", TimeChoice::Boot, &duration),
        ("quad_flight.ulg", "battery_status", TimeChoice::Utc, &utc),
        ("rover.bag", "/imu/data", TimeChoice::Boot, &utc),
        ("rover.bag", "/imu/data", TimeChoice::Relative, &duration),
    ] {
        let table = open(name).table(topic).unwrap().with_clock(clock).unwrap();
        let table = table.with_typed_times();
        let schema = table.schema().unwrap();
        assert_eq!(schema.field(0).data_type(), expected, "{name} {clock:?}");
        for batch in table.batches().unwrap() {
            assert_eq!(batch.unwrap().schema(), schema);
        }
    }
}

#[test]
fn spark_table_has_both_forms_of_the_time() {
    let table = open("rover.bag").table("/imu/data").unwrap();
    let plain: Vec<RecordBatch> =
        table.batches().unwrap().map(Result::unwrap).collect();
    let spark = table.with_typed_times().with_spark_types();
    let schema = spark.schema().unwrap();
    let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(schema.field_with_name("time").unwrap().data_type(), &micros);
    let nanos = |batch: &RecordBatch, name: &str| {
        let column = batch.column_by_name(name).unwrap().to_data();
        column.buffers()[0].typed_data::<i64>().to_vec()
    };
    for (batch, plain) in spark.batches().unwrap().zip(plain) {
        assert_eq!(nanos(&batch.unwrap(), "time_ns"), nanos(&plain, "time"));
    }
}

#[test]
fn stop_signal_ends_calls() {
    let stop = Stop::new();
    let session = Session::new().with_stop(stop.clone());
    let log = Log::open(testdata("rover.bag"), &session).unwrap();
    assert!(!session.is_stopped());
    stop.set();
    assert!(session.is_stopped());
    assert!(log.table("/imu/data").unwrap().batches().unwrap().any(|one| one.is_err()));
    let error = Log::open(testdata("quad_flight.ulg"), &session).unwrap_err();
    assert!(error.to_string().contains("the call was ended"), "{error}");
}

#[test]
fn merged_table_of_an_open_log_has_a_row_for_each_period() {
    let request = ConvertRequest::new(OutputFormat::Arrow)
        .with_topics(["battery_status", "vehicle_attitude"])
        .with_merge(AsofMerge::new(Duration::from_millis(500)));
    let table = open("quad_flight.ulg").merged_table(&request).unwrap();
    let schema = table.schema().unwrap();
    let mut times: Vec<i64> = Vec::new();
    let damage = table.read(&mut |batch| {
        assert_eq!(batch.schema(), schema);
        let column = batch.column(0).to_data();
        times.extend(column.buffers()[0].typed_data::<i64>());
        true
    });
    assert!(damage.unwrap().is_empty());
    assert!(times.len() > 10);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 500_000_000));
    let mut first = 0;
    let stopped = table.read(&mut |batch| {
        first += batch.num_rows();
        false
    });
    assert!(stopped.unwrap().is_empty() && first > 0);
    let without =
        open("quad_flight.ulg").merged_table(&ConvertRequest::new(OutputFormat::Csv));
    assert_eq!(without.unwrap_err().kind(), ErrorKind::InvalidRequest);
}
