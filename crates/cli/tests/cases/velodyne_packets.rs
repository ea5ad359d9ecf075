//! `.vel` messages, captures and the clocks of lidars.

use super::{
    program::{Folder, Run},
    samples::sample,
};

/// Runs the program with these arguments, and the sample `name` as its input.
fn run(name: &str, args: &[&str]) -> Option<Run> {
    let path = sample(&format!("cases/velodyne/{name}"))?;
    let mut all = args.to_vec();
    all.insert(1, &path);
    Some(Folder::new().run(&all))
}

#[test]
fn field_4_of_a_gps_message_is_the_warning() {
    let Some(cat) = run("gps_warning1.vel", &["cat", "-t", "gps"]) else { return };
    let rows = cat.assert_success().json_lines();
    assert_eq!(rows.len(), 3);
    for (second, row) in (7..).zip(&rows) {
        assert_eq!(row["data"]["warning"], 1);
        assert_eq!(row["data"]["second"], second);
        assert!(row["data"].get("millisecond").is_none(), "{row}");
    }
    let info = run("gps_warning1.vel", &["info"]).unwrap().assert_success();
    assert!(info.stdout.contains("2010-09-30 13:11:07.000 UTC"), "{info:?}");
}

#[test]
fn field_6_of_an_obd_message_is_the_throttle_position() {
    let Some(cat) = run("obd_throttle.vel", &["cat"]) else { return };
    let rows = cat.assert_success().json_lines();
    let data = rows[0]["data"].as_object().unwrap();
    let mut names: Vec<&str> = data.keys().map(String::as_str).collect();
    names.retain(|name| !["validity", "version"].contains(name));
    names.sort_unstable();
    let expected = [
        "engine_speed",
        "speed",
        "throttle_position",
        "unused_3",
        "unused_4",
        "unused_5",
        "unused_7",
    ];
    assert_eq!(names, expected);
}

#[test]
fn log_ends_at_its_end_mark() {
    let name = "end_mark_then_old_messages.vel";
    let Some(cat) = run(name, &["cat", "--strict"]) else { return };
    // The three messages before the end mark; the bytes after it are from an older
    // recording.
    let rows = cat.assert_success().json_lines();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["topic"] == "gps"), "{rows:?}");
    let info = run(name, &["info"]).unwrap();
    assert_eq!(info.status, 0, "{info:?}");
    assert!(info.stdout.contains("bytes follow the end mark"), "{info:?}");
    assert!(!info.stdout.contains("damage"), "{info:?}");
}

#[test]
fn two_lidars_with_one_address_are_separated_by_interface() {
    let name = "two_nics_same_address.pcapng";
    let Some(info) = run(name, &["info"]) else { return };
    let info = info.assert_success().stdout;
    assert!(info.contains("points: VLP-16, strongest return, 120 packets"), "{info}");
    assert!(info.contains("points.1: VLP-16, strongest return, 120 packets"), "{info}");
    assert!(info.contains("interface 0") && info.contains("interface 1"), "{info}");
    // A copy in one pcap, which has no interfaces, also keeps them apart.
    let folder = Folder::new();
    let path = sample(&format!("cases/velodyne/{name}")).unwrap();
    folder.run(&["filter", &path, "-o", "copy.pcap"]);
    let copy = folder.run(&["info", "copy.pcap"]).assert_success().stdout;
    assert!(copy.contains("points.1: VLP-16, strongest return, 120 packets"), "{copy}");
}

#[test]
fn nmea_that_contradicts_the_lidar_clock_is_reported_and_used() {
    let Some(info) = run("nmea_nopps.pcap", &["info"]) else { return };
    let info = info.assert_success().stdout;
    assert!(info.contains("2023-11-14 22:59:59.951 UTC"), "{info}");
    let text = "NMEA contradict the time of the lidar in 19 of 19 position packets";
    assert!(info.contains(text), "{info}");
    let folder = Folder::new();
    let path = sample("cases/velodyne/nmea_nopps.pcap").unwrap();
    let args = ["cat", &path, "-t", "points", "-n", "1", "--clock", "utc"];
    let rows = folder.run(&args).json_lines();
    let time = rows[0]["time"].as_str().unwrap();
    assert!(time.starts_with("2023-11-14T22:59:59.95"), "{time}");
}

#[test]
fn overflow_of_the_gps_week_is_reported_and_corrected() {
    let Some(info) = run("weekrollover.pcap", &["info"]) else { return };
    let info = info.assert_success().stdout;
    assert!(info.contains("start       2023-11-14 22:59:59.951 UTC"), "{info}");
    assert!(info.contains("1024 weeks before"), "{info}");
}

#[test]
fn difference_between_the_computer_and_utc_is_reported() {
    let Some(info) = run("host_40min_off.pcap", &["info"]) else { return };
    let info = info.assert_success().stdout;
    assert!(info.contains("start       2023-11-14 22:59:59.951 UTC"), "{info}");
    assert!(info.contains("40 min 0 s behind UTC"), "{info}");
    for name in ["hourwrap.pcap", "gpgga.pcap", "poweron.pcap", "stamp_over_hour.pcap"]
    {
        let info = run(name, &["info"]).unwrap().assert_success().stdout;
        assert!(!info.contains("note  "), "{name}: {info}");
    }
}

#[test]
fn captures_of_other_manufacturers_are_recognized() {
    for (name, manufacturer) in [
        ("nonvel_hesai_like.pcap", "Hesai"),
        ("nonvel_livox_like.pcap", "Livox"),
        ("nonvel_robosense_like.pcap", "RoboSense"),
    ] {
        let text = format!("looks like {manufacturer}; only Velodyne is supported");
        for args in [&["info"][..], &["check"], &["cat"], &["convert", "-o", "out"]] {
            let Some(run) = run(name, args) else { return };
            let run = run.assert_status(1, &[&text]);
            let all = format!("{}{}", run.stdout, run.stderr);
            assert!(!all.contains("damage"), "{all}");
        }
    }
}

#[test]
fn zeroed_packet_is_damage() {
    let name = "zeroed_position_packet.pcap";
    let Some(cat) = run(name, &["cat", "-t", "position"]) else { return };
    // 57 position packets were sent; the one at byte 170,440 is lost.
    assert_eq!((cat.status, cat.json_lines().len()), (3, 56), "{}", cat.stderr);
    let check = run(name, &["check"]).unwrap();
    assert_ne!(check.status, 0, "{check:?}");
    assert!(check.stdout.contains("170440"), "{check:?}");
    let strict = run(name, &["cat", "--strict"]).unwrap();
    assert_eq!(strict.status, 1, "{}", strict.stderr);
}

/// A capture of these datagrams, a millisecond apart, from and to their ports.
fn capture(datagrams: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0, 0, 0xffff, 1].map(u32::to_le_bytes).concat());
    for (number, (port, payload)) in (0_u32..).zip(datagrams) {
        let len = 42 + payload.len();
        let times = [1_700_000_000, 1_000 * number];
        bytes.extend(times.map(u32::to_le_bytes).concat());
        bytes.extend([len as u32; 2].map(u32::to_le_bytes).concat());
        bytes.extend([[0xff; 6], [2, 0, 0, 0, 0, 9]].concat());
        bytes.extend([0x08, 0x00, 0x45, 0]);
        bytes.extend((len as u16 - 14).to_be_bytes());
        bytes.extend([
            0, 0, 0x40, 0, 64, 17, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255,
        ]);
        let udp_len = 8 + payload.len() as u16;
        bytes.extend([*port, *port, udp_len, 0].map(u16::to_be_bytes).concat());
        bytes.extend(payload);
    }
    bytes
}

/// A data packet of one bank of lasers at `azimuth`, with these last two bytes.
fn data(number: u32, azimuth: u32, tail: [u8; 2]) -> (u16, Vec<u8>) {
    let mut packet = vec![0; 1206];
    for (block, bytes) in (0..).zip(packet.chunks_exact_mut(100)) {
        let azimuth = ((azimuth + 20 * block) % 36_000) as u16;
        bytes[..2].copy_from_slice(&[0xff, 0xee]);
        bytes[2..4].copy_from_slice(&azimuth.to_le_bytes());
        bytes[4..7].copy_from_slice(&[0x88, 0x13, 100]);
    }
    packet[1200..1204].copy_from_slice(&(number * 1_327).to_le_bytes());
    packet[1204..].copy_from_slice(&tail);
    (2368, packet)
}

/// What `info` prints of a capture.
fn info(datagrams: &[(u16, Vec<u8>)]) -> Run {
    let folder = Folder::new();
    folder.write("x.pcap", &capture(datagrams));
    folder.run(&["info", "x.pcap"])
}

#[test]
fn packets_of_other_lidars_are_a_note() {
    let mut datagrams: Vec<_> =
        (0..60).map(|n| data(n, 240 * n, [0x37, 0x22])).collect();
    datagrams.push((7502, vec![1; 1_280]));
    datagrams.push((6699, [&[0x55, 0xaa, 0x05, 0x0a][..], &[1; 1_244]].concat()));
    let info = info(&datagrams).assert_success().stdout;
    assert!(info.contains("points: VLP-16"), "{info}");
    for note in ["(looks like Ouster)", "(looks like RoboSense)"] {
        assert!(info.contains(note), "{info}");
    }
    assert!(!info.contains("damage"), "{info}");
    for other in [
        (7503, vec![1; 48]),
        (2369, [&[0xa5, 0xff, 0, 0x5a][..], &[0; 1_202]].concat()),
    ] {
        let manufacturer = if other.0 == 7503 { "Ouster" } else { "LSLidar" };
        let text = format!("looks like {manufacturer}; only Velodyne is supported");
        self::info(&vec![other; 20]).assert_status(1, &[&text]);
    }
}

#[test]
fn unknown_product_id_is_reported() {
    for id in [0x99, 0x23 + 0x40, 0x01] {
        let datagrams: Vec<_> = (0..60).map(|n| data(n, 240 * n, [0x37, id])).collect();
        let info = info(&datagrams).assert_success().stdout;
        let text = format!("the product ID {id:#04x}");
        assert!(info.contains(&text) && info.contains("is unknown"), "{info}");
    }
    // The product ID of an LSLidar C16, in packets like those of a VLP-16.
    let datagrams: Vec<_> = (0..60).map(|n| data(n, 240 * n, [0x37, 0x10])).collect();
    info(&datagrams)
        .assert_status(1, &["looks like LSLidar; only Velodyne is supported"]);
}

#[test]
fn stopped_motor_and_impossible_rate_are_reported() {
    let still: Vec<_> = (0..60).map(|n| data(n, 9_000, [0x37, 0x22])).collect();
    let text = info(&still).assert_success().stdout;
    assert!(text.contains("the motor does not turn"), "{text}");
    // A packet every millisecond, where a VLP-16 sends one every 1.33 ms.
    assert!(text.contains("1000 packets a second come from one sender"), "{text}");
    let turning: Vec<_> = (0..60).map(|n| data(n, 240 * n, [0x37, 0x22])).collect();
    let text = info(&turning).assert_success().stdout;
    assert!(!text.contains("the motor does not turn"), "{text}");
}

#[test]
fn swapped_packets_at_the_cut_do_not_start_a_scan() {
    // Ten rotations. A packet covers 2.4 degrees, and a rotation has 150 packets.
    let mut datagrams: Vec<_> =
        (0..1_500).map(|n| data(n, 36_000 - 120 + 240 * n, [0x37, 0x22])).collect();
    let scans = |datagrams: &[(u16, Vec<u8>)]| {
        let folder = Folder::new();
        folder.write("x.pcap", &capture(datagrams));
        let cat = folder.run(&["cat", "x.pcap", "-t", "points"]);
        let rows = cat.json_lines();
        rows.iter().map(|row| row["data"]["scan"].as_u64().unwrap()).max().unwrap()
    };
    let sound = scans(&datagrams);
    for at in [150, 301, 449, 599, 600] {
        datagrams.swap(at, at + 1);
    }
    // A packet that arrives two packets later than it was sent.
    let late = datagrams.remove(899);
    datagrams.insert(901, late);
    assert_eq!(scans(&datagrams), sound);
}

#[test]
fn utc_start_of_a_log_can_be_set() {
    let start = "2024-06-01T10:00:00Z";
    let args = ["cat", "--clock", "utc", "--utc-start", start];
    let Some(cat) = run("obd_throttle.vel", &args) else { return };
    let rows = cat.assert_success().json_lines();
    assert_eq!(rows[0]["time"].as_str().unwrap()[..19], start[..19]);
    let info = run("obd_throttle.vel", &["info", "--utc-start", start]).unwrap();
    assert!(
        info.stdout.contains("2024-06-01 10:00:00.000 UTC (given UTC start"),
        "{info:?}"
    );
    // A capture has the clock of the computer, which is replaced with a warning.
    let cat = run(
        "full_vlp16.pcap",
        &[&args[..], &["-t", "velodyne_packets", "-n", "1"]].concat(),
    );
    let cat = cat
        .unwrap()
        .assert_status(0, &["warning: the log itself starts at 2023-11-14"]);
    assert_eq!(cat.json_lines()[0]["time"].as_str().unwrap()[..19], start[..19]);
    let wrong = run("obd_throttle.vel", &["info", "--utc-start", "12.5"]).unwrap();
    wrong.assert_status(2, &["a date needs a time and a zone"]);
}

#[test]
fn unrecognized_files_are_described() {
    let folder = Folder::new();
    for (name, bytes, text) in [
        ("a.db3", &b"SQLite format 3\0"[..], "looks like a SQLite database"),
        ("a.pcd", b"# .PCD v0.7\n", "looks like a PCD point cloud"),
        ("a.bag", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        ("a.mcap", b"<!DOCTYPE html>", "looks like a web page"),
        ("a.ulg", &[0; 100], "looks like a file of zeros"),
        ("a.las", b"LASF\0\0\0\0", "looks like a LAS or LAZ point cloud"),
    ] {
        folder.write(name, bytes);
        folder.run(&["info", name]).assert_status(1, &[text]);
    }
    folder.write("ros2/metadata.yaml", b"rosbag2_bagfile_information:\n  version: 5\n");
    folder.run(&["info", "ros2"]).assert_status(1, &["looks like a rosbag2 recording"]);
}
