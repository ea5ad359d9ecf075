//! Checks of logs with known defects.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::{
    error::{Error, ErrorKind, Result as CoreResult},
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log},
    model::{
        damage::{Damage, DamageKind},
        finding::{Finding, Severity},
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    operations::{check::check, trial_decode::TrialDecoder},
    record::block::{Block, Run, TopicSort},
    testing::sample_log::{Sample, SampleRecord},
};

const PAYLOADS: [&[u8]; 4] = [b"1234", b"2345", b"3456", b"4567"];

/// Returns the findings, which are the same in thread pools of several sizes.
fn check_in_pools(log: &dyn Log) -> Result<Vec<Finding>, String> {
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let findings = pool.build().unwrap().install(|| check(log, &|_| {}));
        let findings = findings.map_err(|err| err.to_string())?;
        Ok(findings.iter().cloned().collect())
    };
    let expected = in_pool(1);
    for threads in [2, 5] {
        assert_eq!(in_pool(threads), expected, "{threads} threads");
    }
    expected
}

/// Returns the codes, topics and counts of the findings.
fn finding_summaries(log: &Sample) -> Vec<(&'static str, Option<u32>, u64)> {
    let findings = check_in_pools(log).unwrap();
    findings.iter().map(|f| (f.code.name, f.topic.map(|id| id.0), f.count)).collect()
}

/// Returns different records of topic 0 at `times`.
fn records(times: impl IntoIterator<Item = i64>) -> Vec<SampleRecord> {
    let record = |(index, time): (usize, i64)| (0, 0, time, PAYLOADS[index % 4]);
    times.into_iter().enumerate().map(record).collect()
}

#[test]
fn sound_log_has_no_findings() {
    let (first, second) = (records(0..100), records(100..200));
    let log = Sample::new(&[&first, &second]);
    assert_eq!(finding_summaries(&log), []);
}

#[test]
fn backward_times_are_found_within_and_between_topics() {
    let log = Sample::new(&[&[
        (0, 0, 10, b"aaaa"),
        (1, 0, 5, b"bbbb"), // older than one of another topic
        (0, 0, 9, b"cccc"), // older than the one before it of its own topic
        (0, 0, 3, b"dddd"),
        (0, 0, 11, b"eeee"),
    ]]);
    assert_eq!(
        finding_summaries(&log),
        [("time.back", Some(0), 2), ("time.mixed", None, 1)]
    );
    let findings = check(&log, &|_| {}).unwrap();
    let back = findings.iter().next().unwrap();
    assert!(back.text.contains("6 ns at most"), "{back:?}");
    let time = |start, end| TimeRange {
        start: Timestamp::from_nanos(start),
        end: Timestamp::from_nanos(end),
    };
    assert_eq!(back.time, Some(time(3, 10)));
}

#[test]
fn wrong_time_in_the_future_does_not_blame_the_records_after_it() {
    let mut times: Vec<i64> = (0..200).collect();
    times[0] = 1_000_000;
    let other =
        records(200..300).into_iter().map(|record| (1, record.1, record.2, record.3));
    let list: Vec<SampleRecord> = records(times).into_iter().chain(other).collect();
    assert_eq!(finding_summaries(&Sample::new(&[&list])), [("time.back", Some(0), 1)]);
}

#[test]
fn duplicate_records_are_found() {
    let log = Sample::new(&[&[
        (0, 0, 1, b"aaaa"),
        (0, 1, 1, b"aaaa"), // of another stream
        (0, 0, 1, b"bbbb"),
        (0, 0, 1, b"aaaa"), // duplicate
        (0, 0, 2, b"aaaa"),
    ]]);
    assert_eq!(finding_summaries(&log), [("record.duplicate", Some(0), 1)]);
}

#[test]
fn gaps_are_found_only_in_regular_topics() {
    let millis = |n: i64| n * 1_000_000;
    let regular =
        (0..50).map(|n| millis(n * 10)).chain((0..50).map(|n| millis(1_000 + n * 10)));
    assert_eq!(
        finding_summaries(&Sample::new(&[&records(regular)])),
        [("time.gap", Some(0), 1)]
    );
    let squares = (0..100).map(|n| millis(n * n * n));
    assert_eq!(finding_summaries(&Sample::new(&[&records(squares)])), []);
}

#[test]
fn undecodable_records_are_found_and_counted() {
    let log = Sample::new(&[&[(0, 0, 1, b"aaaa"), (0, 0, 2, b"a"), (0, 0, 3, b"")]]);
    assert_eq!(finding_summaries(&log), [("damage.undecodable", Some(0), 2)]);
}

#[test]
fn wrong_counts_are_found_unless_damage_explains_them() {
    let mut log = Sample::new(&[&records(0..10)]);
    log.manifest.topics[0].records = Some(12);
    assert_eq!(finding_summaries(&log), [("count.records", Some(0), 1)]);
    let lost = Damage::new(DamageKind::Garbled, 10..20);
    let log = log.with_damage(0, lost.with_records(2, Some(TopicId(0))));
    assert_eq!(finding_summaries(&log), [("damage.garbled", Some(0), 2)]);
}

#[test]
fn records_outside_of_the_declared_part_are_found() {
    let mut log = Sample::new(&[&records(0..10), &records(10..20)]);
    log.manifest.parts[1].time.end = Timestamp::from_nanos(15);
    assert_eq!(finding_summaries(&log), [("part.outside", None, 5)]);
}

#[test]
fn known_damage_is_reported_once() {
    let lost = || Damage::new(DamageKind::Garbled, 1_200..1_300);
    let damage = Damage::new(DamageKind::Garbled, 5_000..5_001);
    let mut log =
        Sample::new(&[&records(0..10), &records(10..20)]).with_damage(1, lost());
    log.manifest.damage = vec![lost(), damage];
    assert_eq!(finding_summaries(&log), [("damage.garbled", None, 2)]);
    assert_eq!(check(&log, &|_| {}).unwrap().max_severity(), Some(Severity::Error));
}

#[test]
fn overlapping_parts_are_found() {
    let log = Sample::new(&[&records(0..100), &records(100..200)]);
    assert_eq!(finding_summaries(&log), []);
    let (even_times, odd_times) =
        (records((0..100).step_by(2)), records((1..100).step_by(2)));
    let names: Vec<_> = finding_summaries(&Sample::new(&[&even_times, &odd_times]))
        .into_iter()
        .map(|f| f.0)
        .collect();
    assert_eq!(names, ["time.back", "part.overlap"]);
}

#[test]
fn findings_in_many_blocks_are_in_order() {
    let mut parts: Vec<Vec<SampleRecord>> =
        (0..60).map(|part| records(part * 10..part * 10 + 10)).collect();
    parts[7][4].3 = b"a"; // cannot be decoded
    parts[40][0].3 = b"";
    parts[41][9].2 = 1; // runs backwards
    let repeated = parts[50][3];
    parts[50].insert(4, repeated);
    let slices: Vec<&[SampleRecord]> = parts.iter().map(Vec::as_slice).collect();
    let lost = |start: u64| Damage::new(DamageKind::Garbled, start..start + 5);
    let log =
        Sample::new(&slices).with_damage(55, lost(55_900)).with_damage(3, lost(3_900));
    let findings: Vec<_> = check_in_pools(&log)
        .unwrap()
        .into_iter()
        .map(|f| (f.code.name, f.bytes.map(|bytes| bytes.start), f.count))
        .collect();
    let expected = [
        ("damage.garbled", Some(3_900), 2),
        ("damage.undecodable", Some(7_016), 2), // after four payloads of 4 bytes
        ("time.back", Some(41_036), 1),
        ("record.duplicate", Some(50_016), 1),
        ("part.overlap", Some(41_000), 1),
    ];
    assert_eq!(findings, expected);
}

/// A log whose part 3 cannot be read, and whose decoders fail at the payload `stop`.
struct BrokenLog(Sample);

/// A decoder that fails after the payload `stop`.
struct FailingDecoder {
    decoder: Box<dyn Decoder>,
    has_failed: bool,
}

impl Log for BrokenLog {
    fn manifest(&self) -> &Manifest {
        self.0.manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> CoreResult<Box<dyn Cursor>> {
        match part.bytes.start {
            3_000 => Err(Error::new(ErrorKind::Io, "the part 3 cannot be read")),
            _ => self.0.read(part, selection),
        }
    }

    fn decoder(&self, id: TopicId, columns: &Columns) -> CoreResult<Box<dyn Decoder>> {
        Ok(Box::new(FailingDecoder {
            decoder: self.0.decoder(id, columns)?,
            has_failed: false,
        }))
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.0.source()
    }
}

impl Decoder for FailingDecoder {
    fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        self.has_failed |= run.payloads().any(|payload| payload == b"stop");
        self.decoder.append(run, damage);
    }

    fn rows(&self) -> usize {
        self.decoder.rows()
    }

    fn take(&mut self) -> CoreResult<RecordBatch> {
        if self.has_failed {
            Err(Error::new(ErrorKind::Limit, "a decoder failed"))
        } else {
            self.decoder.take()
        }
    }
}

#[test]
fn check_returns_the_first_error_in_the_file() {
    let parts: Vec<Vec<SampleRecord>> =
        (0..6).map(|part| records(part * 10..part * 10 + 10)).collect();
    let error_with = |stop: Option<usize>| {
        let mut parts = parts.clone();
        if let Some(part) = stop {
            parts[part][5].3 = b"stop";
        }
        let slices: Vec<&[SampleRecord]> = parts.iter().map(Vec::as_slice).collect();
        check_in_pools(&BrokenLog(Sample::new(&slices))).unwrap_err()
    };
    assert!(error_with(None).contains("the part 3 cannot be read"));
    assert!(error_with(Some(2)).contains("a decoder failed"));
    assert!(error_with(Some(4)).contains("the part 3 cannot be read"));
}

#[test]
fn failed_decoder_is_not_used_again() {
    let mut parts = [records(0..10), records(10..20), records(20..30)];
    parts[1][5].3 = b"stop";
    let log = BrokenLog(Sample::new(&[&parts[0], &parts[1], &parts[2]]));
    let trial_decoder = TrialDecoder::new(&log, None);
    let (mut block, mut sort) = (Block::default(), TopicSort::default());
    let decoded: Vec<_> = log.manifest().parts[..3]
        .iter()
        .map(|part| {
            let mut cursor = trial_decoder.read(part, &Selection::default()).unwrap();
            assert!(cursor.fill(&mut block).unwrap());
            let decoded = trial_decoder.next_part().next(&block).decoded;
            match decoded {
                Some(decoded) => decoded.is_ok(),
                None => trial_decoder.decode(&block, &mut sort).is_ok(),
            }
        })
        .collect();
    assert_eq!(decoded, [true, false, true]);
}
