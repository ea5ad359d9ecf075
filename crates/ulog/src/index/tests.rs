//! The manifest does not depend on the number of threads.

use std::{
    io,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use logtool_core::{TimeRange, Timestamp, conformance};

use super::*;

/// The frequencies of unusual messages in a generated log, per 100,000 messages.
#[derive(Clone, Copy)]
struct Frequencies {
    dropouts: u64,
    strings: u64,
    parameters: u64,
    /// Topics that are subscribed late, and ids that are assigned to other topics.
    subscriptions: u64,
    /// Records whose time is a counter, of a topic that is subscribed late.
    counters: u64,
    /// Times of a topic that go back.
    back: u64,
    /// Times that are absurd.
    absurd: u64,
    /// Times that jump permanently.
    jumps: u64,
    /// Times that are far in the future, of topics with no other record.
    ahead: u64,
    /// Records of the wrong length.
    type_mismatches: u64,
    /// Bytes that are not a message.
    garbage: u64,
}

const NONE: Frequencies = Frequencies {
    dropouts: 0,
    strings: 0,
    parameters: 0,
    subscriptions: 0,
    counters: 0,
    back: 0,
    absurd: 0,
    jumps: 0,
    ahead: 0,
    type_mismatches: 0,
    garbage: 0,
};

/// A deterministic random number generator.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let size = (payload.len() as u16).to_le_bytes();
    [&size[..], &[kind], &payload].concat()
}

fn subscription(id: u16, instance: u8, name: &str) -> Vec<u8> {
    message(b'A', &[&[instance], &id.to_le_bytes(), name.as_bytes()])
}

/// The number of topics that are subscribed at the start. The records of each topic are
/// far apart, so that each topic is in time order and the file is not.
const TOPICS: u16 = 70;

/// Generates a log of `messages` messages.
fn log(seed: u64, messages: u64, frequencies: &Frequencies) -> Vec<u8> {
    let (mut random, mut now) = (RandomNumbers(seed), 1_000_000_u64);
    let mut log = [&wire::MAGIC[..], &[1], &now.to_le_bytes()].concat();
    log.extend(message(b'F', &[b"imu:uint64_t timestamp;float[4] x;"]));
    log.extend(message(b'F', &[b"count:uint16_t timestamp;"]));
    for id in 1_000..1_200 {
        let format = format!("imu_{id}:uint64_t timestamp;float[4] x;");
        log.extend(message(b'F', &[format.as_bytes()]));
    }
    let gps = b"sensor_gps:uint64_t timestamp;uint64_t time_utc_usec;";
    log.extend(message(b'F', &[gps]));
    log.extend(message(b'I', &[&[12], b"char[3] name", b"abc"]));
    log.extend(subscription(0, 0, "imu"));
    log.extend(subscription(1, 0, "sensor_gps"));
    (2..TOPICS).for_each(|id| log.extend(subscription(id, id as u8, "imu")));
    for id in 1_000..1_200 {
        log.extend(subscription(id, 0, &format!("imu_{id}")));
    }
    let (mut ids, mut singles) = (u64::from(TOPICS), 1_000..1_200);
    let (mut lasts, mut count) = ([0; 200], subscription(999, 0, "count"));
    for _ in 0..messages {
        now += random.below(2_000);
        let mut roll = random.below(100_000);
        let mut hits = |frequencies: u64| {
            let is_hit = roll < frequencies;
            roll = roll.wrapping_sub(frequencies);
            is_hit
        };
        let id = random.below(ids) as u16;
        let last = &mut lasts[usize::from(id)];
        let mut time = (now - random.below(4_000)).max(*last);
        *last = time;
        let next = if hits(frequencies.dropouts) {
            message(b'O', &[&7_u16.to_le_bytes()])
        } else if hits(frequencies.strings) {
            message(b'L', &[b"6", &now.to_le_bytes(), b"said"])
        } else if hits(frequencies.parameters) {
            message(b'P', &[&[7], b"float P", &1_f32.to_le_bytes()])
        } else if hits(frequencies.ahead) {
            let (id, time) = (singles.next().unwrap_or(0), now + 200_000_000);
            message(b'D', &[&u16::to_le_bytes(id), &time.to_le_bytes(), &[1; 16]])
        } else if hits(frequencies.subscriptions) {
            ids = (ids + random.below(2)).min(200);
            let id = random.below(ids) as u16;
            subscription(id, random.below(256) as u8, "imu")
        } else if hits(frequencies.counters) {
            let time = (now as u16).to_le_bytes();
            let record = message(b'D', &[&999_u16.to_le_bytes(), &time]);
            [std::mem::take(&mut count), record].concat()
        } else if hits(frequencies.type_mismatches) {
            message(b'D', &[&id.to_le_bytes(), &[7; 5]])
        } else if hits(frequencies.garbage) {
            (0..random.below(400)).map(|_| random.below(256) as u8).collect()
        } else {
            time = match () {
                () if hits(frequencies.back) => {
                    time.saturating_sub(random.below(2_000_000))
                }
                () if hits(frequencies.absurd) => {
                    [0, u64::MAX, 1 << 50][random.below(3) as usize]
                }
                () if hits(frequencies.jumps) => {
                    now += 400_000_000 + random.below(1 << 30);
                    now
                }
                () => time,
            };
            let utc = 1_700_000_000_000_000_u64.wrapping_add(time) ^ random.below(64);
            let rest = [utc.to_le_bytes(), [1; 8]].concat();
            let rest = &rest[..if id == 1 { 8 } else { 16 }];
            message(b'D', &[&id.to_le_bytes(), &time.to_le_bytes(), rest])
        };
        log.extend(next);
    }
    log
}

/// Returns the manifest that is built on a number of threads.
fn manifest_on(source: &Arc<dyn Source>, threads: usize, segment_len: u64) -> Manifest {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let build_manifest =
        || build_in_segments(source, OpenOptions::default(), segment_len);
    pool.install(build_manifest).unwrap().0
}

fn json(manifest: &Manifest) -> String {
    serde_json::to_string(manifest).unwrap()
}

#[test]
fn manifest_of_generated_log_is_same_on_any_number_of_threads() {
    let some = Frequencies { dropouts: 5_000, strings: 900, ..NONE };
    let kinds = [
        some,
        Frequencies { parameters: 20, ..some },
        Frequencies { subscriptions: 1_000, ..some },
        Frequencies { back: 20, ..some },
        Frequencies { absurd: 1_000, ..some },
        Frequencies { jumps: 300, ..some },
        Frequencies { ahead: 100, ..some },
        Frequencies { counters: 30, ..some },
        Frequencies { type_mismatches: 50, ..some },
        Frequencies { garbage: 20, ..some },
        Frequencies {
            subscriptions: 10,
            back: 10,
            absurd: 10,
            jumps: 10,
            garbage: 10,
            ..some
        },
    ];
    for (seed, frequencies) in (0..).zip(kinds.iter().cycle()).take(55) {
        let source: Arc<dyn Source> =
            Arc::new(Bytes::from(log(seed, 20_000, frequencies)));
        let expected = manifest_on(&source, 1, 1);
        assert!(expected.parts.len() > 200, "{}", expected.parts.len());
        for (threads, segment_len) in [(2, 1 << 13), (5, 1 << 11), (3, 1 << 17)] {
            let together = manifest_on(&source, threads, segment_len);
            assert!(
                json(&together) == json(&expected),
                "{seed}: {threads}, {segment_len}"
            );
        }
    }
}

#[test]
fn manifest_of_damaged_sample_is_same_on_any_number_of_threads() {
    let mut random = RandomNumbers(11);
    for (name, bytes) in conformance::samples("ulog", &["ulg"]) {
        for hits in [0, 1, 20] {
            let mut bytes = bytes.to_vec();
            for _ in 0..hits {
                // The header remains, so that the file is still recognized.
                let start = 100 + random.below(bytes.len() as u64 - 100) as usize;
                let end = bytes.len().min(start + random.below(3_000) as usize);
                match random.below(3) {
                    0 => drop(bytes.drain(start..end)),
                    1 => bytes[start..end].fill(random.below(256) as u8),
                    _ => drop(bytes.splice(start..start, (0..40).map(|i| i * 5))),
                }
            }
            let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
            let expected = json(&manifest_on(&source, 1, 1));
            for (threads, segment_len) in [(2, 1 << 14), (3, 1 << 17)] {
                let together = json(&manifest_on(&source, threads, segment_len));
                assert!(together == expected, "{name}, {hits} hits: {threads} threads");
            }
        }
    }
}

/// Counts the bytes that are read, and the reads that start at a multiple of `segment_len`.
struct CountingSource {
    bytes: Bytes,
    segment_len: u64,
    read: AtomicU64,
    segments: AtomicU64,
}

impl Source for CountingSource {
    fn len(&self) -> u64 {
        Source::len(&self.bytes)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let is_stretch =
            range.start > 0 && range.start.is_multiple_of(self.segment_len);
        self.segments.fetch_add(is_stretch.into(), Relaxed);
        let bytes = self.bytes.read_at(range)?;
        self.read.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes)
    }
}

#[test]
fn speculative_segments_are_read_once() {
    let frequencies = Frequencies { dropouts: 40, strings: 900, absurd: 100, ..NONE };
    let bytes = Bytes::from(log(1, 400_000, &frequencies));
    let len = Source::len(&bytes);
    let segment_len = (len / 256) * 20;
    let (read, segments) = (AtomicU64::new(0), AtomicU64::new(0));
    let source = Arc::new(CountingSource { bytes, segment_len, read, segments });
    manifest_on(&(source.clone() as Arc<dyn Source>), 2, segment_len);
    // The first segment is scanned sequentially.
    assert_eq!(source.segments.load(Relaxed), len / segment_len - 1);
    // A reader continues to the end of the message after its limit: here, half a
    // segment.
    let read = source.read.load(Relaxed);
    assert!(read < 2 * len, "{read} of {len}");
}

#[test]
fn utc_observations_are_sampled_as_in_sequential_scan() {
    let mut bytes = log(7, 0, &NONE);
    for time in 1..250_000_u64 {
        let utc = 1_700_000_000_000_000 + time % 7;
        let times = [&time.to_le_bytes()[..], &utc.to_le_bytes()];
        bytes.extend(message(b'D', &[&[1, 0], &times.concat()]));
    }
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
    let expected = manifest_on(&source, 1, 1);
    for segment_len in [1 << 16, 1 << 20] {
        assert_eq!(json(&manifest_on(&source, 2, segment_len)), json(&expected));
    }
}

#[test]
fn manifest_agrees_with_sequential_reading() {
    let bytes = log(3, 40_000, &NONE);
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes.clone()));
    let manifest = manifest_on(&source, 4, 1 << 13);
    // Each message contains its length.
    let (mut offset, mut records, mut range) =
        (16, [0_u64; TOPICS as usize], TimeRange::EMPTY);
    while offset < bytes.len() {
        let size = usize::from(u16::from_le_bytes([bytes[offset], bytes[offset + 1]]));
        if bytes[offset + 2] == b'D' {
            records[usize::from(bytes[offset + 3])] += 1;
            let time = u64::from_le_bytes(*bytes[offset + 5..].first_chunk().unwrap());
            let time = Timestamp::from_micros(time);
            range = range.cover(&TimeRange::from_timestamp(time));
            let part =
                manifest.parts.iter().find(|p| p.bytes.contains(&(offset as u64)));
            assert!(part.unwrap().time.contains(time), "{offset}");
        }
        offset += 3 + size;
    }
    let topics = manifest.topics.iter().take(records.len());
    assert!(topics.map(|topic| topic.records).eq(records.map(Some)));
    // The start of logging in the header is 395 µs before the first record.
    let start = Timestamp::from_micros(1_000_000);
    assert_eq!(manifest.time, Some(TimeRange { start, ..range }));
}

#[test]
fn late_types_have_deterministic_order() {
    let mut bytes = [&wire::MAGIC[..], &[1], &[0; 8]].concat();
    bytes.extend(message(b'F', &[b"all:uint64_t timestamp;t0 a;t7 b;"]));
    bytes.extend(subscription(0, 0, "all"));
    for id in 0..8 {
        bytes.extend(message(b'F', &[format!("t{id}:uint8_t x;").as_bytes()]));
    }
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
    let (_, notes) = build_manifest(&source, OpenOptions::default()).unwrap();
    let names = notes.declarations.iter().filter_map(|declaration| match declaration {
        Declaration::Format(name, _) => Some(name.as_str()),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["all", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"]);
}
