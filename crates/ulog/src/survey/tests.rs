//! The same comes of a survey on any number of processors.

use std::{
    io,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use logtool_core::{TimeRange, Timestamp, conformance};

use super::*;

/// A log that is made up: what `odds` there are, of 100,000 messages.
#[derive(Clone, Copy)]
struct Odds {
    dropouts: u64,
    strings: u64,
    parameters: u64,
    /// Topics that are subscribed to late, and ids that are given to other topics.
    subscriptions: u64,
    /// Records of which the time is a counter, of a topic that is subscribed to late.
    counters: u64,
    /// Times of a topic that run back, that are absurd, and that jump for good.
    back: u64,
    absurd: u64,
    jumps: u64,
    /// Times that lie far ahead, of topics with no other record.
    ahead: u64,
    /// Records of the wrong length, and bytes that are no message.
    misfits: u64,
    garbage: u64,
}

const NONE: Odds = Odds {
    dropouts: 0,
    strings: 0,
    parameters: 0,
    subscriptions: 0,
    counters: 0,
    back: 0,
    absurd: 0,
    jumps: 0,
    ahead: 0,
    misfits: 0,
    garbage: 0,
};

/// Numbers that look random, and are always the same.
struct Dice(u64);

impl Dice {
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

/// So many topics are subscribed to at the start: the records of each are far apart, so
/// that the file is not in the order of time, and each topic is.
const TOPICS: u16 = 70;

/// A log of so many messages.
fn log(seed: u64, messages: u64, odds: &Odds) -> Vec<u8> {
    let (mut dice, mut now) = (Dice(seed), 1_000_000_u64);
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
        now += dice.below(2_000);
        let mut odd = dice.below(100_000);
        let mut falls = |odds: u64| {
            let is = odd < odds;
            odd = odd.wrapping_sub(odds);
            is
        };
        let id = dice.below(ids) as u16;
        let last = &mut lasts[usize::from(id)];
        let mut time = (now - dice.below(4_000)).max(*last);
        *last = time;
        let next = if falls(odds.dropouts) {
            message(b'O', &[&7_u16.to_le_bytes()])
        } else if falls(odds.strings) {
            message(b'L', &[b"6", &now.to_le_bytes(), b"said"])
        } else if falls(odds.parameters) {
            message(b'P', &[&[7], b"float P", &1_f32.to_le_bytes()])
        } else if falls(odds.ahead) {
            let (id, time) = (singles.next().unwrap_or(0), now + 200_000_000);
            message(b'D', &[&u16::to_le_bytes(id), &time.to_le_bytes(), &[1; 16]])
        } else if falls(odds.subscriptions) {
            ids = (ids + dice.below(2)).min(200);
            let id = dice.below(ids) as u16;
            subscription(id, dice.below(256) as u8, "imu")
        } else if falls(odds.counters) {
            let time = (now as u16).to_le_bytes();
            let record = message(b'D', &[&999_u16.to_le_bytes(), &time]);
            [std::mem::take(&mut count), record].concat()
        } else if falls(odds.misfits) {
            message(b'D', &[&id.to_le_bytes(), &[7; 5]])
        } else if falls(odds.garbage) {
            (0..dice.below(400)).map(|_| dice.below(256) as u8).collect()
        } else {
            time = match () {
                () if falls(odds.back) => time.saturating_sub(dice.below(2_000_000)),
                () if falls(odds.absurd) => {
                    [0, u64::MAX, 1 << 50][dice.below(3) as usize]
                }
                () if falls(odds.jumps) => {
                    now += 400_000_000 + dice.below(1 << 30);
                    now
                }
                () => time,
            };
            let utc = 1_700_000_000_000_000_u64.wrapping_add(time) ^ dice.below(64);
            let rest = [utc.to_le_bytes(), [1; 8]].concat();
            let rest = &rest[..if id == 1 { 8 } else { 16 }];
            message(b'D', &[&id.to_le_bytes(), &time.to_le_bytes(), rest])
        };
        log.extend(next);
    }
    log
}

/// What the survey of `log` comes to on so many threads.
fn surveyed(source: &Arc<dyn Source>, threads: usize, stretch: u64) -> Manifest {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let survey = || survey_in(source, OpenOptions::default(), stretch);
    pool.install(survey).unwrap().0
}

fn json(manifest: &Manifest) -> String {
    serde_json::to_string(manifest).unwrap()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let some = Odds { dropouts: 5_000, strings: 900, ..NONE };
    let kinds = [
        some,
        Odds { parameters: 20, ..some },
        Odds { subscriptions: 1_000, ..some },
        Odds { back: 20, ..some },
        Odds { absurd: 1_000, ..some },
        Odds { jumps: 300, ..some },
        Odds { ahead: 100, ..some },
        Odds { counters: 30, ..some },
        Odds { misfits: 50, ..some },
        Odds { garbage: 20, ..some },
        Odds {
            subscriptions: 10,
            back: 10,
            absurd: 10,
            jumps: 10,
            garbage: 10,
            ..some
        },
    ];
    for (seed, odds) in (0..).zip(kinds.iter().cycle()).take(55) {
        let source: Arc<dyn Source> = Arc::new(Bytes::from(log(seed, 20_000, odds)));
        let alone = surveyed(&source, 1, 1);
        assert!(alone.parts.len() > 200, "{}", alone.parts.len());
        for (threads, stretch) in [(2, 1 << 13), (5, 1 << 11), (3, 1 << 17)] {
            let together = surveyed(&source, threads, stretch);
            assert!(json(&together) == json(&alone), "{seed}: {threads}, {stretch}");
        }
    }
}

#[test]
fn nor_does_it_with_logs_of_others_sound_or_damaged() {
    let mut dice = Dice(11);
    for (name, bytes) in conformance::samples("ulog", &["ulg"]) {
        for hits in [0, 1, 20] {
            let mut bytes = bytes.to_vec();
            for _ in 0..hits {
                // The head stays, which says that it is a ULog.
                let at = 100 + dice.below(bytes.len() as u64 - 100) as usize;
                let end = bytes.len().min(at + dice.below(3_000) as usize);
                match dice.below(3) {
                    0 => drop(bytes.drain(at..end)),
                    1 => bytes[at..end].fill(dice.below(256) as u8),
                    _ => drop(bytes.splice(at..at, (0..40).map(|i| i * 5))),
                }
            }
            let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
            let alone = json(&surveyed(&source, 1, 1));
            for (threads, stretch) in [(2, 1 << 14), (3, 1 << 17)] {
                let together = json(&surveyed(&source, threads, stretch));
                assert!(together == alone, "{name}, {hits} hits: {threads} threads");
            }
        }
    }
}

/// Counts the bytes that are read, and how often they are from a whole multiple of
/// `stretch` on.
struct Counted {
    bytes: Bytes,
    stretch: u64,
    read: AtomicU64,
    stretches: AtomicU64,
}

impl Source for Counted {
    fn len(&self) -> u64 {
        Source::len(&self.bytes)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let is_stretch = range.start > 0 && range.start.is_multiple_of(self.stretch);
        self.stretches.fetch_add(is_stretch.into(), Relaxed);
        let bytes = self.bytes.read_at(range)?;
        self.read.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes)
    }
}

#[test]
fn what_others_have_counted_is_not_counted_again() {
    let odds = Odds { dropouts: 40, strings: 900, absurd: 100, ..NONE };
    let bytes = Bytes::from(log(1, 400_000, &odds));
    let len = Source::len(&bytes);
    let stretch = (len / 256) * 20;
    let (read, stretches) = (AtomicU64::new(0), AtomicU64::new(0));
    let source = Arc::new(Counted { bytes, stretch, read, stretches });
    surveyed(&(source.clone() as Arc<dyn Source>), 2, stretch);
    // The first one is walked over in order.
    assert_eq!(source.stretches.load(Relaxed), len / stretch - 1);
    // A window reads on to where the next message may end: half of a stretch here.
    let read = source.read.load(Relaxed);
    assert!(read < 2 * len, "{read} of {len}");
}

#[test]
fn reports_of_utc_are_thinned_as_by_one_who_saw_all() {
    let mut bytes = log(7, 0, &NONE);
    for time in 1..250_000_u64 {
        let utc = 1_700_000_000_000_000 + time % 7;
        let times = [&time.to_le_bytes()[..], &utc.to_le_bytes()];
        bytes.extend(message(b'D', &[&[1, 0], &times.concat()]));
    }
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
    let alone = surveyed(&source, 1, 1);
    for stretch in [1 << 16, 1 << 20] {
        assert_eq!(json(&surveyed(&source, 2, stretch)), json(&alone));
    }
}

#[test]
fn a_record_in_the_midst_of_others_has_its_part_and_time() {
    let bytes = log(3, 40_000, &NONE);
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes.clone()));
    let manifest = surveyed(&source, 4, 1 << 13);
    // Each message says how long it is.
    let (mut at, mut records, mut range) =
        (16, [0_u64; TOPICS as usize], TimeRange::EMPTY);
    while at < bytes.len() {
        let size = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        if bytes[at + 2] == b'D' {
            records[usize::from(bytes[at + 3])] += 1;
            let time = u64::from_le_bytes(*bytes[at + 5..].first_chunk().unwrap());
            let time = Timestamp::from_micros(time);
            range = range.cover(&TimeRange::from_timestamp(time));
            let part = manifest.parts.iter().find(|p| p.bytes.contains(&(at as u64)));
            assert!(part.unwrap().time.contains(time), "{at}");
        }
        at += 3 + size;
    }
    let told = manifest.topics.iter().take(records.len());
    assert!(told.map(|topic| topic.records).eq(records.map(Some)));
    // The start of logging in the header is 395 µs before the first record.
    let start = Timestamp::from_micros(1_000_000);
    assert_eq!(manifest.time, Some(TimeRange { start, ..range }));
}

#[test]
fn types_that_come_late_are_told_in_the_same_order_each_time() {
    let mut bytes = [&wire::MAGIC[..], &[1], &[0; 8]].concat();
    bytes.extend(message(b'F', &[b"all:uint64_t timestamp;t0 a;t7 b;"]));
    bytes.extend(subscription(0, 0, "all"));
    for id in 0..8 {
        bytes.extend(message(b'F', &[format!("t{id}:uint8_t x;").as_bytes()]));
    }
    let source: Arc<dyn Source> = Arc::new(Bytes::from(bytes));
    let (_, notes) = survey(&source, OpenOptions::default()).unwrap();
    let names = notes.declarations.iter().filter_map(|declaration| match declaration {
        Declaration::Format(name, _) => Some(name.as_str()),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["all", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"]);
}
