//! Copies of small logs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::{
    error::Result,
    model::{
        damage::{Damage, DamageKind},
        manifest::Selection,
        time::{TimeRange, Timestamp},
        topic::{TopicId, TopicSet},
    },
    operations::copy::{
        CopyJob, MergeJob, TimeFromField, copy, latched_records, merge,
    },
    parallel::test_pools::in_pools,
    record::block::Record,
    sink::{Encoder, RecordSink},
    testing::sample_log::{RecordCollector, Sample, SampleRecord},
};

const NO_PROGRESS: &dyn Fn(u64) = &|_| {};

fn times(start: i64, end: i64) -> TimeRange {
    TimeRange { start: Timestamp::from_nanos(start), end: Timestamp::from_nanos(end) }
}

fn job(log: &Sample, selection: Selection, verify: bool) -> CopyJob<'_> {
    CopyJob {
        log,
        slice_index: 0,
        selection,
        verify,
        drops_doubtful: false,
        progress: NO_PROGRESS,
    }
}

fn three_parts() -> Sample {
    let parts: [&[SampleRecord]; 3] = [
        &[(0, 0, 1, b"aaaa"), (0, 0, 2, b"bbbb")],
        &[(0, 0, 3, b"cccc"), (1, 0, 4, b"dddd")],
        &[(0, 0, 5, b"eeee"), (0, 0, 6, b"ffff")],
    ];
    Sample::new(&parts)
}

#[test]
fn completely_selected_parts_are_copied_verbatim() {
    let (log, sink) = (
        three_parts(),
        RecordCollector { copies_parts: true, ..RecordCollector::default() },
    );
    let copied =
        copy(&job(&log, Selection::default(), false), None, &mut sink.clone()).unwrap();
    assert_eq!((copied.records, copied.verbatim_records), (300, 300));
    assert_eq!(*sink.parts.lock().unwrap(), [0, 1000, 2000]);

    let sink = RecordCollector { copies_parts: true, ..RecordCollector::default() };
    let selection =
        Selection { topics: [TopicId(0)].into_iter().collect(), time: times(0, 6) };
    copy(&job(&log, selection, false), None, &mut sink.clone()).unwrap();
    assert_eq!(*sink.parts.lock().unwrap(), [0]);
    assert_eq!(sink.times(), [(0, 3), (0, 5)]);
}

#[test]
fn sink_without_verbatim_copies_gets_all_records_in_order() {
    for verify in [false, true] {
        let (log, sink) = (three_parts(), RecordCollector::default());
        let job = job(&log, Selection::default(), verify);
        let copied = copy(&job, None, &mut sink.clone()).unwrap();
        assert_eq!((copied.records, copied.verbatim_records), (6, 0));
        let times: Vec<i64> = sink.times().into_iter().map(|(_, time)| time).collect();
        assert_eq!(times, [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn damaged_part_is_copied_record_by_record() {
    let lost = Damage::new(DamageKind::Garbled, 1_500..1_600);
    let log = three_parts().with_damage(1, lost.clone());
    let sink = RecordCollector { copies_parts: true, ..RecordCollector::default() };
    let copied =
        copy(&job(&log, Selection::default(), true), None, &mut sink.clone()).unwrap();
    assert_eq!(*sink.parts.lock().unwrap(), [0, 2000]);
    assert_eq!(sink.times(), [(0, 3), (0, 4)]);
    assert_eq!(copied.damage, [lost]);
}

#[test]
fn latched_records_are_the_last_of_each_stream() {
    let parts: [&[SampleRecord]; 2] = [
        &[(1, 0, 1, b"old!"), (1, 1, 2, b"from"), (1, 2, 3, b"none")],
        &[(1, 0, 5, b"new!"), (1, 0, 9, b"late"), (0, 0, 4, b"else")],
    ];
    let log = Sample::new(&parts);
    let latched =
        latched_records(&log, &TopicSet::All, Timestamp::from_nanos(9)).unwrap();
    let new_time = Timestamp::from_nanos(9);
    let records: Vec<_> = latched
        .iter()
        .map(|latched| {
            let record = latched.record_at(new_time);
            (record.stream, record.payload, latched.time().as_nanos())
        })
        .collect();
    assert_eq!(records, [(1, &b"from"[..], 2), (0, &b"new!"[..], 5)]);
    assert!(latched.iter().all(|record| record.record_at(new_time).time == new_time));
}

#[test]
fn records_get_the_time_of_a_field_if_it_is_set() {
    let parts: [&[SampleRecord]; 1] = [&[
        (0, 0, 100, &[7, 0, 0, 0]),
        (1, 0, 101, &[8, 0, 0, 0]),
        (0, 0, 102, &[0, 0, 0, 0]),
        (0, 0, 103, b"?"),
        (0, 0, 104, &[9, 0, 0, 0]),
    ]];
    let (log, sink) = (Sample::new(&parts), RecordCollector::default());
    let topics: TopicSet = [TopicId(0)].into_iter().collect();
    let mut time_from_field = TimeFromField::new(&log, &topics, "stamp").unwrap();
    let job = job(&log, Selection::default(), false);
    copy(&job, Some(&mut time_from_field), &mut sink.clone()).unwrap();
    let times: Vec<i64> = sink.times().into_iter().map(|(_, time)| time).collect();
    assert_eq!(times, [7, 101, 102, 103, 9]);
    assert_eq!(time_from_field.unchanged_records(), 2);
    let has_no_field =
        |id| time_from_field.topics_without_field().contains(TopicId(id));
    assert_eq!([0, 1, 2].map(has_no_field), [false, true, false]);
    assert!(
        TimeFromField::new(&log, &topics, "number").is_err(),
        "a number is not a time"
    );
}

#[test]
fn merged_records_are_in_order_of_time_and_log() {
    let first: &[&[SampleRecord]] =
        &[&[(0, 0, 1, b"aaaa"), (0, 0, 5, b"bbbb")], &[(0, 0, 6, b"cccc")]];
    let other: &[&[SampleRecord]] =
        &[&[(0, 0, 5, b"dddd"), (0, 0, 2, b"eeee")], &[(0, 0, 9, b"ffff")]];
    let (first, other, sink) =
        (Sample::new(first), Sample::new(other), RecordCollector::default());
    let job = |log| MergeJob { log, selection: Selection::default() };
    let copied =
        merge(&[job(&first), job(&other)], &mut sink.clone(), NO_PROGRESS).unwrap();
    assert_eq!(sink.times(), [(0, 1), (1, 2), (0, 5), (1, 5), (0, 6), (1, 9)]);
    assert_eq!(copied.iter().map(|c| c.records).collect::<Vec<_>>(), [3, 3]);
}

/// Encodes records as their payloads, and keeps the written bytes.
#[derive(Clone, Default)]
struct PayloadSink {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// The number of records that were written without encoding.
    single: Arc<AtomicUsize>,
}

struct PayloadEncoder;

impl Encoder for PayloadEncoder {
    fn encode(&self, _: usize, record: Record<'_>, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.extend(record.payload);
        Ok(())
    }
}

impl RecordSink for PayloadSink {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        self.single.fetch_add(1, Relaxed);
        PayloadEncoder.encode(slice_index, record, &mut self.bytes.lock().unwrap())
    }

    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        Some(Arc::new(PayloadEncoder))
    }

    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.bytes.lock().unwrap().append(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn encoded_records_are_written_in_the_order_of_the_file() {
    in_pools(|| {
        for (end, expected, single) in
            [(7, &b"aaaabbbbccccddddeeeeffff"[..], 0), (4, b"aaaabbbbcccc", 3)]
        {
            let (log, sink) = (three_parts(), PayloadSink::default());
            let selection = Selection { time: times(0, end), ..Selection::default() };
            let job = job(&log, selection, false);
            let copied = copy(&job, None, &mut sink.clone()).unwrap();
            assert_eq!(*sink.bytes.lock().unwrap(), expected);
            assert_eq!(copied.records, expected.len() as u64 / 4);
            // If few records are selected, they are written one by one.
            assert_eq!(sink.single.load(Relaxed), single);
        }
        let (first, other, sink) =
            (three_parts(), three_parts(), PayloadSink::default());
        let job = |log| MergeJob { log, selection: Selection::default() };
        let copied =
            merge(&[job(&first), job(&other)], &mut sink.clone(), NO_PROGRESS).unwrap();
        assert_eq!(copied.iter().map(|c| c.records).collect::<Vec<_>>(), [6, 6]);
        let payloads = [b"aaaa", b"bbbb", b"cccc", b"dddd", b"eeee", b"ffff"];
        let expected: Vec<u8> =
            payloads.iter().flat_map(|text| text.repeat(2)).collect();
        assert_eq!(*sink.bytes.lock().unwrap(), expected);
        assert_eq!(sink.single.load(Relaxed), 0);
    });
}
