//! What is found in ULogs that were made for it, by one thread and by several.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{Finding, Findings, Log as _, OpenOptions, check};
use logtool_ulog::UlogLog;

const SYNC: [u8; 8] = [0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12];

/// A ULog that is being made.
struct Made(Vec<u8>);

impl Made {
    fn new() -> Self {
        let magic = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
        Self([magic, [0; 8]].concat())
    }

    /// Adds a message; says where it begins.
    fn message(&mut self, kind: u8, payload: &[u8]) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend((payload.len() as u16).to_le_bytes());
        self.0.push(kind);
        self.0.extend(payload);
        at
    }

    fn subscribe(&mut self, id: u8, name: &str) -> u64 {
        self.message(b'A', &[&[0, id, 0], name.as_bytes()].concat())
    }

    /// Adds a record of a time and a byte, with the padding at its end or without it.
    fn record(&mut self, id: u8, millis: u64, is_padded: bool) -> u64 {
        let time = (millis * 1_000).to_le_bytes();
        let rest: &[u8] = if is_padded { &[7, 0, 0, 0, 0, 0, 0, 0] } else { &[7] };
        self.message(b'D', &[&[id, 0], &time[..], rest].concat())
    }

    /// Adds records of id 0 that nothing is wrong with.
    fn sound(&mut self, millis: std::ops::Range<u64>) {
        millis.for_each(|millis| {
            self.record(0, millis, false);
        });
    }

    fn open(self) -> UlogLog {
        let source = Arc::new(Bytes::from(self.0));
        UlogLog::open(source, OpenOptions::default()).unwrap()
    }
}

/// Code, topic, where the first is, and how many there are.
type Found = (&'static str, Option<u32>, Option<u64>, u64);

fn found(finding: &Finding) -> Found {
    let topic = finding.topic.map(|topic| topic.0);
    let at = finding.bytes.as_ref().map(|bytes| bytes.start);
    (finding.code.name, topic, at, finding.count)
}

/// All that `check` finds in pools of several sizes, which is the same.
fn checked(log: &UlogLog) -> Vec<Finding> {
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| check(log, &|_| {})).unwrap()
    };
    let alone: Vec<Finding> = in_pool(1).iter().cloned().collect();
    for threads in [2, 5] {
        let findings: Vec<Finding> = in_pool(threads).iter().cloned().collect();
        assert_eq!(findings, alone, "{threads} threads");
    }
    alone
}

#[test]
fn what_is_odd_is_found_in_the_order_of_the_file_across_parts() {
    let mut made = Made::new();
    made.message(b'F', b"t:uint64_t timestamp;uint8_t x;uint8_t[7] _padding0;");
    made.message(b'F', b"u:uint64_t timestamp;uint8_t y;uint8_t[7] _padding0;");
    made.subscribe(0, "t");
    made.message(b'S', &SYNC);
    made.sound(1..50);
    let late = made.message(b'F', b"v:uint64_t timestamp;");
    made.sound(50..100);
    let wrong = made.message(b'S', b"notasync");
    let padded = made.record(0, 100, true);
    made.sound(101..150);
    let dropout = made.message(b'O', &[200, 0]);
    let again = made.message(b'F', b"v:uint64_t timestamp;uint8_t more;");
    made.subscribe(1, "u");
    let other_padded = made.record(1, 150, true);
    made.sound(151..200);
    let unknown = made.message(b'Z', b"what");
    let reused = made.subscribe(1, "t");
    made.record(1, 200, true);
    made.record(0, 201, true);
    made.message(b'O', &[100, 0]);
    made.message(b'Z', b"ever");
    made.message(b'S', b"notasync");
    made.sound(202..250);
    let log = made.open();
    assert!(log.manifest().parts.len() > 20);

    let odd: Vec<Found> = [
        ("ulog.format.late", None, Some(late), 2),
        ("ulog.sync.wrong", None, Some(wrong), 2),
        ("ulog.padding", Some(0), Some(padded), 3),
        ("ulog.format.redefined", None, Some(again), 1),
        ("ulog.padding", Some(1), Some(other_padded), 1),
        ("ulog.id.reused", None, Some(reused), 1),
        ("ulog.message.unknown", None, Some(unknown), 2),
        ("ulog.flags.missing", None, None, 1),
        ("ulog.dropout", None, Some(dropout), 2),
    ]
    .to_vec();
    let all = checked(&log);
    let of_messages = |finding: &&Finding| finding.code.name.starts_with("ulog.");
    let told: Vec<Found> = all.iter().filter(of_messages).map(found).collect();
    assert_eq!(told, odd);
    let text = |name| &*all.iter().find(|one| one.code.name == name).unwrap().text;
    assert_eq!(text("ulog.dropout"), "300 ms in all, 200 ms at most");
    assert_eq!(text("ulog.id.reused"), "the id 1 stands for \"t\" from here on");

    // By itself, the format reads what nobody else has read.
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    assert_eq!(findings.iter().map(found).collect::<Vec<_>>(), odd);
}

#[test]
fn what_lies_in_garbage_is_not_looked_at() {
    let mut made = Made::new();
    made.message(b'F', b"t:uint64_t timestamp;uint8_t x;uint8_t[7] _padding0;");
    made.subscribe(0, "t");
    made.message(b'S', &SYNC);
    made.sound(1..60);
    let start = made.0.len() as u64;
    made.0.extend([0xff; 300]);
    made.record(0, 60, true);
    made.0.extend([0xff; 300]);
    let end = made.message(b'S', &SYNC);
    made.sound(61..120);
    let log = made.open();
    let all = checked(&log);
    let garbled = all.iter().filter(|one| one.code.name == "damage.garbled");
    let garbled: Vec<_> = garbled.map(|one| one.bytes.clone()).collect();
    assert_eq!(garbled, [Some(start..end)]);
    let names: Vec<_> = all.iter().map(|one| one.code.name).collect();
    assert_eq!(names, ["ulog.flags.missing", "damage.garbled"]);
}
