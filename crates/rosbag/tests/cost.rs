//! What it costs to open and to select: as few bytes as the index allows.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::{
    io,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use logtool_core::{
    Block, Log as _, Selection, Source, TimeRange, Timestamp, TopicSet, check,
    conformance,
};
use logtool_rosbag::{RosbagLog, RosbagOptions};

/// So much is read at once only of chunks.
const LONG: usize = 20_000;

/// Counts what is read.
struct Counting {
    bytes: Bytes,
    read: AtomicU64,
    /// What is read at once, if it is long.
    long: Mutex<Vec<Range<u64>>>,
}

impl Source for Counting {
    fn len(&self) -> u64 {
        Source::len(&self.bytes)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.bytes.read_at(range.clone())?;
        if bytes.len() >= LONG {
            self.long.lock().unwrap().push(range);
        }
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

fn sample(name: &str) -> Option<Arc<Counting>> {
    let bytes = conformance::sample(&format!("rosbag/{name}"))?;
    let (read, long) = (AtomicU64::new(0), Mutex::default());
    Some(Arc::new(Counting { bytes, read, long }))
}

fn read(
    source: &Arc<Counting>,
    log: &RosbagLog,
    selection: &Selection,
) -> (usize, u64) {
    let before = source.read.load(Ordering::Relaxed);
    let (mut block, mut records) = (Block::default(), 0);
    for part in log.manifest().plan(selection, 1 << 20) {
        let mut cursor = log.read(&part, selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
        }
    }
    (records, source.read.load(Ordering::Relaxed) - before)
}

#[test]
fn opening_reads_the_index_and_a_little_of_some_chunks() {
    // 10 chunks of about 140 kB each.
    let Some(source) = sample("robot_localization-test1.bag") else { return };
    let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
    let opened = source.read.load(Ordering::Relaxed);
    assert_eq!(log.manifest().parts.len(), 10);
    assert!(opened < 300_000, "{opened} of {} bytes were read", source.len());

    let (records, all) = read(&source, &log, &Selection::default());
    assert_eq!(records, 16_806); // as the Python package rosbags 0.11 counts
    assert!(all < source.len() + 300_000, "{all} bytes were read");
}

#[test]
fn checking_reads_what_is_packed_once() {
    for name in ["example-bz2.bag", "example-lz4.bag"] {
        let Some(source) = sample(name) else { continue };
        let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
        source.long.lock().unwrap().clear();
        check(&log, &|_| {}).unwrap();
        let mut long = source.long.lock().unwrap().clone();
        long.sort_by_key(|range| range.start);
        assert!(!long.is_empty(), "{name} has a chunk");
        let is_behind = |pair: &[Range<u64>]| pair[0].end <= pair[1].start;
        assert!(long.windows(2).all(is_behind), "{name}: {long:?}");
    }
}

#[test]
fn a_selection_reads_only_the_chunks_that_may_have_some_of_it() {
    let Some(source) = sample("robot_localization-test1.bag") else { return };
    let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
    let (_, whole) = read(&source, &log, &Selection::default());
    let first = log.manifest().parts[0].time;
    let end = Timestamp::from_nanos(first.start.as_nanos() + 1);
    let time = TimeRange { start: first.start, end };
    let (records, some) = read(&source, &log, &Selection { time, ..all() });
    assert!(records > 0 && some < whole / 4, "{some} of {whole} bytes for {records}");
    let (records, none) =
        read(&source, &log, &Selection { topics: TopicSet::EMPTY, ..all() });
    assert_eq!((records, none), (0, 0));
}

fn all() -> Selection {
    Selection::default()
}
