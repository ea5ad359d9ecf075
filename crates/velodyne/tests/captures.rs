//! Reads a real capture in many containers and encapsulations, and damaged captures.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

#[path = "captures/damaged.rs"]
mod damaged;
#[path = "captures/damaged_layers.rs"]
mod damaged_layers;
#[path = "captures/duplicates.rs"]
mod duplicates;
#[path = "captures/layers.rs"]
mod layers;
#[path = "captures/sections.rs"]
mod sections;
#[path = "captures/threads.rs"]
mod threads;
#[path = "captures/writer.rs"]
mod writer;

use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, DamageKind, Error, ErrorKind, Findings, Format, Log, LogSlice, OpenOptions,
    Selection, Timestamp, Value, WriteOptions, conformance,
};
use logtool_velodyne::{
    capture::{CaptureLog, FORMAT, PositionClockInfo},
    vel::{self, VelLog},
};

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("velodyne/{name}"))
}

/// Returns the first 60 packets of the capture that all variants are made of, with their
/// times in nanoseconds. Each packet is the last 1206 bytes of a frame of 1248.
fn packets() -> Option<Vec<(i64, Bytes)>> {
    let bytes = sample("hdl64e_atwallshort.pcap")?;
    let word = |offset: usize| {
        u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
    };
    let mut offset = 24;
    let mut packets = Vec::new();
    while packets.len() < 60 {
        assert_eq!(word(offset + 8), 1_248);
        let micros = i64::from(word(offset)) * 1_000_000 + i64::from(word(offset + 4));
        packets
            .push((micros * 1_000, bytes.slice(offset + 16 + 42..offset + 16 + 1_248)));
        offset += 16 + 1_248;
    }
    Some(packets)
}

/// Returns the ranges of the complete frames of a pcap, including the 16 bytes of their
/// headers.
fn frames(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut frames, mut offset) = (vec![], 24);
    while let Some(len) = bytes.get(offset + 8..offset + 12) {
        let end = offset + 16 + u32::from_le_bytes(len.try_into().unwrap()) as usize;
        if end > bytes.len() {
            break;
        }
        frames.push(offset..end);
        offset = end;
    }
    frames
}

/// The packets of each topic.
type PacketsByTopic = BTreeMap<String, Vec<(Timestamp, Bytes)>>;

fn read(name: &str) -> (CaptureLog, PacketsByTopic) {
    let bytes = sample(&format!("pcap_variants/{name}")).unwrap();
    open_and_read(bytes)
}

fn open_and_read(bytes: Bytes) -> (CaptureLog, PacketsByTopic) {
    let log = CaptureLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    let (selection, mut block, mut packets_by_topic) =
        (Selection::default(), Block::default(), PacketsByTopic::new());
    for part in log.manifest().plan(&selection, u64::MAX) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            for record in block.iter() {
                let topic = log.manifest().topic(record.topic).unwrap();
                let payload = Bytes::copy_from_slice(record.payload);
                let label = topic.label().into_owned();
                packets_by_topic.entry(label).or_default().push((record.time, payload));
            }
        }
    }
    packets_by_topic.retain(|label, _| !label.starts_with("points"));
    (log, packets_by_topic)
}

fn count(log: &CaptureLog, key: &str) -> u64 {
    match log.manifest().metadata.get(key) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    }
}

#[test]
fn every_encapsulation_has_the_same_packets() {
    let Some(packets) = packets() else { return };
    let payloads: Vec<&Bytes> = packets.iter().map(|(_, bytes)| bytes).collect();
    for name in [
        "be.pcap",
        "be.pcapng",
        "fcs_trailer.pcap",
        "ipfrag.pcap",
        "ipoptions.pcap",
        "ipv6.pcap",
        "ns.pcap",
        "ns.pcapng",
        "null_loopback.pcap",
        "pow2.pcapng",
        "qinq.pcap",
        "rawip.pcap",
        "simplepackets.pcapng",
        "sll.pcap",
        "sll2.pcap",
        "std.pcapng",
        "tsoffset.pcapng",
        "vlan.pcap",
    ] {
        let (log, captured) = read(name);
        assert_eq!(captured.keys().collect::<Vec<_>>(), ["velodyne_packets"], "{name}");
        let captured = &captured["velodyne_packets"];
        let captured_payloads: Vec<&Bytes> =
            captured.iter().map(|(_, bytes)| bytes).collect();
        assert!(captured_payloads == payloads, "{name}: {} packets", captured.len());
        assert_eq!(log.manifest().damage, [], "{name}");
        // Simple packets have no time, and ticks of 2^-20 s are not whole microseconds.
        if name != "simplepackets.pcapng" {
            for ((time, _), (nanos, _)) in captured.iter().zip(&packets) {
                let error = nanos - time.as_nanos();
                assert!((0..1_000).contains(&error), "{name}: {error} ns");
                assert!(error == 0 || name == "pow2.pcapng", "{name}: {error} ns");
            }
        }
    }
}

#[test]
fn packets_of_two_interfaces_have_two_senders() {
    let Some(packets) = packets() else { return };
    let (log, packets_by_topic) = read("two_interfaces.pcapng");
    assert_eq!(log.manifest().damage, []);
    let labels = ["velodyne_packets", "velodyne_packets.1"];
    assert_eq!(packets_by_topic.keys().collect::<Vec<_>>(), labels);
    let mut all_packets: Vec<_> = packets_by_topic.into_values().flatten().collect();
    all_packets.sort_by_key(|(time, _)| *time);
    let payloads = all_packets.iter().map(|(_, bytes)| bytes);
    assert!(payloads.eq(packets.iter().map(|(_, bytes)| bytes)));
}

#[test]
fn each_lidar_is_a_topic_and_other_frames_are_counted() {
    let Some(packets) = packets() else { return };
    let (log, packets_by_topic) = read("noise_two_sensors.pcap");
    let every = |nth: usize| -> Vec<&Bytes> {
        packets.iter().step_by(nth).map(|(_, bytes)| bytes).collect()
    };
    let payloads = |label: &str| -> Vec<&Bytes> {
        packets_by_topic[label].iter().map(|(_, bytes)| bytes).collect()
    };
    assert!(payloads("velodyne_packets") == every(1));
    // Another port, then another address.
    assert!(payloads("velodyne_packets.1") == every(7));
    assert!(payloads("velodyne_packets.2") == every(11));
    assert_eq!(packets_by_topic.len(), 3);
    let sender = |label: &str| {
        let id = log.manifest().topic_id(label).unwrap();
        let metadata = &log.manifest().topic(id).unwrap().metadata;
        format!("{} {}", metadata["address"], metadata["port"])
    };
    assert_eq!(sender("velodyne_packets"), "192.168.3.43 2368");
    assert_eq!(sender("velodyne_packets.1"), "192.168.3.43 9999");
    assert_eq!(sender("velodyne_packets.2"), "192.168.3.99 2368");
    assert_eq!(count(&log, "packets"), 60 + 9 + 6);
    // The first block of these packets has an unknown flag: they are reported as damage.
    assert_eq!(count(&log, "corrupted_packets"), 10);
    let damage = &log.manifest().damage;
    assert_eq!(damage.iter().map(|damage| damage.records).sum::<u64>(), 10);
    assert_eq!(
        damage.iter().map(|damage| damage.bytes.clone().count()).sum::<usize>(),
        10 * 1_264
    );
    assert_eq!(count(&log, "other_protocols"), 12);
    assert_eq!(count(&log, "other_datagrams"), 5);
}

#[test]
fn missing_fragment_is_reported_with_its_position() {
    let Some(bytes) = sample("pcap_variants/ipfrag.pcap") else { return };
    let frames = frames(&bytes);
    assert_eq!(frames.len(), 2 * 60);
    // Give each datagram an identification, at byte 4 of the IP header, which follows the
    // headers of pcap and Ethernet.
    let mut bytes = bytes.to_vec();
    for (index, frame) in (0_u16..).zip(&frames) {
        bytes[frame.start + 34..][..2].copy_from_slice(&(index / 2).to_be_bytes());
    }
    // The first fragment of the fourth packet, then the second.
    for missing in [6, 7] {
        let missing = &frames[missing];
        let remaining = [&bytes[..missing.start], &bytes[missing.end..]].concat();
        let source = Arc::new(Bytes::from(remaining));
        let log = CaptureLog::open(source, OpenOptions::default()).unwrap();
        assert_eq!(count(&log, "packets"), 59);
        let damage = &log.manifest().damage;
        let damage = damage.iter().map(|damage| (damage.bytes.start, damage.records));
        assert_eq!(damage.collect::<Vec<_>>(), [(frames[6].start as u64, 1)]);
    }
}

#[test]
fn position_packets_with_a_too_large_ip_length_are_read() {
    // The numbers of packets are those in the list of the samples.
    for (name, packets) in [
        ("vlp16_gadomski_position.pcap", 1),
        ("vlp16_opendlv_sampleShort.pcap", 56),
        ("vlp16_mrpt_gps_sample.pcap", 57),
        ("hdl32e_rustlidarutils_example.pcap", 100),
        ("veloview_monterey-first-100-packets.pcap", 299),
    ] {
        let Some(bytes) = sample(name) else { continue };
        let log = CaptureLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
        let position = log.manifest().topic_id("position").unwrap();
        let topic = log.manifest().topic(position).unwrap();
        assert_eq!(topic.records, Some(packets), "{name}");
        let clock = PositionClockInfo::from_topic(topic).unwrap();
        assert!(clock.evidence.contains(&format!("of {packets} packets")), "{clock}");
    }
}

#[test]
fn packets_truncated_by_the_snapshot_length_are_doubtful() {
    if packets().is_none() {
        return;
    }
    let (log, packets_by_topic) = read("snaplen1000.pcap");
    let packets = &packets_by_topic["velodyne_packets"];
    assert_eq!((packets.len(), count(&log, "incomplete_packets")), (60, 60));
    let [cut] = &log.manifest().damage[..] else { panic!("one damage") };
    assert_eq!((cut.kind, cut.records), (DamageKind::Doubtful, 60));
    assert_eq!(cut.bytes, 24..log.manifest().bytes);
}

#[test]
fn packet_that_its_headers_do_not_lead_to_is_damage() {
    let Some(undamaged) = sample("hdl64e_atwallshort.pcap") else { return };
    let start = 24 + 20 * 1_264;
    // The protocol and the length of IP, the length of UDP, and that of the record.
    for offset in [16 + 23, 16 + 16, 16 + 38, 8, 9] {
        let mut bytes = undamaged.to_vec();
        bytes[start + offset] ^= 0x01;
        let (log, packets_by_topic) = open_and_read(bytes.into());
        let all_damage = &log.manifest().damage;
        let packets = packets_by_topic["velodyne_packets"].len();
        // The original capture also ends inside a frame.
        let (_, damage) = all_damage.split_last().unwrap();
        assert_eq!(packets + damage.len().min(1), 306, "{offset}: {all_damage:?}");
        let frame = start as u64..start as u64 + 1_264;
        assert!(
            damage.iter().all(|damage| frame.contains(&damage.bytes.start)),
            "{offset}"
        );
    }
}

#[test]
fn only_truncated_frames_of_lidars_are_damage() {
    let Some(bytes) = sample("pcap_variants/noise_two_sensors.pcap") else { return };
    // All but a few frames are truncated to 100 bytes.
    let word = |offset: usize| {
        u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
    };
    let mut truncated = bytes[..24].to_vec();
    let (mut offset, mut frames, mut lost) = (24, 0, 0);
    while offset < bytes.len() {
        let len = word(offset + 8) as usize;
        let frame = &bytes[offset + 16..offset + 16 + len];
        let captured_len = if frames % 50 == 0 { len } else { len.min(100) };
        let ethertype_and_protocol = (&frame[12..14], frame.get(23));
        let is_udp = ethertype_and_protocol == (&[8, 0], Some(&17));
        let has_flag = frame
            .get(42..44)
            .is_some_and(|flag| flag == [0xff, 0xee] || flag == [0xff, 0xdd]);
        lost += u64::from(captured_len < len && is_udp && len == 1_248 && has_flag);
        truncated.extend(&bytes[offset..offset + 8]);
        truncated.extend((captured_len as u32).to_le_bytes());
        truncated.extend(&bytes[offset + 12..offset + 16 + captured_len]);
        (offset, frames) = (offset + 16 + len, frames + 1);
    }
    let (log, packets_by_topic) = open_and_read(truncated.into());
    let damaged_records: u64 =
        log.manifest().damage.iter().map(|damage| damage.records).sum();
    assert_eq!((damaged_records, count(&log, "truncated_frames")), (lost, lost));
    assert!(log.manifest().damage.len() < 4, "{:?}", log.manifest().damage);
    assert_eq!(
        packets_by_topic.values().map(Vec::len).sum::<usize>() as u64 + lost,
        75
    );
    assert_eq!(count(&log, "other_protocols"), 12);
}

#[test]
fn capture_that_ends_inside_a_frame_has_the_frames_before() {
    let Some(packets) = packets() else { return };
    let (log, packets_by_topic) = read("truncated_tail.pcap");
    let captured = &packets_by_topic["velodyne_packets"];
    assert_eq!(captured.len(), 59);
    assert!(captured.iter().zip(&packets).all(|((_, a), (_, b))| a == b));
    let [lost] = &log.manifest().damage[..] else { panic!("one damage") };
    assert_eq!(lost.kind, DamageKind::Truncated);
    assert_eq!(lost.bytes, 24 + 59 * (16 + 1_248)..log.manifest().bytes);
}

/// Returns the packets of a file of bare packets, and its damage.
fn read_bare_packets(bytes: &[u8]) -> (Vec<Bytes>, Vec<(DamageKind, Range<u64>)>) {
    let (log, mut packets_by_topic) = open_and_read(Bytes::copy_from_slice(bytes));
    let packets = packets_by_topic.remove("velodyne_packets").unwrap();
    let damage =
        log.manifest().damage.iter().map(|damage| (damage.kind, damage.bytes.clone()));
    (packets.into_iter().map(|(_, bytes)| bytes).collect(), damage.collect())
}

#[test]
fn damaged_bytes_lose_only_their_bare_packets() {
    let Some(dump) = sample("vlp16_einride_recording.bin") else { return };
    let packets: Vec<&[u8]> = dump.chunks_exact(1_206).collect();
    assert_eq!(packets.len(), 1_000);
    let garbled = |start: usize, end: usize| {
        (DamageKind::Garbled, (start * 1_206) as u64..(end * 1_206) as u64)
    };
    // The flag of a block is damaged: of the first packet, and of two packets with an
    // undamaged one between them.
    let mut damaged = dump.to_vec();
    for (packet, block) in [(0, 0), (500, 3), (502, 11)] {
        damaged[packet * 1_206 + block * 100] ^= 1;
    }
    let (read_packets, damage) = read_bare_packets(&damaged);
    let indices = (0..1_000).filter(|n| ![0, 500, 502].contains(n));
    assert!(read_packets.iter().eq(indices.map(|n| packets[n])));
    assert_eq!(damage, [garbled(0, 1), garbled(500, 501), garbled(502, 503)]);
    // A byte is missing, and a hundred bytes are inserted.
    let mut damaged = dump.to_vec();
    damaged.splice(700 * 1_206..700 * 1_206, [0xff; 100]);
    damaged.remove(300 * 1_206 + 7);
    let (read_packets, damage) = read_bare_packets(&damaged);
    assert!(
        read_packets.iter().eq((0..1_000).filter(|n| *n != 300).map(|n| packets[n]))
    );
    assert_eq!(damage[0], (DamageKind::Garbled, 300 * 1_206..301 * 1_206 - 1));
    let inserted = 700 * 1_206 - 1..700 * 1_206 + 99;
    assert_eq!(damage[1..], [(DamageKind::Garbled, inserted)]);
    // The end of the last packet is missing.
    let (read_packets, damage) = read_bare_packets(&dump[..dump.len() - 5]);
    assert!(read_packets.iter().eq(&packets[..999]));
    assert_eq!(damage, [(DamageKind::Truncated, 999 * 1_206..1_000 * 1_206 - 5)]);
}

#[test]
fn undamaged_captures_conform() {
    for name in ["std.pcapng", "ipfrag.pcap", "two_sections_mixed_endian.pcapng"] {
        if let Some(bytes) = sample(&format!("pcap_variants/{name}")) {
            conformance::check(&FORMAT, bytes);
        }
    }
    if let Some(bytes) = sample("vlp16_rustlidarutils_example_old.pcap") {
        conformance::check(&FORMAT, bytes);
    }
}

#[test]
fn unusual_captures_and_bare_packets_conform() {
    for name in [
        "pcap_variants/noise_two_sensors.pcap",
        "pcap_variants/simplepackets.pcapng",
        "pcap_variants/snaplen1000.pcap",
        "pcap_variants/truncated_tail.pcap",
        "vlp16_mrpt_gps_sample.pcap",
        "vlp16_einride_recording.bin",
        "vlp16_gadomski_position.pcap",
    ] {
        if let Some(bytes) = sample(name) {
            conformance::check_damaged(&FORMAT, bytes);
        }
    }
}

#[test]
fn malformed_blocks_beyond_the_limit_of_damaged_ranges_are_counted() {
    // A section, an Ethernet interface, and enhanced packets of an interface that does not
    // exist.
    let block = |kind: u32, body: &[u32]| {
        let len = 4 * body.len() as u32 + 12;
        let words = [&[kind, len], body, &[len]].concat();
        words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    let section = block(0x0a0d_0d0a, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]);
    let malformed = block(6, &[1, 0, 0, 0, 0]);
    let blocks = 65_536 + 10;
    let bytes = [section, block(1, &[1, 0]), malformed.repeat(blocks)].concat();
    let log = CaptureLog::open(Arc::new(Bytes::from(bytes)), OpenOptions::default());
    let log = log.unwrap();
    assert_eq!(log.manifest().damage.len(), 65_536);
    assert_eq!(count(&log, "broken_packets"), 10);
}

#[test]
fn frame_that_changed_after_opening_is_reported() {
    // The header of a pcap of Ethernet frames, and four frames of 60 zeros.
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_536, 1];
    let mut frame = [0_u32; 4 + 15];
    (frame[2], frame[3]) = (60, 60);
    let words = [&header[..], &frame.repeat(4)[..]].concat();
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let source = Arc::new(Bytes::from(bytes.clone()));
    let sound = CaptureLog::open(source, OpenOptions::default()).unwrap();
    assert_eq!(sound.manifest().damage, []);
    // The captured length of the second frame.
    bytes[108..112].fill(0xff);
    let source = Arc::new(Bytes::from(bytes));
    let manifest = Arc::new(sound.manifest().clone());
    let log = CaptureLog::open_with_manifest(source, manifest, OpenOptions::default());
    let log = log.unwrap();
    let (mut block, mut damage) = (Block::default(), vec![]);
    for part in &log.manifest().parts {
        let mut cursor = log.read(part, &Selection::default()).unwrap();
        while cursor.fill(&mut block).unwrap() {
            damage.extend_from_slice(block.damage());
        }
    }
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, 100..328);
    let reason = "the file has changed since it was opened";
    assert_eq!(lost.reason.as_deref(), Some(reason));
}

#[test]
fn maximum_lengths_at_any_offset_do_not_panic() {
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let puck = Some(Bytes::from(std::fs::read(puck).unwrap()));
    let ng = sample("pcap_variants/two_interfaces.pcapng");
    let fragments = sample("pcap_variants/ipfrag.pcap");
    for bytes in [puck, ng, fragments].into_iter().flatten() {
        // A few frames are sufficient and fast.
        let bytes = bytes.slice(..bytes.len().min(6_000));
        for offset in 0..bytes.len() - 4 {
            // All headers of the first frames, and some of their contents.
            if offset > 300 && offset % 5 != 0 {
                continue;
            }
            let mut bytes = bytes.to_vec();
            bytes[offset..offset + 4].fill(0xff);
            let source = Arc::new(Bytes::from(bytes));
            let Ok(log) = CaptureLog::open(source, OpenOptions::default()) else {
                continue;
            };
            let (selection, mut block, mut records) =
                (Selection::default(), Block::default(), 0);
            for part in log.manifest().plan(&selection, 0) {
                let mut cursor = log.read(&part, &selection).unwrap();
                while cursor.fill(&mut block).unwrap() {
                    records += block.len() as u64;
                }
            }
            let expected =
                log.manifest().topics.iter().filter_map(|topic| topic.records);
            assert_eq!(records, expected.sum::<u64>(), "byte {offset}");
        }
    }
}
