//! Reading ahead in pools of several sizes, with mock logs.

#![allow(clippy::single_range_in_vec_init)] // these are ranges that were released, not numbers

use std::{panic, sync::atomic::Ordering};

use super::*;
use crate::{
    error::ErrorKind,
    model::time::{TimeRange, Timestamp},
    parallel::test_pools::in_pools,
    record::block::Record,
    testing::mock_log::{MockLog, MockResult},
};

fn read(log: &MockLog) -> ReadAhead<'_> {
    ReadAhead::new(log, log.plan(), Selection::default())
}

/// Returns the times of the records up to the end or an error.
fn times(cursor: &mut dyn Cursor) -> (Vec<i64>, usize, Result<()>) {
    let (mut block, mut times, mut damage) = (Block::default(), vec![], 0);
    loop {
        match cursor.fill(&mut block) {
            Ok(true) => {
                times.extend(block.iter().map(|record| record.time.as_nanos()));
                damage += block.damage().len();
            }
            Ok(false) => return (times, damage, Ok(())),
            Err(err) => return (times, damage, Err(err)),
        }
    }
}

fn block(time: i64) -> MockResult {
    MockResult::Block(vec![(time, vec![7])])
}

#[test]
fn parts_are_in_order_on_any_number_of_threads() {
    in_pools(|| {
        let parts =
            (0..50).map(|part| (0..part % 4).map(move |i| block(part * 10 + i)));
        let log = MockLog::new(parts.map(Iterator::collect).collect());
        let expected: Vec<i64> = (0..50)
            .flat_map(|part| (0..part % 4).map(move |i| part * 10 + i))
            .collect();
        let (times, damage, end) = times(&mut read(&log));
        assert_eq!((times, damage), (expected, 0));
        end.unwrap();
        let ranges: Vec<_> =
            (0..50).map(|part| part * 1000..(part + 1) * 1000).collect();
        assert_eq!(*log.released.lock().unwrap(), ranges);
    });
}

#[test]
fn few_parts_are_started_at_once() {
    in_pools(|| {
        let log = MockLog::new((0..100).map(|part| vec![block(part)]).collect());
        let heavy = MockResult::Block(vec![(0, vec![0; FURTHER_PARTS_BYTES])]);
        let very_heavy = MockResult::Block(vec![(0, vec![0; LARGE_PART_BYTES])]);
        let is_outside = rayon::current_thread_index().is_none();
        let readers = rayon::current_num_threads() + usize::from(is_outside);
        for (log, max_started) in [
            (log, 3 * (readers + ADDITIONAL_PARTS)),
            (
                MockLog::new(vec![vec![heavy.clone(), heavy]; 100]),
                readers + ADDITIONAL_PARTS,
            ),
            (MockLog::new(vec![vec![very_heavy]; 20]), readers + 1),
        ] {
            let (mut read_ahead, mut block) = (read(&log), Block::default());
            for _ in 0..10 {
                while read_ahead.fill_part(&mut block).unwrap() {}
            }
            assert!(log.read.lock().unwrap().len() < 10 + max_started);
        }
    });
}

#[test]
fn long_part_is_not_read_completely_into_memory() {
    let megabyte = MockResult::Block(vec![(0, vec![0; 1 << 20])]);
    in_pools(|| {
        let log = MockLog::new(vec![vec![block(1)], vec![megabyte.clone(); 40]]);
        let (mut read_ahead, mut block) = (read(&log), Block::default());
        assert!(read_ahead.fill_part(&mut block).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(log.filled.load(Ordering::Relaxed) <= 1 + 8);
        assert!(!read_ahead.fill_part(&mut block).unwrap());
        let (times, _, end) = times(&mut read_ahead);
        assert_eq!(times.len(), 40);
        end.unwrap();
    });
}

#[test]
fn error_comes_after_earlier_blocks() {
    in_pools(|| {
        let log = MockLog::new(vec![
            vec![block(1), MockResult::Damage, block(2)],
            vec![block(3), MockResult::Error],
            vec![block(4)],
        ]);
        let (times, damage, end) = times(&mut read(&log));
        assert_eq!((times, damage), (vec![1, 2, 3], 1));
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Io);
    });
}

#[test]
fn panic_is_resumed_in_the_caller() {
    in_pools(|| {
        let log = MockLog::new(vec![vec![block(1)], vec![MockResult::Panic]]);
        let read_all = panic::AssertUnwindSafe(|| times(&mut read(&log)));
        assert!(panic::catch_unwind(read_all).is_err());
    });
}

#[test]
fn skipped_part_is_not_read() {
    in_pools(|| {
        let log = MockLog::new((0..6).map(|part| vec![block(part); 3]).collect());
        let (mut read_ahead, mut block) = (read(&log), Block::default());
        read_ahead.skip_part();
        read_ahead.skip_part();
        assert!(log.read.lock().unwrap().is_empty());
        assert!(read_ahead.fill_part(&mut block).unwrap());
        assert_eq!(block.get(0).unwrap().time.as_nanos(), 2);
        read_ahead.skip_part();
        let (times, ..) = times(&mut read_ahead);
        assert_eq!(times, [3, 3, 3, 4, 4, 4, 5, 5, 5]);
        assert!(read_ahead.is_done());
    });
}

#[test]
fn dropping_the_reader_stops_all_tasks() {
    in_pools(|| {
        let log = MockLog::new((0..9).map(|part| vec![block(part); 1000]).collect());
        let mut read_ahead = read(&log);
        assert!(read_ahead.fill_part(&mut Block::default()).unwrap());
        drop(read_ahead);
        let is_settled = || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let filled = log.filled.load(Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(5));
            filled == log.filled.load(Ordering::Relaxed)
        };
        assert!((0..1000).any(|_| is_settled()));
    });
}

/// Returns a block in which [`early_times`] selects one record in forty.
fn sparse_block(time: i64) -> MockResult {
    let unselected = (0..39).map(|i| (5_000 + i, vec![0; 9]));
    MockResult::Block(unselected.chain([(time, time.to_le_bytes().to_vec())]).collect())
}

/// Selects the times before 5,000.
fn early_times() -> Selection {
    let time = TimeRange {
        start: Timestamp::from_nanos(0),
        end: Timestamp::from_nanos(5_000),
    };
    Selection { time, ..Selection::default() }
}

#[test]
fn compaction_returns_the_same_records_in_fewer_blocks() {
    let full = MockResult::Block((70..90).map(|time| (time, vec![1; 9])).collect());
    let log = MockLog::new(vec![
        (0..20).map(sparse_block).collect(),
        vec![
            sparse_block(20),
            MockResult::Damage,
            sparse_block(21),
            full,
            MockResult::Damage,
            sparse_block(22),
        ],
        vec![sparse_block(23), sparse_block(24), MockResult::Error],
        vec![sparse_block(25), MockResult::Damage],
    ]);
    let read_all = |mut read_ahead: ReadAhead<'_>| {
        let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
        let (mut blocks, mut errors) = (0, 0);
        while !read_ahead.is_done() {
            match read_ahead.fill_part(&mut block) {
                Ok(true) => blocks += 1,
                Ok(false) => continue,
                Err(_) => {
                    errors += 1;
                    continue;
                }
            }
            damage.extend(block.damage().to_vec());
            let owned = |r: Record<'_>| (r.time, r.offset, r.payload.to_vec());
            records.extend(block.iter().map(owned));
        }
        (records, damage, errors, blocks)
    };
    in_pools(|| {
        let read = || ReadAhead::new(&log, log.plan(), early_times());
        let (plain, compacted) = (read_all(read()), read_all(read().with_compaction()));
        assert_eq!(plain.0.len(), 46);
        assert_eq!((plain.1.len(), plain.2), (3, 1));
        assert_eq!(compacted.0, plain.0);
        assert_eq!(compacted.1, plain.1);
        assert_eq!(compacted.2, plain.2);
        assert!(compacted.3 <= plain.3);
    });
    // A part that another thread reads.
    let slot = Slot::new(log.read(&log.plan()[0], &early_times()));
    let (slot, mut pool) = (Arc::new(slot), BlockPool::new(1));
    pool.compacts_below = Some(0);
    let shared_slot = slot.clone();
    assert!(shared_slot.read_ahead(&pool));
    let (mut block, pool) = (Block::default(), Arc::new(pool));
    assert!(slot.fill(&mut block, &pool).unwrap());
    assert_eq!(block.len(), 20);
    assert!(!slot.fill(&mut block, &pool).unwrap());
}

#[test]
fn short_blocks_are_copied_if_they_have_few_records_or_a_thread_waits() {
    let blocks = |records: i64, short| {
        let dense =
            |block: i64| (0..records).map(move |i| (block * 100 + i, vec![0; 9]));
        let results =
            (0..10).map(|block| MockResult::Block(dense(block).collect())).collect();
        let log = MockLog::new(vec![results]);
        let mut cursor = log.read(&log.plan()[0], &Selection::default()).unwrap();
        let (mut pool, mut blocks) = (BlockPool::new(1), Vec::new());
        pool.compacts_below = Some(short);
        while pool.fill_some(&mut *cursor, &mut blocks).unwrap() {}
        blocks.iter().map(Block::len).collect::<Vec<_>>()
    };
    assert_eq!(blocks(4, 0), [40]);
    assert_eq!(blocks(40, SHORT_BYTES), [400]);
    assert_eq!(blocks(40, 0), [40; 10]);
}

#[test]
fn parts_with_few_selected_records_are_read_together_and_end_separately() {
    let log = MockLog::new((0..200).map(|part| vec![sparse_block(part)]).collect());
    in_pools(|| {
        log.read.lock().unwrap().clear();
        log.released.lock().unwrap().clear();
        let mut read_ahead =
            ReadAhead::new(&log, log.plan(), early_times()).with_compaction();
        let (mut block, mut times, mut ends) = (Block::default(), vec![], 0);
        while !read_ahead.is_done() {
            if read_ahead.fill_part(&mut block).unwrap() {
                times.extend(block.iter().map(|r| r.time.as_nanos()))
            } else {
                ends += 1
            }
        }
        assert_eq!((times, ends), ((0..200).collect(), 200));
        let reads = log.read.lock().unwrap().len();
        let is_alone = rayon::current_num_threads() == 1
            && rayon::current_thread_index().is_some();
        assert!(if is_alone { reads == 200 } else { reads < 100 }, "{reads}");
        let released = log.released.lock().unwrap();
        let read_all =
            released.iter().try_fold(0, |end, r| (r.start == end).then_some(r.end));
        assert_eq!(read_all, Some(200_000));
    });
    // Not if most records are selected.
    let heavy = vec![MockResult::Block(vec![(0, vec![0; MAX_COPY_BYTES])])];
    let log = MockLog::new(vec![heavy; 60]);
    in_pools(|| {
        log.read.lock().unwrap().clear();
        let everything = Selection::default();
        let mut read_ahead =
            ReadAhead::new(&log, log.plan(), everything).with_compaction();
        assert_eq!(times(&mut read_ahead).0.len(), 60);
        assert_eq!(log.read.lock().unwrap().len(), 60);
    });
}
