//! Timestamps of 8, 16 and 32 bits across pauses. Each record of these logs also
//! contains its time in 64 bits, so the expected times are in the file.

// Clippy does not recognize helper functions as tests.
#![allow(clippy::unwrap_used)]

use std::{sync::Arc, thread};

use bytes::Bytes;
use logtool_core::{Block, Log, OpenOptions, Part, Selection, conformance};
use logtool_ulog::{FORMAT, UlogLog};

const SECOND: u64 = 1_000_000;
const START: u64 = 5_000 * SECOND;
/// The interval of the records of each topic.
const INTERVAL: u64 = 20_000;
/// 10 s, 6 min, 70 min, and 5 min more than the 4,295 s of a counter of 32 bits.
const PAUSES: [u64; 4] = [10 * SECOND, 360 * SECOND, 4_200 * SECOND, 4_600 * SECOND];

/// One topic for each width; the numbers are the bytes of its timestamp.
const TOPICS: [(u8, &str); 4] =
    [(1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t")];

/// The dropouts in a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dropouts {
    None,
    /// Dropouts with the same duration as the pause.
    Complete,
    /// Dropouts with half the duration.
    Partial,
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let size = (payload.len() as u16).to_le_bytes();
    [&size[..], &[kind], &payload].concat()
}

fn file_start(start: u64) -> Vec<u8> {
    let mut log = [&b"ULog\x01\x12\x35\x01"[..], &start.to_le_bytes()].concat();
    for (bytes, timestamp) in TOPICS {
        let format = format!("t{bytes}:{timestamp} timestamp;uint64_t expected_time;");
        log.extend(message(b'F', &[format.as_bytes()]));
    }
    for (bytes, _) in TOPICS {
        let name = format!("t{bytes}");
        log.extend(message(b'A', &[&[0, bytes, 0], name.as_bytes()]));
    }
    log
}

fn record(bytes: u8, time: u64) -> Vec<u8> {
    let unit = if bytes == 1 { 1_000 } else { 1 };
    let counter = (time / unit).to_le_bytes();
    let counter = &counter[..usize::from(bytes)];
    message(b'D', &[&[bytes, 0], counter, &time.to_le_bytes()])
}

/// Returns cycles of records of the topics in `order`, from `start` on.
fn record_cycles(order: &[u8], start: u64, count: u64) -> Vec<u8> {
    let times = (0..count).map(|i| start + i * INTERVAL);
    let cycle = |time| order.iter().flat_map(move |bytes| record(*bytes, time));
    times.flat_map(cycle).collect()
}

fn dropouts(pause: u64, dropouts_kind: Dropouts) -> Vec<u8> {
    let mut millis = match dropouts_kind {
        Dropouts::None => 0,
        Dropouts::Complete => pause / 1_000,
        Dropouts::Partial => pause / 2_000,
    };
    let mut marks = Vec::new();
    while millis > 0 {
        let chunk_millis = millis.min(60_000);
        marks.extend(message(b'O', &[&(chunk_millis as u16).to_le_bytes()]));
        millis -= chunk_millis;
    }
    marks
}

/// Returns the errors of the record times in `part`, in microseconds.
fn errors(log: &UlogLog, part: &Part) -> Vec<(String, i64)> {
    let mut cursor = log.read(part, &Selection::default()).unwrap();
    let (mut block, mut errors) = (Block::default(), Vec::new());
    while cursor.fill(&mut block).unwrap() {
        for record in block.iter() {
            let topic = &log.manifest().topics[record.topic.index()];
            if topic.encoding != "ulog" {
                continue;
            }
            let expected_time = record.payload.last_chunk::<8>().unwrap();
            let expected_time = u64::from_le_bytes(*expected_time) as i64;
            errors.push((
                topic.name.clone(),
                record.time.as_nanos() / 1_000 - expected_time,
            ));
        }
    }
    errors
}

/// Reads a log in parts, on several threads. Returns the index, the topic and the error (in
/// microseconds) of each record with a wrong time.
fn wrong_times(bytes: Vec<u8>) -> Vec<(usize, String, i64)> {
    let log = UlogLog::open(Arc::new(Bytes::from(bytes)), OpenOptions::default());
    let log = log.unwrap();
    let parts = &log.manifest().parts;
    let mut errors_by_part: Vec<Vec<(String, i64)>> = Vec::new();
    thread::scope(|scope| {
        let threads = parts.chunks(parts.len().div_ceil(3).max(1)).rev();
        let read = |parts: &'_ [Part]| {
            parts.iter().rev().map(|part| errors(&log, part)).collect::<Vec<_>>()
        };
        let threads: Vec<_> =
            threads.map(|parts| scope.spawn(move || read(parts))).collect();
        for thread in threads {
            errors_by_part.extend(thread.join().unwrap());
        }
    });
    let errors_by_part = errors_by_part.into_iter().rev().flatten().enumerate();
    let wrong_times = errors_by_part.filter(|(_, (_, error))| *error != 0);
    wrong_times.map(|(index, (name, error))| (index, name, error)).collect()
}

#[test]
fn counters_are_correct_after_pause_in_any_topic_order() {
    let orders: [&[u8]; 9] = [
        &[1, 8],
        &[2, 8],
        &[4, 8],
        &[8, 1],
        &[8, 2],
        &[8, 4],
        &[1, 2, 4, 8],
        &[4, 8, 2, 1],
        &[2, 8, 1],
    ];
    for pause in PAUSES {
        for dropouts_kind in [Dropouts::None, Dropouts::Complete, Dropouts::Partial] {
            for order in orders {
                let next = START + 60 * INTERVAL + pause;
                let log = [
                    file_start(START),
                    record_cycles(order, START, 60),
                    dropouts(pause, dropouts_kind),
                    record_cycles(order, next, 60),
                    dropouts(pause, dropouts_kind),
                    record_cycles(order, next + 60 * INTERVAL + pause, 60),
                ];
                let wrong_times = wrong_times(log.concat());
                assert_eq!(wrong_times, [], "{pause} {dropouts_kind:?} {order:?}");
            }
        }
    }
}

/// The header has the correct start of logging, no start, or one long before the first
/// record.
#[test]
fn counters_are_correct_at_start() {
    for order in [&[1, 8][..], &[2, 8], &[4, 8], &[1, 2, 4, 8], &[8, 2, 1]] {
        for start in [0, START, START - 10 * SECOND, START - 4_000 * SECOND] {
            let log = [file_start(start), record_cycles(order, START, 60)].concat();
            assert_eq!(wrong_times(log), [], "{order:?} {start}");
        }
    }
    // Many records of the narrow topics precede the first 64-bit record.
    for order in [&[1][..], &[2], &[4], &[2, 1]] {
        let cycle = [order, &[8]].concat();
        let next = START + 70 * INTERVAL;
        let log = [
            file_start(0),
            record_cycles(order, START, 70),
            record_cycles(&cycle, next, 60),
        ];
        assert_eq!(wrong_times(log.concat()), [], "{order:?}");
    }
}

/// If no 64-bit record follows, only dropouts show the duration of a pause at the end.
#[test]
fn counters_are_correct_at_end() {
    for narrow in [1, 2, 4] {
        let order = [narrow, 8];
        for pause in [10 * SECOND, 200 * SECOND] {
            let next = START + 60 * INTERVAL + pause;
            let begin = [file_start(START), record_cycles(&order, START, 60)].concat();
            let marked = [
                dropouts(pause, Dropouts::Complete),
                record_cycles(&[narrow], next, 1),
            ];
            let records = [begin.clone(), marked.concat()].concat();
            assert_eq!(wrong_times(records), [], "{narrow} {pause} marked");
            for cycles_after in [1, 2, 7] {
                let end = record_cycles(&order, next, cycles_after);
                let records = [begin.clone(), end].concat();
                assert_eq!(wrong_times(records), [], "{narrow} {pause} {cycles_after}");
            }
        }
    }
}

/// Records are up to 3 ms late, and pauses have any duration. If a 16-bit counter
/// happens to show the usual step across a pause, the record next to the pause is
/// ambiguous. This affects one record in a few of the 800 pauses.
#[test]
fn counters_are_correct_for_late_records() {
    let mut random_state = 7_u64;
    let mut random_below = |end: u64| {
        random_state =
            random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random_state >> 33) % end
    };
    let mut all_wrong = Vec::new();
    for round in 0..200 {
        let order: &[u8] = [&[1, 8][..], &[2, 8], &[4, 8], &[8, 2], &[8, 1]][round % 5];
        let (mut log, mut time) = (file_start(START), START);
        for _ in 0..5 {
            for _ in 0..40 {
                time += INTERVAL;
                for bytes in order {
                    log.extend(record(*bytes, time + random_below(4) * 1_000));
                }
            }
            time += random_below([4 * SECOND, 250 * SECOND, 6_000 * SECOND][round % 3])
                / 1_000
                * 1_000;
        }
        all_wrong.extend(wrong_times(log));
    }
    assert!(all_wrong.len() <= 4, "{all_wrong:?}");
}

/// A narrow topic that continues or stops while the others are rare is not in a pause.
#[test]
fn rare_wide_records_are_not_a_pause() {
    for narrow in [1, 2, 4] {
        let mut log = file_start(START);
        for second in 0..20 {
            let time = START + second * SECOND;
            log.extend(record(8, time));
            log.extend(record_cycles(
                &[narrow],
                time + INTERVAL,
                if second % 3 == 0 { 20 } else { 49 },
            ));
        }
        assert_eq!(wrong_times(log), [], "{narrow}");
    }
}

#[test]
fn logs_with_pauses_satisfy_laws() {
    let next = START + 60 * INTERVAL + PAUSES[1];
    let order = [1, 2, 4, 8];
    let log = [
        file_start(0),
        record_cycles(&order, START, 60),
        record_cycles(&order, next, 60),
    ];
    conformance::check_damaged(&FORMAT, log.concat().into());
}
