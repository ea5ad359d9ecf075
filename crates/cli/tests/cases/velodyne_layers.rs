//! Packets of lidars in tunnels, on other links, behind layers that are not known, and after
//! damaged headers.

use std::{fs, io::Read as _};

use crate::{
    program::{Folder, Run},
    samples::{sample, testdata},
};

/// The number of data packets of `testdata/puck.pcap`, and the line of `info` about them.
const DATA_PACKETS: usize = 42;
const ALL_PACKETS: &str = "points: VLP-16, strongest return, 42 packets";

/// The capture `name` of the cases, decompressed.
fn case(name: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(sample(&format!("cases/velodyne/{name}"))?).unwrap();
    if !name.ends_with(".gz") {
        return Some(bytes);
    }
    let mut capture = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut capture).unwrap();
    Some(capture)
}

/// The times of the frames of a pcap, in nanoseconds, and the ranges of their bytes.
pub(super) fn frames(capture: &[u8]) -> Vec<(i64, std::ops::Range<usize>)> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut frames) = (24, Vec::new());
    while at < capture.len() {
        let end = at + 16 + word(at + 8) as usize;
        let time =
            i64::from(word(at)) * 1_000_000_000 + i64::from(word(at + 4)) * 1_000;
        frames.push((time, at + 16..end));
        at = end;
    }
    frames
}

/// The times of the packets of the first lidar in `capture`, in nanoseconds.
fn packet_times(capture: &[u8]) -> Vec<i64> {
    let folder = Folder::new();
    folder.write("x.pcap", capture);
    let args = ["convert", "x.pcap", "-o", "p.csv", "-t", "velodyne_packets"];
    let run = folder.run(&[&args[..], &["--field", "azimuth"]].concat());
    assert_eq!(run.status, 0, "{run:?}");
    let table = folder.read("p.csv");
    let time = |line: &str| line.split(',').next().unwrap().parse().unwrap();
    table.lines().skip(1).map(time).collect()
}

#[test]
fn packets_in_tunnels_and_on_other_links_are_read() {
    for name in [
        "e_pppoe",
        "e_mpls",
        "e_llcsnap",
        "i_gre",
        "i_ipip",
        "i_vxlan",
        "i_erspan2",
        "l_ppp9",
        "l_radiotap127",
        "l_pktap258",
    ] {
        let Some(capture) = case(&format!("{name}.pcap.gz")) else { return };
        let times: Vec<i64> =
            frames(&capture).into_iter().map(|(time, _)| time).collect();
        assert_eq!((times.len(), packet_times(&capture)), (24, times), "{name}");
        let folder = Folder::new();
        folder.write("x.pcap", &capture);
        let info = folder.run(&["info", "x.pcap"]).assert_success().stdout;
        assert!(info.contains("points: VLP-16"), "{name}: {info}");
        let las = ["convert", "x.pcap", "-o", "las", "--format", "las"];
        let las = folder.run(&las);
        assert_eq!(las.status, 0, "{name}: {las:?}");
        let all = format!("{}{}", las.stdout, las.stderr);
        assert!(all.contains("9,216 rows"), "{name}: {all}");
    }
}

/// The data packets of `testdata/puck.pcap`, with each frame changed by `change`, and this
/// link type.
fn puck(link: u32, change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let mut capture = [&original[..20], &link.to_le_bytes()].concat();
    for (_, range) in
        frames(&original).into_iter().filter(|(_, range)| range.len() == 1_248)
    {
        let frame = change(&original[range.clone()]);
        capture.extend(&original[range.start - 16..range.start - 8]);
        capture.extend([frame.len() as u32; 2].map(u32::to_le_bytes).concat());
        capture.extend(frame);
    }
    capture
}

/// Runs a command on `capture`.
fn run(capture: &[u8], command: &str) -> Run {
    let folder = Folder::new();
    folder.write("x.pcap", capture);
    match command {
        "convert" => folder.run(&["convert", "x.pcap", "-o", "p.csv", "-t", "points"]),
        command => folder.run(&[command, "x.pcap"]),
    }
}

#[test]
fn packets_behind_unknown_layers_are_read_and_the_layer_is_named() {
    let sound = packet_times(&puck(1, <[u8]>::to_vec));
    assert_eq!(sound.len(), DATA_PACKETS);
    let with_type = |kind: [u8; 2]| {
        move |frame: &[u8]| [&frame[..12], &kind, b"odd", &frame[14..]].concat()
    };
    for (capture, layer) in [
        (puck(1, with_type([0x88, 0xb5])), "Ethernet type 0x88b5"),
        (puck(147, |frame| [&[7; 33], frame].concat()), "link type 147 (USER0)"),
        (puck(60_000, |frame| [b"odd", &frame[42..]].concat()), "link type 60000"),
    ] {
        assert_eq!(packet_times(&capture), sound, "{layer}");
        let info = run(&capture, "info").assert_success().stdout;
        let text = "packets were found in a layer that is not known";
        assert!(info.contains(text) && info.contains(layer), "{info}");
        assert!(!info.contains("points.1"), "{info}");
    }
}

#[test]
fn frames_of_unknown_links_are_lost() {
    // Without the packets: 17 bytes of each frame.
    let capture = puck(147, |frame| frame[..17].to_vec());
    for command in ["info", "check", "convert"] {
        let run = run(&capture, command);
        assert_ne!(run.status, 0, "{command}: {run:?}");
    }
    let info = run(&capture, "info").stdout;
    assert!(info.contains("link type 147 (USER0)"), "{info}");
}

#[test]
fn wrong_header_checksum_is_damage_and_no_second_lidar() {
    let Some(capture) = case("ip_header_bit.pcap") else { return };
    assert_ne!(run(&capture, "check").status, 0);
    for command in ["info", "convert"] {
        let run = run(&capture, command);
        assert_eq!(run.status, 3, "{command}: {run:?}");
        assert!(!run.stdout.contains("points.1"), "{run:?}");
    }
    assert!(run(&capture, "info").stdout.contains("IPv4 header checksum"));
}

#[test]
fn no_bit_of_a_header_makes_a_second_lidar_or_loses_a_packet_silently() {
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let (_, frame) = frames(&original)[9].clone();
    for bit in 0..8 * 42 {
        let mut capture = original.clone();
        capture[frame.start + bit / 8] ^= 1 << (bit % 8);
        let folder = Folder::new();
        folder.write("x.pcap", &capture);
        let run = folder.run(&["info", "x.pcap"]);
        assert!(!run.stdout.contains("points.1"), "bit {bit}: {}", run.stdout);
        let is_whole = run.stdout.contains(ALL_PACKETS);
        assert!(is_whole || run.status == 3, "bit {bit}: {run:?}");
    }
}

#[test]
fn zeros_over_headers_are_damage() {
    let original = fs::read(testdata("puck.pcap")).unwrap();
    let (_, frame) = frames(&original)[9].clone();
    for start in (0..42).step_by(2) {
        for len in [8, 64, 512, 1_100] {
            let mut capture = original.clone();
            let end = (frame.start + start + len).min(frame.end);
            capture[frame.start + start..end].fill(0);
            let info = run(&capture, "info");
            assert!(
                !info.stdout.contains("points.1"),
                "{start} {len}: {}",
                info.stdout
            );
            let is_whole = info.stdout.contains(ALL_PACKETS);
            assert!(is_whole || info.status == 3, "{start} {len}: {info:?}");
        }
    }
}

#[test]
fn header_checksums_that_are_all_wrong_are_not_verified() {
    let capture = puck(1, |frame| {
        let mut frame = frame.to_vec();
        frame[24] ^= 0x5a;
        frame
    });
    assert_eq!(packet_times(&capture).len(), DATA_PACKETS);
    let info = run(&capture, "info").assert_success().stdout;
    assert!(info.contains("IPv4 header checksums of a sender are wrong"), "{info}");
}
