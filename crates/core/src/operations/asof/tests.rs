//! Joins of small logs, compared with tables computed by hand or by a simple algorithm.

mod toy;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arrow_array::{ArrowPrimitiveType, RecordBatch, cast::AsArray as _, types::*};

use super::*;
use crate::{
    log::View,
    model::{damage::DamageKind, labels::Labels},
    operations::asof::tests::toy::{A, B, C, Row, ToyLog, a, b, range},
};

#[derive(Default)]
struct CollectedTable(Vec<RecordBatch>);

impl TableWriter for CollectedTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        assert!(batch.num_rows() > 0);
        self.0.push(batch.clone());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl CollectedTable {
    fn values<T: ArrowPrimitiveType>(&self, column: &str) -> Vec<Option<T::Native>> {
        let arrays = self.0.iter().map(|batch| batch.column_by_name(column).unwrap());
        arrays.flat_map(|array| array.as_primitive::<T>().iter()).collect()
    }

    fn times(&self) -> Vec<i64> {
        let times = self.values::<TimestampNanosecondType>("timestamp");
        times.into_iter().flatten().collect()
    }

    fn strings(&self, column: &str) -> Vec<Option<String>> {
        let arrays = self.0.iter().map(|batch| batch.column_by_name(column).unwrap());
        let strings = arrays.flat_map(|array| array.as_string::<i32>().iter());
        strings.map(|text| text.map(str::to_owned)).collect()
    }
}

fn job(topics: &[TopicId], period_nanos: u64) -> AsofJob<'static> {
    let columns = |topic: &TopicId| (*topic, Columns::new(View::Flat));
    AsofJob {
        columns_by_topic: topics.iter().map(columns).collect(),
        time: TimeRange::ALL,
        period_nanos,
        base: TimeBase::default(),
        max_age_nanos: None,
        progress: &|_| {},
    }
}

fn run(log: &ToyLog, job: &AsofJob<'_>) -> (CollectedTable, AsofReport) {
    let mut table = CollectedTable::default();
    let report = merge_asof(log, job, &mut table).unwrap();
    assert_eq!(report.rows as usize, table.times().len());
    (table, report)
}

fn run_within(
    log: &ToyLog,
    job: &AsofJob<'_>,
    limits: MemoryLimits,
) -> (CollectedTable, AsofReport) {
    let mut table = CollectedTable::default();
    let report = Sweep::new(log, job, &mut table, limits).unwrap().run().unwrap();
    (table, report)
}

/// Limits that a few records reach.
const TINY: MemoryLimits = MemoryLimits {
    part_bytes: 0,
    parallel_parts: 1,
    reduction_bytes: 1,
    pending_bytes: 1,
    batch_rows: 3,
    batch_bytes: usize::MAX,
};

#[test]
fn columns_contain_the_last_values() {
    let rows = [
        a(5, 1),
        a(10, 2),
        a(10, 3),
        b(12, 7, b"hi"),
        a(25, 4),
        a(30, 5),
        b(40, 8, b"yo"),
    ];
    let log = ToyLog::new(&rows, 2, Some(range(5, 41)));
    let (table, report) = run(&log, &job(&[A, B], 10));

    let schema = table.0[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["timestamp", "a.value", "b.1.x", "b.1.tag"]);
    assert!(schema.fields().iter().all(|field| field.is_nullable()));
    assert_eq!(table.times(), [10, 20, 30, 40]);
    assert_eq!(table.values::<Int32Type>("a.value"), [3, 3, 5, 5].map(Some));
    assert_eq!(table.values::<Int16Type>("b.1.x"), [None, Some(7), Some(7), Some(8)]);
    let tags = [None, Some("hi"), Some("hi"), Some("yo")];
    assert_eq!(table.strings("b.1.tag"), tags.map(|tag| tag.map(str::to_owned)));
    assert_eq!((report.read.records, report.rows, report.dropped_rows), (7, 4, 0));
}

#[test]
fn records_out_of_order_are_sorted() {
    for per_part in [1, 2, 5] {
        let rows = [a(30, 3), a(10, 1), a(20, 2), a(20, 9), a(11, 8)];
        let log = ToyLog::new(&rows, per_part, Some(range(10, 31)));
        let (table, _) = run(&log, &job(&[A], 10));
        assert_eq!(table.values::<Int32Type>("a.value"), [1, 9, 3].map(Some));
    }
}

#[test]
fn last_record_in_the_file_wins_at_equal_times() {
    let rows = [a(20, 1), a(15, 0), a(5, 7), a(20, 2)];
    let log = ToyLog::new(&rows, 2, Some(range(5, 21)));
    let (table, _) = run(&log, &job(&[A], 10));
    assert_eq!(table.values::<Int32Type>("a.value"), [7, 2].map(Some));

    let rows = [a(5, 7), a(20, 2), a(20, 1), a(15, 0)];
    let log = ToyLog::new(&rows, 2, Some(range(5, 21)));
    let (table, _) = run(&log, &job(&[A], 10));
    assert_eq!(table.values::<Int32Type>("a.value"), [7, 1].map(Some));
}

#[test]
fn values_are_carried_to_the_end() {
    let mut rows = vec![a(0, 42)];
    rows.extend((0..1000).map(|time| b(time, time as i16, b"ok")));
    let log = ToyLog::new(&rows, 10, Some(range(0, 1000)));
    for limits in [MemoryLimits::default(), TINY] {
        let (table, _) = run_within(&log, &job(&[A, B], 7), limits);
        assert_eq!(table.values::<Int32Type>("a.value"), vec![Some(42); 143]);
        let x: Vec<_> = (0..143).map(|row| Some(row * 7)).collect();
        assert_eq!(table.values::<Int16Type>("b.1.x"), x);
    }
}

#[test]
fn too_old_values_are_null() {
    let rows = [a(10, 1), a(35, 2), b(60, 0, b"__")];
    let log = ToyLog::new(&rows, 1, Some(range(10, 61)));
    let job = AsofJob { max_age_nanos: Some(15), ..job(&[A], 10) };
    let (table, _) = run(&log, &job);
    // At 10, 20 and 30 the age of the value is 0, 10 and 20; at 40, 50 and 60 it is 5, 15
    // and 25.
    let values = [Some(1), Some(1), None, Some(2), Some(2), None];
    assert_eq!(table.values::<Int32Type>("a.value"), values);
}

#[test]
fn implausible_times_are_dropped_and_counted() {
    let rows =
        [a(-5, 1), a(20, 2), a(1 << 60, 3), a(i64::MAX, 4), a(30, 5), a(i64::MIN, 6)];
    let log = ToyLog::new(&rows, 2, Some(range(10, 31)));
    for limits in [MemoryLimits::default(), TINY] {
        let (table, report) = run_within(&log, &job(&[A], 10), limits);
        assert_eq!(table.times(), [10, 20, 30]);
        assert_eq!(table.values::<Int32Type>("a.value"), [None, Some(2), Some(5)]);
        assert_eq!((report.read.records, report.dropped_rows), (6, 4));
    }
}

#[test]
fn log_without_plausible_times_gives_no_rows() {
    let log = ToyLog::new(&[a(1, 1), a(2, 2)], 1, None);
    let (table, report) = run(&log, &job(&[A], 1));
    assert!(table.0.is_empty());
    assert_eq!((report.rows, report.dropped_rows), (0, 2));
}

#[test]
fn shorter_range_has_the_same_points_and_earlier_values() {
    let rows = [a(0, 1), b(0, 1, b"__"), a(24, 2), a(55, 3)];
    let log = ToyLog::new(&rows, 1, Some(range(0, 56)));
    let job = AsofJob { time: range(15, 50), ..job(&[A, B], 10) };
    let (table, report) = run(&log, &job);
    assert_eq!(table.times(), [20, 30, 40]);
    assert_eq!(table.values::<Int32Type>("a.value"), [Some(1), Some(2), Some(2)]);
    assert_eq!(table.values::<Int16Type>("b.1.x"), [Some(1); 3]);
    assert_eq!(report.read.records, 3);
    // Records that would be too old are not read.
    let (table, report) = run(&log, &AsofJob { max_age_nanos: Some(10), ..job });
    assert_eq!(table.values::<Int32Type>("a.value"), [None, Some(2), None]);
    assert_eq!(report.read.records, 1);
}

#[test]
fn time_base_shifts_the_times_of_the_table() {
    let log = ToyLog::new(&[a(0, 1), a(10, 2)], 1, Some(range(0, 11)));
    let base = TimeBase { offset_nanos: 1_000, is_utc: true };
    let job = AsofJob { base, ..job(&[A], 10) };
    let (table, _) = run(&log, &job);
    assert_eq!(table.times(), [1_000, 1_010]);
    let schema = asof_schema(&log, &job).unwrap();
    assert_eq!(table.0[0].schema(), schema);
    assert!(schema.field(0).data_type().to_string().contains("UTC"));
}

#[test]
fn labels_match_their_values() {
    let mut labels = Labels::default();
    labels.insert("a", "value", 1, "ONE".into());
    labels.insert("a", "value", 2, "TWO".into());
    let labels = Some(Arc::new(labels));
    let rows = [b(0, 0, b"__"), a(10, 2), a(20, 7), a(30, 1), a(40, 2)];
    let log = ToyLog::new(&rows, 1, Some(range(0, 41)));
    let mut job = job(&[A], 10);
    job.columns_by_topic.insert(A, Columns { labels, ..Columns::new(View::Flat) });
    for limits in [MemoryLimits::default(), TINY] {
        let (table, _) = run_within(&log, &job, limits);
        let mut names = Vec::new();
        for batch in &table.0 {
            let column = batch.column_by_name("a.value_label").unwrap();
            let column = column.as_dictionary::<Int32Type>();
            let texts = column.downcast_dict::<arrow_array::StringArray>().unwrap();
            names.extend(texts.into_iter().map(|name| name.map(str::to_owned)));
        }
        let expected = [None, Some("TWO"), None, Some("ONE"), Some("TWO")];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }
}

#[test]
fn table_without_columns_is_refused() {
    let log = ToyLog::new(&[a(0, 1)], 1, Some(range(0, 1)));
    let mut table = CollectedTable::default();
    let only_time = Columns { indices: Some(vec![0]), ..Columns::new(View::Flat) };
    let mut only_time_of_a = job(&[], 1);
    only_time_of_a.columns_by_topic.insert(A, only_time);
    for job in [job(&[], 1), only_time_of_a, job(&[TopicId(u32::MAX)], 1)] {
        let err = merge_asof(&log, &job, &mut table).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::NoSuch);
        assert_eq!(asof_schema(&log, &job).unwrap_err().kind(), ErrorKind::NoSuch);
    }
}

#[test]
fn damage_and_progress_are_reported_once_for_parts_read_twice() {
    let mut rows = Vec::new();
    for time in 0..40 {
        rows.push(a(time * 10, time as i32));
        rows.push((C, time * 10, [0; 4]));
        rows.push(a(0, -1)); // so that every part may contain the first point
    }
    rows.push((TopicId(99), 0, [0; 4]));
    rows.push(a(0, -1));
    let log = ToyLog::new(&rows, 12, Some(range(0, 391)));
    let bytes_read = AtomicU64::new(0);
    let add = |bytes| {
        bytes_read.fetch_add(bytes, Ordering::Relaxed);
    };
    let job = AsofJob { progress: &add, ..job(&[A, C], 10) };
    let (table, report) = run_within(&log, &job, TINY);
    let expected: Vec<_> = (0..40).map(|i| Some(if i == 0 { -1 } else { i })).collect();
    assert_eq!(table.values::<Int32Type>("a.value"), expected);
    assert_eq!(table.values::<UInt8Type>("c.wide[4]"), [None; 40]);

    let parts = log.manifest().parts.len();
    assert!(log.reads.load(Ordering::Relaxed) > 2 * parts, "parts are read again");
    assert_eq!(bytes_read.load(Ordering::Relaxed), log.manifest().bytes);
    assert_eq!(report.read.records, 121);
    let damage: Vec<_> =
        report.read.damage.iter().map(|d| (d.kind, d.records)).collect();
    let expected = [(DamageKind::Undecodable, 40), (DamageKind::Garbled, 0)];
    assert_eq!(damage, expected);
}

#[test]
fn sorted_parts_are_read_once() {
    let rows: Vec<Row> = (0..400).map(|time| a(time, time as i32)).collect();
    let log = ToyLog::new(&rows, 10, Some(range(0, 400)));
    let limits = MemoryLimits { pending_bytes: 2048, ..TINY };
    let (table, _) = run_within(&log, &job(&[A], 1), limits);
    assert_eq!(table.times().len(), 400);
    assert_eq!(log.reads.load(Ordering::Relaxed), 40);
}

#[test]
fn wide_rows_are_written_in_small_batches() {
    let rows: Vec<Row> = (0..100).map(|time| b(time, 0, b"ok")).collect();
    let log = ToyLog::new(&rows, 100, Some(range(0, 100)));
    // 8 bytes of time, 2 of x, 4 + 2 of text: three rows are 48.
    let limits = MemoryLimits { batch_bytes: 50, ..MemoryLimits::default() };
    let (table, _) = run_within(&log, &job(&[B], 1), limits);
    assert!(table.0.iter().all(|batch| batch.num_rows() <= 3));
    assert_eq!(table.times().len(), 100);
}

/// Computes the table by searching all rows for each grid point.
fn expected_values(
    rows: &[Row],
    topic: TopicId,
    times: &[i64],
    job: &AsofJob<'_>,
) -> Vec<i64> {
    let value = |time: &i64| {
        let candidates =
            rows.iter().enumerate().filter(|(_, row)| row.0 == topic && row.1 <= *time);
        let last = candidates.max_by_key(|(index, row)| (row.1, *index));
        let current = last.filter(|(_, row)| {
            job.max_age_nanos.is_none_or(|age| row.1.abs_diff(*time) <= age)
        });
        current
            .map_or(-1, |(_, row)| i64::from(u16::from_le_bytes([row.2[0], row.2[1]])))
    };
    times.iter().map(value).collect()
}

#[test]
fn limits_do_not_change_the_table() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for round in 0..150 {
        let (count, jitter) = (1 + random(120), 1 + random(400));
        let mut rows = Vec::new();
        for index in 0..count {
            let time = (index * random(12) + random(jitter)) as i64;
            match random(3) {
                0 => rows.push(a(time, index as i32)),
                _ => rows.push(b(time, index as i16, b"ab")),
            }
        }
        let first = rows.iter().map(|row| row.1).min().unwrap();
        let last = rows.iter().map(|row| row.1).max().unwrap();
        let log =
            ToyLog::new(&rows, 1 + random(9) as usize, Some(range(first, last + 1)));
        let period = 1 + random(40);
        let mut job = job(&[A, B], period);
        if round % 3 == 0 {
            job.max_age_nanos = Some(random(100));
        }
        if round % 4 == 0 {
            job.time = range(random(200) as i64, 200 + random(500) as i64);
        }
        for limits in [
            MemoryLimits::default(),
            TINY,
            MemoryLimits { pending_bytes: 900, parallel_parts: 3, ..TINY },
            MemoryLimits {
                pending_bytes: 5000,
                part_bytes: 100,
                parallel_parts: 2,
                ..TINY
            },
            MemoryLimits { pending_bytes: usize::MAX, batch_rows: 1, ..TINY },
        ] {
            let (table, report) = run_within(&log, &job, limits);
            let times = table.times();
            let start = first.max(job.time.start.as_nanos());
            let end = (last + 1).min(job.time.end.as_nanos());
            let grid_times = (start..end).filter(|time| time % period as i64 == 0);
            assert!(grid_times.eq(times.iter().copied()), "round {round}");
            let without_nulls = |values: Vec<Option<i64>>| -> Vec<i64> {
                values.into_iter().map(|value| value.unwrap_or(-1)).collect()
            };
            let values_of_a = table.values::<Int32Type>("a.value");
            let values_of_a = without_nulls(
                values_of_a.into_iter().map(|v| v.map(i64::from)).collect(),
            );
            assert_eq!(
                values_of_a,
                expected_values(&rows, A, &times, &job),
                "round {round}"
            );
            let values_of_b = table.values::<Int16Type>("b.1.x");
            let values_of_b = without_nulls(
                values_of_b.into_iter().map(|v| v.map(i64::from)).collect(),
            );
            assert_eq!(
                values_of_b,
                expected_values(&rows, B, &times, &job),
                "round {round}"
            );
            let selected = rows.iter().filter(|row| {
                let age = job.max_age_nanos.map(|age| age as i64);
                let start = age.map_or(i64::MIN, |age| {
                    job.time.start.as_nanos().saturating_sub(age)
                });
                start <= row.1 && row.1 < job.time.end.as_nanos()
            });
            assert_eq!(report.read.records as usize, selected.count());
            assert_eq!(report.dropped_rows, 0);
        }
    }
}
