//! Senders of packets, how often packets come, and UDP checksums.

use crate::program::{Folder, Run};

/// A data packet in a frame: who sends it, to which port, when in microseconds, and its bytes.
#[derive(Clone)]
struct Sent {
    mac: u8,
    address: [u8; 4],
    port: u16,
    micros: u32,
    payload: Vec<u8>,
}

/// The data packet of this number, of a lidar with this identity byte.
fn sent(number: u32, identity: u8, period: f64) -> Sent {
    let micros = (f64::from(number) * period).round() as u32;
    let mut payload = vec![0; 1206];
    for (block, bytes) in (0..).zip(payload.chunks_exact_mut(100)) {
        let azimuth = ((240 * number + 20 * block) % 36_000) as u16;
        bytes[..2].copy_from_slice(&[0xff, 0xee]);
        bytes[2..4].copy_from_slice(&azimuth.to_le_bytes());
        bytes[4..7].copy_from_slice(&[0x88, 0x13, 100]);
    }
    payload[1200..1204].copy_from_slice(&micros.to_le_bytes());
    payload[1204..].copy_from_slice(&[0x37, identity]);
    Sent { mac: 1, address: [192, 168, 1, 201], port: 2368, micros, payload }
}

const TO: [u8; 4] = [192, 168, 1, 77];

/// The checksum of RFC 768, computed word by word.
fn checksum(packet: &Sent, header: &[u8]) -> u16 {
    let len = (header.len() + packet.payload.len()) as u16;
    let words = [
        &packet.address[..],
        &TO,
        &[0, 17],
        &len.to_be_bytes(),
        header,
        &packet.payload,
    ];
    let bytes = words.concat();
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = !(sum as u16);
    if sum == 0 { 0xffff } else { sum }
}

/// A capture of packets. `has_sums` states for each packet whether it has a checksum.
fn capture(all: &[Sent], has_sums: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0, 0, 0xffff, 1].map(u32::to_le_bytes).concat());
    for (number, packet) in all.iter().enumerate() {
        let len = 42 + packet.payload.len();
        let times =
            [1_700_000_000 + packet.micros / 1_000_000, packet.micros % 1_000_000];
        bytes.extend(times.map(u32::to_le_bytes).concat());
        bytes.extend([len as u32; 2].map(u32::to_le_bytes).concat());
        bytes.extend([[0xff; 6], [2, 0, 0, 0, 0, packet.mac]].concat());
        bytes.extend([0x08, 0x00, 0x45, 0]);
        bytes.extend((len as u16 - 14).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        bytes.extend([packet.address, TO].concat());
        let udp_len = 8 + packet.payload.len() as u16;
        let header = |sum| {
            [packet.port, packet.port, udp_len, sum].map(u16::to_be_bytes).concat()
        };
        let sum = if has_sums(number) { checksum(packet, &header(0)) } else { 0 };
        bytes.extend(header(sum));
        bytes.extend(&packet.payload);
    }
    bytes
}

fn info(all: &[Sent]) -> Run {
    let folder = Folder::new();
    folder.write("x.pcap", &capture(all, |_| false));
    folder.run(&["info", "x.pcap"]).assert_success()
}

const VLP16_PERIOD: f64 = 1_327.104;

#[test]
fn lidars_are_separated_by_any_part_of_their_identity() {
    type Change = fn(&mut Sent);
    let changes: [(&str, Change); 3] = [
        ("address", |packet| packet.address[3] = 202),
        ("port", |packet| packet.port = 2370),
        ("hardware address", |packet| packet.mac = 2),
    ];
    for (property, change) in changes {
        let mut all = Vec::new();
        for number in 0..60 {
            all.push(sent(number, 0x22, VLP16_PERIOD));
            let mut other = sent(number, 0x22, VLP16_PERIOD);
            change(&mut other);
            // Another intensity, because equal packets would be treated as copies by a
            // mirror port.
            other.payload[6] = 50;
            other.micros += 300;
            all.push(other);
        }
        let info = info(&all).stdout;
        for name in ["points: VLP-16", "points.1: VLP-16"] {
            let expected = format!("{name}, strongest return, 60 packets");
            assert!(info.contains(&expected), "{property}: {info}");
        }
        assert!(!info.contains("packets a second come"), "{property}: {info}");
    }
    // Two lidars that share all of these are one sender, with too many packets.
    let packets = (0..120).map(|number| sent(number, 0x22, VLP16_PERIOD / 2.0));
    let info = info(&packets.collect::<Vec<_>>()).stdout;
    assert!(info.contains("points: VLP-16, strongest return, 120 packets"), "{info}");
    assert!(info.contains("1507 packets a second come from one sender"), "{info}");
}

#[test]
fn two_lidars_of_a_log_share_a_table_in_a_dataset() {
    let mut all = Vec::new();
    for number in 0..60 {
        all.push(sent(number, 0x22, VLP16_PERIOD));
        let mut other = sent(number, 0x22, VLP16_PERIOD);
        other.address[3] = 202;
        other.payload[6] = 50;
        other.micros += 300;
        all.push(other);
    }
    let folder = Folder::new();
    folder.write("x.pcap", &capture(&all, |_| false));
    folder.run(&["batch", "-q", "x.pcap", "-o", "set"]).assert_success();
    for table in ["points", "velodyne_packets"] {
        let files = folder.list(&format!("set/{table}/log=x"));
        assert_eq!(files, ["instance=0", "instance=1"], "{table}");
    }
}

#[test]
fn impossible_rate_of_the_model_is_reported() {
    for (identity, model, period) in [
        (0x22, "VLP-16", VLP16_PERIOD),
        (0x21, "HDL-32E", 552.96),
        (0x28, "VLP-32C", 663.552),
    ] {
        // Two lidars whose packets are replayed twice as fast, a little too fast, at the
        // right speed, and too slowly.
        for (factor, is_reported) in
            [(2.0, true), (1.4, true), (1.05, false), (1.0, false), (0.5, false)]
        {
            let all: Vec<_> = (0..200)
                .map(|number| sent(number, identity, period / factor))
                .collect();
            let info = info(&all).stdout;
            assert!(info.contains(model), "{info}");
            let is_found = info.contains("packets a second come from one sender");
            assert_eq!(is_found, is_reported, "{model} {factor}: {info}");
        }
    }
}

#[test]
fn udp_checksums_are_verified_if_present() {
    let all: Vec<_> = (0..60).map(|number| sent(number, 0x22, VLP16_PERIOD)).collect();
    let records = |bytes: &[u8]| {
        let folder = Folder::new();
        folder.write("x.pcap", bytes);
        let cat = folder.run(&["cat", "x.pcap", "-t", "velodyne_packets"]);
        (cat.status, cat.json_lines().len())
    };
    assert_eq!(records(&capture(&all, |_| true)), (0, 60));
    assert_eq!(records(&capture(&all, |_| false)), (0, 60));
    assert_eq!(records(&capture(&all, |number| number % 3 == 0)), (0, 60));
    // An intensity in packets 6 and 7 changes; only 6 has a checksum.
    let mut bytes = capture(&all, |number| number % 3 == 0);
    for number in [6, 7] {
        bytes[24 + number * (16 + 42 + 1_206) + 16 + 42 + 506] ^= 0x10;
    }
    assert_eq!(records(&bytes), (3, 59));
    // An odd length: the last byte is the high byte of a word.
    let mut with_stray = all;
    with_stray.insert(
        30,
        Sent { port: 9_999, payload: vec![7; 1_205], ..with_stray[30].clone() },
    );
    assert_eq!(records(&capture(&with_stray, |_| true)), (0, 60));
}

#[test]
fn packets_of_more_senders_than_are_read_are_lost() {
    let all: Vec<Sent> = (0..520_u32)
        .map(|number| {
            let lidar = number / 2;
            let address = [10, 0, (lidar / 250) as u8, (lidar % 250) as u8];
            Sent { address, ..sent(number, 0x22, 1_327.0) }
        })
        .collect();
    let folder = Folder::with_log(&capture(&all, |_| false));
    let check = folder.run(&["check", "flight.ulg"]).assert_status(3, &[]).stdout;
    for word in ["capture.senders", "8 frames contain packets of senders after"] {
        assert!(check.contains(word), "{word}: {check}");
    }
    let convert = ["convert", "flight.ulg", "-o", "out.pcap"];
    folder.run(&convert).assert_status(3, &["8 records"]);
    // As many senders as are read.
    let folder = Folder::with_log(&capture(&all[..512], |_| false));
    folder
        .run(&["convert", "flight.ulg", "-q", "-o", "out.pcap"])
        .assert_status(0, &[]);
}

#[test]
fn checksums_of_both_kinds_that_are_not_verified_are_reported() {
    let all: Vec<_> = (0..60).map(|number| sent(number, 0x22, VLP16_PERIOD)).collect();
    let mut bytes = capture(&all, |_| true);
    for frame in bytes[24..].chunks_mut(16 + 42 + 1_206) {
        for checksum in [16 + 24, 16 + 40] {
            frame[checksum..checksum + 2].copy_from_slice(&[0x12, 0x34]);
        }
    }
    let folder = Folder::with_log(&bytes);
    let check = folder.run(&["check", "flight.ulg"]).assert_status(0, &[]).stdout;
    for word in
        ["capture.checksums", "most UDP checksums", "most IPv4 header checksums"]
    {
        assert!(check.contains(word), "{word}: {check}");
    }
}
