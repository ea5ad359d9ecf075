//! The cost of opening and selecting: no more bytes are read than the index requires.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

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
use logtool_rosbag::{
    Compression, ConnectionHeader, OpenMode, RosbagLog, RosbagOptions, Writer,
    WriterOptions,
};

/// The minimum number of bytes of a long read, i.e. one of the data of a chunk.
const MIN_LONG_READ: usize = 20_000;

/// A source that counts the bytes that are read.
struct CountingSource {
    bytes: Bytes,
    /// The number of bytes that were read.
    read: AtomicU64,
    /// The ranges of the long reads.
    long_reads: Mutex<Vec<Range<u64>>>,
}

impl Source for CountingSource {
    fn len(&self) -> u64 {
        Source::len(&self.bytes)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.bytes.read_at(range.clone())?;
        if bytes.len() >= MIN_LONG_READ {
            self.long_reads.lock().unwrap().push(range);
        }
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

fn sample(name: &str) -> Option<Arc<CountingSource>> {
    let bytes = conformance::sample(&format!("rosbag/{name}"))?;
    let (read, long_reads) = (AtomicU64::new(0), Mutex::default());
    Some(Arc::new(CountingSource { bytes, read, long_reads }))
}

/// Returns the number of records in `selection`, and the number of bytes that were read for them.
fn read(
    source: &Arc<CountingSource>,
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
fn opening_reads_the_index_and_the_headers_of_some_chunks() {
    // 10 chunks of about 140 kB each.
    let Some(source) = sample("robot_localization-test1.bag") else { return };
    let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
    let opened = source.read.load(Ordering::Relaxed);
    assert_eq!(log.manifest().parts.len(), 10);
    assert!(opened < 300_000, "{opened} of {} bytes were read", source.len());

    let (records, full_len) = read(&source, &log, &Selection::default());
    assert_eq!(records, 16_806); // the number that the Python package rosbags 0.11 reads
    assert!(full_len < source.len() + 300_000, "{full_len} bytes were read");
}

#[test]
fn checking_reads_compressed_chunks_once() {
    for name in ["example-bz2.bag", "example-lz4.bag"] {
        let Some(source) = sample(name) else { continue };
        let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
        source.long_reads.lock().unwrap().clear();
        check(&log, &|_| {}).unwrap();
        let mut long_reads = source.long_reads.lock().unwrap().clone();
        long_reads.sort_by_key(|range| range.start);
        assert!(!long_reads.is_empty(), "{name} has a chunk");
        let are_disjoint = |pair: &[Range<u64>]| pair[0].end <= pair[1].start;
        assert!(long_reads.windows(2).all(are_disjoint), "{name}: {long_reads:?}");
    }
}

#[test]
fn selection_reads_only_chunks_that_may_match() {
    let Some(source) = sample("robot_localization-test1.bag") else { return };
    let log = RosbagLog::open(source.clone(), RosbagOptions::default()).unwrap();
    let (_, full_len) = read(&source, &log, &Selection::default());
    let first = log.manifest().parts[0].time;
    let end = Timestamp::from_nanos(first.start.as_nanos() + 1);
    let time = TimeRange { start: first.start, end };
    let first_chunk = Selection { time, ..Selection::default() };
    let (records, read_bytes) = read(&source, &log, &first_chunk);
    assert!(
        records > 0 && read_bytes < full_len / 4,
        "{read_bytes} of {full_len} bytes for {records} records"
    );
    let no_topics = Selection { topics: TopicSet::EMPTY, ..Selection::default() };
    assert_eq!(read(&source, &log, &no_topics), (0, 0));
}

/// Returns an uncompressed bag: in each chunk, a message of 900 kB and one of 300 kB on the topic
/// `/long`, and messages on the topic `/short` before, between and after them.
fn with_long_and_short_messages(chunks: u32) -> Vec<u8> {
    let options = WriterOptions::default()
        .with_compression(Compression::None)
        .with_chunk_bytes(1_150_000);
    let mut writer = Writer::new(io::Cursor::new(Vec::new()), options).unwrap();
    let [long, short] = ["/long", "/short"].map(|topic| {
        let header = ConnectionHeader::new(topic, "std_msgs/String", "string data\n");
        writer.connect(&header).unwrap()
    });
    let text = |len: u32| [&len.to_le_bytes()[..], &vec![b'a'; len as usize]].concat();
    let (mut nanos, texts) = (0, [5, 900_000, 40, 300_000, 6].map(text));
    for payload in (0..chunks).flat_map(|_| &texts) {
        nanos += 1_000;
        let connection = if payload.len() > 1_000 { long } else { short };
        writer.write(connection, Timestamp::from_nanos(nanos), payload).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns `bag` with the fields of message headers in the order of Python writers: `op` comes
/// first.
fn with_op_first(mut bag: Vec<u8>) -> Vec<u8> {
    let (connection, op) = (b"\x26\0\0\0\x09\0\0\0conn=", b"\x04\0\0\0op=\x02");
    let mut changed = 0;
    for at in 0..bag.len().saturating_sub(25) {
        let header = &mut bag[at..at + 25];
        if header.starts_with(connection) && header.ends_with(op) {
            header[4..].rotate_right(op.len());
            changed += 1;
        }
    }
    assert_eq!(changed, 40);
    bag
}

#[test]
fn unselected_uncompressed_messages_are_not_read() {
    let bag = with_long_and_short_messages(8);
    for (mode, bag) in [
        (OpenMode::Index, bag.clone()),
        (OpenMode::Full, bag.clone()),
        (OpenMode::Index, with_op_first(bag)),
    ] {
        let (read_bytes, long_reads) = (AtomicU64::new(0), Mutex::default());
        let bytes = Bytes::from(bag);
        let source = Arc::new(CountingSource { bytes, read: read_bytes, long_reads });
        let options = RosbagOptions::default().with_mode(mode);
        let log = RosbagLog::open(source.clone(), options).unwrap();
        let selection_of = |name: &str| {
            let topics = log.manifest().topics();
            let matches = topics.filter(|(_, topic)| topic.name == name);
            Selection {
                topics: matches.map(|(id, _)| id).collect(),
                ..Selection::default()
            }
        };
        // There are three in each of the eight chunks, which have 9.6 MB together.
        let (records, read_bytes) = read(&source, &log, &selection_of("/short"));
        assert_eq!(records, 24);
        assert!(read_bytes < 8 * 50_000, "{read_bytes} bytes were read");
        let (records, read_bytes) = read(&source, &log, &selection_of("/long"));
        assert_eq!(records, 16);
        assert!(read_bytes > 8 * 1_200_000, "{read_bytes} bytes were read");
        let (records, _) = read(&source, &log, &Selection::default());
        assert_eq!(records, 40);
    }
}
