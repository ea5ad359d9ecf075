//! Findings in generated ULogs, with one thread and with several.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{Finding, Findings, Log as _, OpenOptions, check};
use logtool_ulog::UlogLog;

const SYNC: [u8; 8] = [0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12];

/// A ULog that is built by a test.
struct LogBuilder(Vec<u8>);

impl LogBuilder {
    fn new() -> Self {
        let magic = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
        Self([magic, [0; 8]].concat())
    }

    /// Adds a message, and returns its offset.
    fn message(&mut self, kind: u8, payload: &[u8]) -> u64 {
        let offset = self.0.len() as u64;
        self.0.extend((payload.len() as u16).to_le_bytes());
        self.0.push(kind);
        self.0.extend(payload);
        offset
    }

    fn subscribe(&mut self, id: u8, name: &str) -> u64 {
        self.message(b'A', &[&[0, id, 0], name.as_bytes()].concat())
    }

    /// Adds a record with a time and a byte, with or without trailing padding.
    fn record(&mut self, id: u8, millis: u64, is_padded: bool) -> u64 {
        let time = (millis * 1_000).to_le_bytes();
        let value: &[u8] = if is_padded { &[7, 0, 0, 0, 0, 0, 0, 0] } else { &[7] };
        self.message(b'D', &[&[id, 0], &time[..], value].concat())
    }

    /// Adds valid records of id 0.
    fn valid_records(&mut self, millis: std::ops::Range<u64>) {
        millis.for_each(|millis| {
            self.record(0, millis, false);
        });
    }

    fn open(self) -> UlogLog {
        let source = Arc::new(Bytes::from(self.0));
        UlogLog::open(source, OpenOptions::default()).unwrap()
    }
}

/// The code of a finding, the topic, the offset of the first occurrence, and the number of
/// occurrences.
type FindingSummary = (&'static str, Option<u32>, Option<u64>, u64);

fn summary_of(finding: &Finding) -> FindingSummary {
    let topic = finding.topic.map(|topic| topic.0);
    let start = finding.bytes.as_ref().map(|bytes| bytes.start);
    (finding.code.name, topic, start, finding.count)
}

/// Returns all findings of `check`, which must be the same in thread pools of several
/// sizes.
fn check_in_pools(log: &UlogLog) -> Vec<Finding> {
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| check(log, &|_| {})).unwrap()
    };
    let expected: Vec<Finding> = in_pool(1).iter().cloned().collect();
    for threads in [2, 5] {
        let findings: Vec<Finding> = in_pool(threads).iter().cloned().collect();
        assert_eq!(findings, expected, "{threads} threads");
    }
    expected
}

#[test]
fn findings_are_in_file_order_across_parts() {
    let mut file = LogBuilder::new();
    file.message(b'F', b"t:uint64_t timestamp;uint8_t x;uint8_t[7] _padding0;");
    file.message(b'F', b"u:uint64_t timestamp;uint8_t y;uint8_t[7] _padding0;");
    file.subscribe(0, "t");
    file.message(b'S', &SYNC);
    file.valid_records(1..50);
    let late = file.message(b'F', b"v:uint64_t timestamp;");
    file.valid_records(50..100);
    let wrong = file.message(b'S', b"notasync");
    let padded = file.record(0, 100, true);
    file.valid_records(101..150);
    let dropout = file.message(b'O', &[200, 0]);
    let redefined_at = file.message(b'F', b"v:uint64_t timestamp;uint8_t more;");
    file.subscribe(1, "u");
    let padded_in_other_topic = file.record(1, 150, true);
    file.valid_records(151..200);
    let unknown = file.message(b'Z', b"what");
    let reused = file.subscribe(1, "t");
    file.record(1, 200, true);
    file.record(0, 201, true);
    file.message(b'O', &[100, 0]);
    file.message(b'Z', b"ever");
    file.message(b'S', b"notasync");
    file.valid_records(202..250);
    let log = file.open();
    assert!(log.manifest().parts.len() > 20);

    let expected: Vec<FindingSummary> = [
        ("ulog.format.late", None, Some(late), 2),
        ("ulog.sync.wrong", None, Some(wrong), 2),
        ("ulog.padding", Some(0), Some(padded), 3),
        ("ulog.format.redefined", None, Some(redefined_at), 1),
        ("ulog.padding", Some(1), Some(padded_in_other_topic), 1),
        ("ulog.id.reused", None, Some(reused), 1),
        ("ulog.message.unknown", None, Some(unknown), 2),
        ("ulog.flags.missing", None, None, 1),
        ("ulog.dropout", None, Some(dropout), 2),
    ]
    .to_vec();
    let findings_of_log = check_in_pools(&log);
    let is_ulog_finding = |finding: &&Finding| finding.code.name.starts_with("ulog.");
    let reported: Vec<FindingSummary> =
        findings_of_log.iter().filter(is_ulog_finding).map(summary_of).collect();
    assert_eq!(reported, expected);
    let text = |name| {
        &*findings_of_log.iter().find(|finding| finding.code.name == name).unwrap().text
    };
    assert_eq!(text("ulog.dropout"), "300 ms in total, the longest 200 ms");
    assert_eq!(text("ulog.id.reused"), "the message id 1 is reassigned to \"t\"");

    // Without a reader, the format reads all segments itself.
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    assert_eq!(findings.iter().map(summary_of).collect::<Vec<_>>(), expected);
}

#[test]
fn messages_in_garbage_are_not_checked() {
    let mut file = LogBuilder::new();
    file.message(b'F', b"t:uint64_t timestamp;uint8_t x;uint8_t[7] _padding0;");
    file.subscribe(0, "t");
    file.message(b'S', &SYNC);
    file.valid_records(1..60);
    let garbage_start = file.0.len() as u64;
    file.0.extend([0xff; 300]);
    file.record(0, 60, true);
    file.0.extend([0xff; 300]);
    let garbage_end = file.message(b'S', &SYNC);
    file.valid_records(61..120);
    let log = file.open();
    let findings = check_in_pools(&log);
    let garbled =
        findings.iter().filter(|finding| finding.code.name == "damage.garbled");
    let garbled: Vec<_> = garbled.map(|finding| finding.bytes.clone()).collect();
    assert_eq!(garbled, [Some(garbage_start..garbage_end)]);
    let names: Vec<_> = findings.iter().map(|finding| finding.code.name).collect();
    assert_eq!(names, ["ulog.flags.missing", "damage.garbled"]);
}
