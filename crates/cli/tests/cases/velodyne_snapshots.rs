//! Packets that the snapshot length of a capture cuts.

use std::fs;

use super::velodyne_layers::frames;
use crate::{
    program::{Folder, Run},
    samples::testdata,
};

/// The bytes of Ethernet, IPv4 and UDP before a packet, and those of a data packet and its
/// blocks.
const HEADERS: usize = 42;
const FRAME: usize = HEADERS + 1_206;
const BLOCK: usize = 100;

/// The capture `testdata/puck.pcap` with frames cut to `snapshot` bytes each, after `header`
/// was put before each frame on a link of this type.
fn cut(snapshot: usize, link: u32, header: &[u8]) -> Vec<u8> {
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let mut capture = [&original[..20], &link.to_le_bytes()].concat();
    for (_, range) in frames(&original) {
        let frame = [header, &original[range.clone()]].concat();
        let captured = frame.len().min(snapshot);
        capture.extend(&original[range.start - 16..range.start - 8]);
        capture.extend(
            [captured as u32, frame.len() as u32].map(u32::to_le_bytes).concat(),
        );
        capture.extend(&frame[..captured]);
    }
    capture
}

/// The distances in metres of the returns in the first `blocks` blocks of each data packet.
/// A VLP-16 counts 2 mm, and its points are up to 12 mm higher or lower than its origin.
fn distances(blocks: usize) -> Vec<f32> {
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let mut distances = Vec::new();
    for (_, range) in
        frames(&original).into_iter().filter(|(_, range)| range.len() == FRAME)
    {
        let packet = &original[range][HEADERS..];
        for block in packet.chunks(BLOCK).take(blocks) {
            let returns = block[4..].chunks(3);
            let raw = returns.map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
            distances
                .extend(raw.filter(|raw| *raw > 0).map(|raw| f32::from(raw) * 0.002));
        }
    }
    distances
}

/// Converts the points of `capture` as those of a VLP-16, and returns their distances.
fn points(capture: &[u8]) -> (Run, Vec<f32>) {
    let folder = Folder::new();
    folder.write("x.pcap", capture);
    let args = ["convert", "x.pcap", "-o", "p.csv", "-t", "points", "--model", "vlp16"];
    let run = folder
        .run(&[&args[..], &["--field", "x", "--field", "y", "--field", "z"]].concat());
    let table = folder.read("p.csv");
    let distance = |line: &str| {
        let values: Vec<f64> =
            line.split(',').map(|text| text.parse().unwrap()).collect();
        let [.., x, y, z] = values[..] else { panic!("{line}") };
        (x * x + y * y + z * z).sqrt() as f32
    };
    let distances = table.lines().skip(1).map(distance).collect();
    (run, distances)
}

#[test]
fn complete_blocks_of_cut_packets_are_read_and_reported() {
    for (link, header) in [(1, &[][..]), (147, &[7; 33])] {
        for blocks in [1, 5, 11, 12] {
            let snapshot = header.len() + HEADERS + blocks * BLOCK + 5;
            let (run, points) = points(&cut(snapshot, link, header));
            assert_eq!(run.status, 3, "{blocks} blocks: {run:?}");
            let expected = distances(blocks);
            assert_eq!(points.len(), expected.len(), "{blocks} blocks");
            let differs =
                |(point, expected): (&f32, &f32)| (point - expected).abs() > 2e-2;
            assert!(!points.iter().zip(&expected).any(differs), "{blocks} blocks");
        }
    }
}

#[test]
fn cut_packets_are_counted_and_their_model_is_unknown() {
    let folder = Folder::new();
    folder.write("x.pcap", &cut(HEADERS + 5 * BLOCK, 1, &[]));
    for command in ["info", "check"] {
        let run = folder.run(&[command, "x.pcap"]);
        assert_eq!(run.status, 3, "{command}: {run:?}");
        assert!(
            run.stdout.contains("42 packets are truncated by the snapshot length"),
            "{run:?}"
        );
        assert!(run.stdout.contains("unless their model is set"), "{run:?}");
    }
    // Without a complete block, nothing of a packet can be read.
    folder.write("y.pcap", &cut(HEADERS + BLOCK - 1, 1, &[]));
    let run = folder.run(&["info", "y.pcap"]);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(
        run.stdout.contains("43 frames are truncated by the snapshot length, and lost"),
        "{run:?}"
    );
}

#[test]
fn first_fragment_that_is_cut_keeps_its_complete_blocks() {
    // Each data packet as a first fragment of 800 bytes. Only 700 were captured.
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let mut capture = original[..24].to_vec();
    for (_, range) in
        frames(&original).into_iter().filter(|(_, range)| range.len() == FRAME)
    {
        let mut frame = original[range.clone()][..700].to_vec();
        frame[16..18].copy_from_slice(&800_u16.to_be_bytes());
        frame[20] |= 0x20;
        frame[24..26].fill(0);
        capture.extend(&original[range.start - 16..range.start - 8]);
        capture.extend([700_u32, 814].map(u32::to_le_bytes).concat());
        capture.extend(frame);
    }
    let (run, points) = points(&capture);
    assert_eq!((run.status, points.len()), (3, distances(6).len()), "{run:?}");
}
