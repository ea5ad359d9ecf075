//! The order of merged records, compared with a simple sort.

use super::{batch::MAX_BYTES, *};
use crate::{
    error::ErrorKind,
    log::Cursor as _,
    model::damage::DamageKind,
    testing::mock_log::{MockLog, MockResult},
};

/// Times and payloads of records.
type Records = Vec<(i64, Vec<u8>)>;

/// A deterministic sequence of pseudo-random numbers.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// Creates parts of several blocks, each a few milliseconds after the last one, that
/// overlap by up to `overlap` milliseconds.
fn parts(random: &mut RandomNumbers, overlap: u64) -> Vec<Vec<MockResult>> {
    let mut number = 0_u32;
    let mut record = |start: u64, random: &mut RandomNumbers| {
        number += 1;
        let len = random.roll(3) as usize * 4;
        let payload = number.to_le_bytes().into_iter().cycle().take(len).collect();
        ((start + random.roll(overlap + 1) / 3 * 3) as i64, payload)
    };
    let part = |start: u64, random: &mut RandomNumbers| {
        let blocks = 0..random.roll(4);
        let block = |_| {
            MockResult::Block(
                (0..random.roll(9)).map(|_| record(start, random)).collect(),
            )
        };
        blocks.map(block).collect()
    };
    let mut part = part;
    (0..random.roll(30)).map(|index| part(index * 10, random)).collect()
}

fn all_records(parts: &[Vec<MockResult>]) -> Records {
    let records = parts.iter().flatten().flat_map(|result| match result {
        MockResult::Block(records) => records.clone(),
        _ => vec![],
    });
    records.collect()
}

fn sorted(mut records: Records) -> Records {
    records.sort_by_key(|record| record.0);
    records
}

fn by_records(mut merge: Merge<'_>) -> Vec<(usize, i64, Vec<u8>)> {
    let mut records = Vec::new();
    while let Some((log, record)) = merge.next().unwrap() {
        records.push((log, record.time.as_nanos(), record.payload.to_vec()));
        assert!(record.offset < 1_000_000, "{}", record.offset);
    }
    records
}

fn by_blocks(merge: Merge<'_>) -> Records {
    let (mut order, mut block) = (TimeOrder::from(merge), Block::default());
    let mut records = Vec::new();
    while order.fill(&mut block).unwrap() {
        let owned = block.iter().map(|r| (r.time.as_nanos(), r.payload.to_vec()));
        records.extend(owned);
    }
    records
}

fn by_batches(mut merge: Merge<'_>) -> Records {
    let (mut batch, mut records) = (MergedBatch::default(), Records::new());
    loop {
        merge.fill(&mut batch, MAX_BYTES);
        let before = records.len();
        records.extend(batch.records().map(|(log, record)| {
            assert_eq!((log, batch.len() > 0), (0, true));
            (record.time.as_nanos(), record.payload.to_vec())
        }));
        assert_eq!(batch.len(), records.len() - before);
        batch.take_error().unwrap();
        if batch.len() == 0 {
            return records;
        }
    }
}

fn merge(log: &MockLog, budget: usize) -> Merge<'_> {
    Merge::with_budget(budget, 0, vec![(log, Selection::default())])
}

#[test]
fn merge_is_a_stable_sort_with_any_memory_limit() {
    let mut random = RandomNumbers(7);
    for round in 0..300 {
        let overlap = [0, 5, 30, 1000][round % 4];
        let parts = parts(&mut random, overlap);
        let expected = sorted(all_records(&parts));
        let mut log = MockLog::new(parts);
        if round % 5 == 0 {
            log = log.without_times();
        }
        for budget in [1, 700, 4000, MEMORY_BUDGET] {
            assert_eq!(by_blocks(merge(&log, budget)), expected, "{round}, {budget}");
            assert_eq!(by_batches(merge(&log, budget)), expected, "{round}, {budget}");
            let actual = by_records(merge(&log, budget));
            let actual: Records =
                actual.into_iter().map(|(_, time, payload)| (time, payload)).collect();
            assert_eq!(actual, expected, "{round}, {budget}");
        }
    }
}

#[test]
fn equal_times_keep_the_order_of_the_file_in_little_memory() {
    let block = |first: u32| {
        let record = |number: u32| (42, number.to_le_bytes().to_vec());
        vec![MockResult::Block((first..first + 50).map(record).collect())]
    };
    let parts: Vec<Vec<MockResult>> = (0..10).map(|part| block(part * 50)).collect();
    let expected = all_records(&parts);
    let log = MockLog::new(parts);
    assert_eq!(by_blocks(merge(&log, 3000)), expected);
    // One part takes more memory than that.
    assert!(log.read.lock().unwrap().len() > 10);
}

#[test]
fn memory_of_a_merge_is_bounded() {
    let mut random = RandomNumbers(11);
    for budget in [3000, 20_000] {
        let parts = (0..40).map(|_| {
            let record = |_| (random.roll(1000) as i64, vec![1; 20]);
            vec![MockResult::Block((0..20).map(record).collect())]
        });
        let log = MockLog::new(parts.collect());
        let mut merge = merge(&log, budget);
        while merge.next().unwrap().is_some() {
            // A block of 20 records, each with its payload, its position and a key.
            let open_parts = merge.open_parts.len() * size_of::<OpenPart>();
            assert!(
                merge.buffered_bytes <= budget + 20 * 140 + open_parts,
                "{}",
                merge.buffered_bytes
            );
        }
        assert_eq!(merge.buffered_bytes, 0);
    }
}

#[test]
fn parts_are_opened_when_the_merge_reaches_them() {
    let parts: Vec<Vec<i64>> =
        (0..1000).map(|part| vec![part * 10, part * 10 + 12]).collect();
    let parts: Vec<&[i64]> = parts.iter().map(Vec::as_slice).collect();
    let log = MockLog::with_times(&parts);
    let mut merge = merge(&log, MEMORY_BUDGET);
    for _ in 0..100 {
        merge.next().unwrap();
        assert!(merge.open_parts.iter().flatten().count() <= 2);
    }
    let ahead_parts = rayon::current_num_threads() + 4;
    assert!(log.read.lock().unwrap().len() <= 50 + 2 + ahead_parts);
    assert!(log.released.lock().unwrap().len() >= 47);
}

#[test]
fn equal_times_are_in_the_order_of_the_logs() {
    let a = MockLog::with_times(&[&[1, 3], &[3, 5]]);
    let b = MockLog::with_times(&[&[2, 3, 6], &[0, 3]]);
    let everything = Selection::default();
    let logs = vec![(&a as &dyn Log, everything.clone()), (&b, everything)];
    let actual = by_records(Merge::with_budget(MEMORY_BUDGET, 0, logs));
    let actual: Vec<(usize, i64, u8)> =
        actual.iter().map(|(log, time, payload)| (*log, *time, payload[0])).collect();
    let expected = [
        (1, 0, 4),
        (0, 1, 1),
        (1, 2, 1),
        (0, 3, 2),
        (0, 3, 3),
        (1, 3, 2),
        (1, 3, 5),
        (0, 5, 4),
        (1, 6, 3),
    ];
    assert_eq!(actual, expected);
}

#[test]
fn damage_is_reported_once_and_an_error_after_earlier_records() {
    let block = |time| MockResult::Block(vec![(time, vec![1])]);
    let log = MockLog::new(vec![
        vec![block(5), MockResult::Damage],
        vec![block(3), MockResult::Damage, block(9)],
        vec![block(20), MockResult::Error],
    ]);
    let (mut order, mut block) = (TimeOrder::from(merge(&log, 1)), Block::default());
    let (mut times, mut damage) = (vec![], 0);
    let err = loop {
        match order.fill(&mut block) {
            Ok(true) => {
                times.extend(block.iter().map(|r| r.time.as_nanos()));
                damage += block.damage().len();
            }
            Ok(false) => panic!("there is an error"),
            Err(err) => break err,
        }
    };
    assert_eq!((times, damage), (vec![3, 5, 9], 2));
    assert_eq!(err.kind(), ErrorKind::Io);
}

#[test]
fn part_that_starts_earlier_than_declared_is_reported() {
    let parts: [&[i64]; 3] = [&[0, 10, 20], &[5, 15, 25], &[30, 40]];
    for (later, expected, damage_count) in [
        // It is opened at 5, at 10 (the 10 of the first part comes first), and at 17.
        (0, [0, 5, 10, 15, 20, 25, 30, 40], 0),
        (5, [0, 10, 5, 15, 20, 25, 30, 40], 1),
        (12, [0, 10, 5, 15, 20, 25, 30, 40], 1),
    ] {
        let log = MockLog::with_times(&parts).with_later_start(1, later);
        let mut merge = merge(&log, usize::MAX);
        let mut times = Vec::new();
        while let Some((_, record)) = merge.next().unwrap() {
            times.push(record.time.as_nanos());
        }
        assert_eq!(times, expected);
        let damage = merge.take_damage();
        assert_eq!(damage.len(), damage_count, "{later}");
        for (_, damage) in damage {
            assert_eq!((damage.kind, damage.bytes), (DamageKind::Doubtful, 1000..2000));
        }
    }
}

#[test]
fn long_runs_are_not_copied() {
    let record = |time| (time, vec![0; 100]);
    let long = |start: i64| {
        vec![MockResult::Block((start..start + 1000).map(record).collect())]
    };
    let log = MockLog::new(vec![long(0), long(998), long(5000)]);
    let (mut order, mut block) =
        (TimeOrder::from(merge(&log, MEMORY_BUDGET)), Block::default());
    let mut blocks = Vec::new();
    while order.fill(&mut block).unwrap() {
        blocks.push((block.len(), block.get(0).unwrap().offset));
    }
    // Two alternating parts are copied together, and all others are passed on.
    assert_eq!(blocks, [(999, 0), (2, 1000), (999, 1100), (1000, 2000)]);
}

#[test]
fn blocks_continue_after_single_records() {
    let log = MockLog::with_times(&[&[1, 4, 5], &[2, 3, 6]]);
    let mut merge = merge(&log, MEMORY_BUDGET);
    for expected in [1, 2, 3] {
        let (_, record) = merge.next().unwrap().unwrap();
        assert_eq!(record.time.as_nanos(), expected);
    }
    let remaining = by_blocks(merge).into_iter().map(|(time, _)| time);
    assert_eq!(remaining.collect::<Vec<i64>>(), [4, 5, 6]);
}

#[test]
fn error_of_a_batch_comes_after_its_records() {
    let block = |time| MockResult::Block(vec![(time, vec![1])]);
    let log = MockLog::new(vec![vec![block(3)], vec![block(20), MockResult::Error]]);
    let (mut merge, mut batch) = (merge(&log, MEMORY_BUDGET), MergedBatch::default());
    merge.fill(&mut batch, MAX_BYTES);
    let times: Vec<i64> = batch.records().map(|(_, r)| r.time.as_nanos()).collect();
    assert_eq!((times, batch.is_last()), (vec![3], true));
    assert_eq!(batch.take_error().unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn parts_are_released_when_their_records_are_no_longer_used() {
    let log = MockLog::with_times(&[&[1, 2], &[3, 4], &[5, 6]]);
    let mut merge = merge(&log, MEMORY_BUDGET);
    let (mut batch, mut other) = (MergedBatch::default(), MergedBatch::default());
    merge.fill(&mut batch, MAX_BYTES);
    merge.fill(&mut other, MAX_BYTES);
    assert_eq!((batch.len(), other.len()), (6, 0));
    assert_eq!(log.released.lock().unwrap().len(), 0);
    merge.fill(&mut batch, MAX_BYTES);
    assert_eq!(log.released.lock().unwrap().len(), 3);
}

#[test]
fn part_that_exceeds_the_memory_limit_is_read_twice() {
    let block = |start: i64| {
        let record =
            |number: i64| (start + number / 2 * 3, number.to_le_bytes().to_vec());
        MockResult::Block((0..10).map(record).collect())
    };
    let part: Vec<MockResult> = (0..1000).map(|index| block(index * 10)).collect();
    let parts = vec![part, vec![MockResult::Block(vec![(5_000, vec![2])])]];
    let expected = sorted(all_records(&parts));
    let log = MockLog::new(parts);
    assert_eq!(by_batches(merge(&log, 64_000)), expected);
    assert_eq!(*log.read.lock().unwrap(), [0, 1, 0]);
    let mut merge = merge(&log, 64_000);
    let mut max_memory_bytes = 0;
    while merge.next().unwrap().is_some() {
        max_memory_bytes = max_memory_bytes
            .max(merge.open_parts.iter().flatten().map(OpenPart::memory_bytes).sum());
    }
    assert!(max_memory_bytes < 100_000, "{max_memory_bytes}");
    assert_eq!((merge.buffered_bytes, merge.take_damage()), (0, vec![]));
}

#[test]
fn parts_with_many_backward_times_are_merged_in_little_memory() {
    let mut random = RandomNumbers(17);
    for round in 0..60 {
        let long = parts(&mut random, [5, 100][round % 2]).concat();
        let back: Vec<MockResult> = long.iter().chain(&long).cloned().collect();
        let parts = vec![long, back];
        let expected = sorted(all_records(&parts));
        let log = MockLog::new(parts);
        for budget in [1, 700, 4000, 16_000] {
            assert_eq!(by_batches(merge(&log, budget)), expected, "{round}, {budget}");
            assert_eq!(by_blocks(merge(&log, budget)), expected, "{round}, {budget}");
        }
    }
}

/// Asserts that the records are those of `expected` in order. Returns the maximum memory of
/// all open parts.
fn check_order_and_memory(log: &MockLog, budget: usize, expected: &Records) -> usize {
    let mut merge = merge(log, budget);
    let (mut records, mut max_memory_bytes) = (Records::new(), 0);
    while let Some((_, record)) = merge.next().unwrap() {
        records.push((record.time.as_nanos(), record.payload.to_vec()));
        max_memory_bytes = max_memory_bytes
            .max(merge.open_parts.iter().flatten().map(OpenPart::memory_bytes).sum());
        assert!(merge.paused.len() <= part_opening::MAX_PAUSED_PARTS);
    }
    assert!(records == *expected, "the records are in order");
    max_memory_bytes
}

#[test]
fn memory_is_bounded_for_segments_that_start_early_and_end_late() {
    let block = |start: i64| {
        // First all records are early, then one in ten.
        let delay = if start < 300 { 0 } else { 100_000 };
        let others = (0..9).map(|number| (delay + start - number, vec![2; 100]));
        MockResult::Block([(start, vec![1; 100])].into_iter().chain(others).collect())
    };
    let parts = vec![(0..1000).map(block).collect()];
    let expected = sorted(all_records(&parts));
    let log = MockLog::new(parts);
    let max_memory_bytes = check_order_and_memory(&log, 200_000, &expected);
    // All records take 2.5 MB.
    assert!(max_memory_bytes < 340_000, "{max_memory_bytes}");
}

#[test]
fn memory_is_bounded_for_many_parts_with_the_same_times() {
    let block = |start: i64, part: u8| {
        MockResult::Block(
            (0..10).map(|number| (start + number, vec![part; 100])).collect(),
        )
    };
    // Parts that are shorter than a segment, and longer ones.
    for (parts, blocks, bound) in [(250, 2, 340_000), (60, 60, 400_000)] {
        let part =
            |part: u8| (0..blocks).map(|index| block(index * 10, part)).collect();
        let parts: Vec<Vec<MockResult>> = (0..parts).map(part).collect();
        let expected = sorted(all_records(&parts));
        let log = MockLog::new(parts);
        let max_memory_bytes = check_order_and_memory(&log, 200_000, &expected);
        // All records take 1.2 MB and 8 MB.
        assert!(max_memory_bytes < bound, "{max_memory_bytes}");
    }
}
