//! Times of lidars that are not UTC, or contradict the clock of the log.

use crate::{
    program::{Folder, Run},
    samples::sample,
};

/// The packets of a pcap with microseconds: where each record and its data begin.
fn records(pcap: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut all) = (24, Vec::new());
    while let Some(len) = pcap.get(at + 8..at + 12) {
        all.push((at, at + 16));
        at += 16 + u32::from_le_bytes(len.try_into().unwrap()) as usize;
    }
    all
}

/// Returns the output of `info` for a sample that `change` has modified.
fn info(name: &str, change: impl Fn(&mut [u8])) -> Option<Run> {
    let mut bytes = std::fs::read(sample(name)?).unwrap();
    change(&mut bytes);
    let folder = Folder::new();
    folder.write("log.pcap", &bytes);
    Some(folder.run(&["info", "log.pcap"]).assert_success())
}

/// Sets the clock of a capture back by this number of milliseconds.
fn set_back(millis: u64) -> impl Fn(&mut [u8]) {
    move |pcap| {
        for (at, _) in records(pcap) {
            let word =
                |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
            let micros = u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4));
            let micros = micros - millis * 1_000;
            pcap[at..at + 4]
                .copy_from_slice(&((micros / 1_000_000) as u32).to_le_bytes());
            let rest = (micros % 1_000_000) as u32;
            pcap[at + 4..at + 8].copy_from_slice(&rest.to_le_bytes());
        }
    }
}

#[test]
fn tai_time_of_a_grandmaster_is_recognized() {
    let Some(info) = info("cases/velodyne/ptp_tai.pcap", |_| ()) else { return };
    assert!(info.stdout.contains("looks like TAI (37 s ahead of UTC)"), "{info:?}");
}

#[test]
fn only_offsets_of_time_scales_are_recognized() {
    let name = "velodyne/sim_hdl64e_s2.pcap";
    for (millis, scale) in [
        (37_000, Some("TAI (37 s")),
        (36_600, Some("TAI (37 s")),
        (37_400, Some("TAI (37 s")),
        (18_000, Some("GPS time (18 s")),
        (0, None),
        (25_000, None),
        (60_000, None),
    ] {
        let Some(info) = info(name, set_back(millis)) else { return };
        let is_found = info.stdout.contains("looks like");
        assert_eq!(is_found, scale.is_some(), "{millis}: {info:?}");
        assert!(scale.is_none_or(|scale| info.stdout.contains(scale)), "{info:?}");
    }
}

/// Adds `add` to the status values of one type.
fn add_to_status(sort: u8, add: u8) -> impl Fn(&mut [u8]) {
    move |pcap| {
        for (_, data) in records(pcap) {
            // Ethernet, IPv4 and UDP have 42 bytes.
            let tail = data + 42 + 1_204;
            if pcap.get(tail) == Some(&sort) {
                pcap[tail + 1] = pcap[tail + 1].wrapping_add(add);
            }
            // No UDP checksum.
            pcap[data + 40..data + 42].fill(0);
        }
    }
}

#[test]
fn hdl_64e_status_bytes_are_compared_with_the_log_and_the_packets() {
    for name in ["velodyne/sim_hdl64e_s2.pcap", "velodyne/sim_hdl64e_s3_single.pcap"] {
        for (sort, add, expected) in [
            (b'H', 0, None),
            (b'D', 255, Some("86400 s behind the clock of the log")),
            (b'H', 1, Some("3600 s ahead of the clock of the log")),
            (b'M', 25, Some("the status bytes state 25:00.000 past the hour")),
        ] {
            let Some(info) = info(name, add_to_status(sort, add)) else { return };
            let is_reported =
                expected.is_none_or(|expected| info.stdout.contains(expected));
            assert!(is_reported, "{expected:?}: {info:?}");
            let any = info.stdout.contains("status bytes state")
                || info.stdout.contains("in the status bytes");
            assert_eq!(any, expected.is_some(), "{info:?}");
        }
    }
}

#[test]
fn check_finds_tai_time_in_a_bag_of_packets() {
    let Some(path) = sample("cases/velodyne/ptp_tai.pcap") else { return };
    let folder = Folder::new();
    folder.run(&["convert", &path, "-o", "log.bag", "--topic", "velodyne_packets"]);
    let check = folder.run(&["check", "log.bag"]);
    assert!(check.stdout.contains("lidar.clock.utc"), "{check:?}");
    assert!(check.stdout.contains("looks like TAI"), "{check:?}");
}
