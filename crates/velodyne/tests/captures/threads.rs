//! The manifest of a capture does not depend on the number of threads.

use std::{fs, path::Path};

use bytes::Bytes;
use logtool_core::Log as _;

use crate::{duplicates::fragment, frames, open_and_read};

/// The number of repetitions of the short capture in the long one.
const REPETITIONS: u32 = 80;

fn short_capture() -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    fs::read(path).unwrap().into()
}

/// Returns a capture of about 4 MB: the frames of the short capture repeated, each time one
/// second later.
fn long_capture() -> Vec<u8> {
    let bytes = short_capture();
    let mut out = bytes[..24].to_vec();
    for second in 0..REPETITIONS {
        for frame in frames(&bytes) {
            let frame = &bytes[frame];
            let seconds = u32::from_le_bytes(frame[..4].try_into().unwrap()) + second;
            out.extend(seconds.to_le_bytes());
            out.extend(&frame[4..]);
        }
    }
    out
}

/// Returns the frames of `pcap` as a pcapng.
fn pcapng(pcap: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let body =
            [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let len = (body.len() as u32 + 12).to_le_bytes();
        out.extend([&kind.to_le_bytes()[..], &len, &body, &len].concat());
    };
    let section =
        [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    block(0x0a0d_0d0a, &section);
    block(1, &[1, 0, 0, 0, 0, 0, 4, 0]);
    for frame in frames(pcap) {
        let frame = &pcap[frame];
        let word = |offset: usize| {
            u32::from_le_bytes(frame[offset..offset + 4].try_into().unwrap())
        };
        let micros = u64::from(word(0)) * 1_000_000 + u64::from(word(4));
        let time =
            [((micros >> 32) as u32).to_le_bytes(), (micros as u32).to_le_bytes()];
        block(6, &[&[0; 4], &time.concat()[..], &frame[8..]].concat());
    }
    out
}

/// Returns the manifest and the packets as text, and the number of packets, read with this
/// number of threads.
fn summary(bytes: &Bytes, threads: usize) -> (String, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (log, packets_by_topic) = pool.install(|| open_and_read(bytes.clone()));
    let packets = packets_by_topic.values().map(Vec::len).sum();
    (format!("{:?} {packets_by_topic:?}", log.manifest()), packets)
}

/// Asserts that the capture is read in the same way with any number of threads. Returns the
/// number of packets.
#[track_caller]
fn assert_independent_of_threads(case: &str, bytes: Vec<u8>) -> usize {
    let bytes = Bytes::from(bytes);
    let expected = summary(&bytes, 1);
    for threads in [2, 5] {
        assert!(summary(&bytes, threads) == expected, "{case}, {threads} threads");
    }
    expected.1
}

#[test]
fn undamaged_capture_is_the_same_on_any_number_of_threads() {
    let long_capture = long_capture();
    let count = summary(&short_capture(), 1).1 * REPETITIONS as usize;
    assert_eq!(assert_independent_of_threads("pcap", long_capture.clone()), count);
    let pcapng = pcapng(&long_capture);
    assert_eq!(assert_independent_of_threads("pcapng", pcapng.clone()), count);
    // With a section in the middle, and an empty one.
    let sections = [&pcapng[..], &pcapng[..60], &pcapng].concat();
    assert_independent_of_threads("sections", sections);
}

#[test]
fn damaged_capture_is_the_same_on_any_number_of_threads() {
    for (name, bytes) in [("pcap", long_capture()), ("pcapng", pcapng(&long_capture()))]
    {
        let len = bytes.len();
        // In the middle of a segment, at its start, and at its end.
        for offset in [1_400_000, 5 << 18, (6 << 18) - 9, (7 << 18) + 1, len - 1_000] {
            let (before, after) = bytes.split_at(offset);
            let garbage: Vec<u8> =
                (0..50_000_u32).map(|i| ((i * i) >> 3) as u8).collect();
            for (case, damaged) in [
                ("inserted", [before, &garbage[..7], after].concat()),
                ("much inserted", [before, &garbage, after].concat()),
                ("removed", [before, &after[900..]].concat()),
                ("zeroed", [before, &[0; 900][..], &after[900..]].concat()),
                ("truncated", before.to_vec()),
            ] {
                assert_independent_of_threads(
                    &format!("{name}, {case} at {offset}"),
                    damaged,
                );
            }
        }
    }
}

#[test]
fn duplicates_and_fragments_are_the_same_on_any_number_of_threads() {
    let long_capture = long_capture();
    let all_frames = frames(&long_capture);
    let mut mixed = long_capture[..24].to_vec();
    let (mut duplicates, mut fragments) = (0, 0);
    for (index, frame) in all_frames.into_iter().enumerate() {
        let frame = &long_capture[frame];
        mixed.extend(frame);
        if index % 100 > 90 {
            mixed.extend(frame);
            duplicates += 1;
        }
        if index % 400 == 300 {
            mixed.extend(fragment(index as u32, 0, true, &[7; 64]));
            fragments += 1;
        }
    }
    assert!(duplicates > 100 && fragments > 3);
    let packets = assert_independent_of_threads("pcap", mixed);
    assert_eq!(packets, summary(&short_capture(), 1).1 * REPETITIONS as usize);
}
