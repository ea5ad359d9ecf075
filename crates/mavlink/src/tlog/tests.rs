//! Telemetry logs of hand-made records.

use super::*;

/// As in the tests of `frame`.
const HEARTBEAT: [u8; 17] =
    [0xfe, 9, 0, 1, 1, 0, 0, 0, 0, 0, 2, 12, 81, 4, 3, 0x81, 0xb7];

fn record(time: u64) -> Vec<u8> {
    [time.to_be_bytes().as_slice(), &HEARTBEAT].concat()
}

/// Returns the times of the frames, and the starts and ends of the damaged ranges.
fn parts_of(log: &[u8]) -> (Vec<u64>, Vec<(u64, u64)>) {
    let mut reader = TlogReader::new(log);
    let (mut times, mut damage) = (Vec::new(), Vec::new());
    while let Some(part) = reader.read_part().unwrap() {
        match part {
            TlogPart::Frame(time, frame) => {
                assert_eq!((frame.system, frame.component), (1, 1));
                times.push(time);
            }
            TlogPart::Unknown => times.push(0),
            TlogPart::Damage(bytes) => damage.push((bytes.start, bytes.end)),
        }
    }
    (times, damage)
}

#[test]
fn times_are_big_endian_microseconds() {
    let mut log = vec![0, 0, 0, 0, 0, 0, 1, 2];
    log.extend(HEARTBEAT);
    assert_eq!(parts_of(&log), (vec![258], vec![]));
    assert_eq!(parts_of(&[]), (vec![], vec![]));
}

#[test]
fn damaged_bytes_are_reported_with_their_offsets() {
    let mut log = record(1);
    log.extend([9; 11]);
    log.extend(record(2));
    let mut changed = record(3);
    changed[20] ^= 1;
    log.extend(changed);
    log.extend(record(4));
    log.extend(&record(5)[..24]);
    assert_eq!(parts_of(&log), (vec![1, 2, 4], vec![(25, 36), (61, 86), (111, 135)]));
}

#[test]
fn rest_without_a_record_is_damage() {
    assert_eq!(parts_of(&[1, 2, 3]), (vec![], vec![(0, 3)]));
    let log = [record(1), vec![0; 7]].concat();
    assert_eq!(parts_of(&log), (vec![1], vec![(25, 32)]));
}

#[test]
fn unknown_message_is_skipped_if_a_record_follows() {
    // A message with the id 0x7f0000, which cannot be checked.
    let unknown = [0xfd, 2, 0, 0, 0, 1, 1, 0, 0, 0x7f, 5, 6, 0, 0];
    let log = [&[0; 8], unknown.as_slice(), &record(3)].concat();
    assert_eq!(parts_of(&log), (vec![0, 3], vec![]));
    let log = [&[0; 8], unknown.as_slice(), &[1, 2], &record(3)].concat();
    assert_eq!(parts_of(&log), (vec![3], vec![(0, 24)]));
}

#[test]
fn blocks_of_the_reader_do_not_matter() {
    let log: Vec<u8> = (0..10_000).flat_map(record).collect();
    let (times, damage) = parts_of(&log);
    assert!(times.iter().copied().eq(0..10_000) && damage.is_empty());
}
