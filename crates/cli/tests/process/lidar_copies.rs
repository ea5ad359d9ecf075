//! Logs of lidars: filtered, copied, checked, and converted.

use std::fs;

use crate::{
    cells::bag_of_packets,
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn filtered_vel_log_is_a_vel_log() {
    let folder = Folder::new();
    let car = testdata("car.vel");
    let args = ["filter", &car, "-q", "-o", "gps.vel", "--topic", "gps"];
    folder.run(&args).assert_success();
    let cat =
        |log: &str| folder.run(&["cat", log, "--topic", "gps"]).assert_success().stdout;
    assert!(!cat("gps.vel").is_empty());
    assert_eq!(cat("gps.vel"), cat(&car));
    let cut = testdata("damaged/cut.vel");
    folder.run(&["repair", &cut, "-q", "-o", "sound.vel"]).assert_status(3, &[]);
    folder.run(&["info", "sound.vel"]).assert_success();
}

#[test]
fn capture_can_be_filtered_repaired_and_merged() {
    let folder = Folder::new();
    let puck = testdata("puck.pcap");
    let cat = |log: &str, topic: &str| {
        folder.run(&["cat", log, "--topic", topic]).assert_success().stdout
    };
    for topic in ["position", "velodyne_packets"] {
        let args = ["filter", &puck, "-q", "-o", "new.pcap", "-f", "--topic", topic];
        folder.run(&args).assert_status(0, &["left out: 1 frame of other protocols"]);
        assert!(cat("new.pcap", topic) == cat(&puck, topic), "{topic}");
        if topic == "position" {
            folder
                .run(&["filter", "new.pcap", "-q", "-o", "position.pcap"])
                .assert_success();
        }
    }
    folder
        .run(&["repair", &puck, "-q", "-o", "sound.pcap"])
        .assert_status(0, &["left out"]);
    assert!(cat("sound.pcap", "points") == cat(&puck, "points"));
    folder
        .run(&["merge", "new.pcap", "position.pcap", "-q", "-o", "two.pcap"])
        .assert_success();
    for topic in ["position", "velodyne_packets"] {
        assert!(cat("two.pcap", topic) == cat(&puck, topic), "{topic}");
    }
    // Equal packets of two logs are both kept, because they may be different packets.
    let args = ["merge", "new.pcap", "sound.pcap", "-q", "-o", "twice.pcap"];
    folder.run(&args).assert_success();
    let count = |log: &str| cat(log, "velodyne_packets").lines().count();
    assert_eq!(count("twice.pcap"), 2 * count(&puck));
    let args = ["filter", &puck, "-o", "new.pcapng"];
    folder.run(&args).assert_status(2, &["captures are written as pcap"]);
}

#[test]
fn vel_log_is_converted_to_a_capture_after_a_note_about_dropped_topics() {
    let folder = Folder::new();
    let car = testdata("car.vel");
    let stderr =
        folder.run(&["convert", &car, "-o", "car.pcap"]).assert_status(0, &[]).stderr;
    let (left, output_at) =
        (stderr.find("left out: gps, "), stderr.find(" → car.pcap"));
    assert!(left.is_some() && left < output_at, "{stderr}");
    let points = |log: &str| {
        let args = ["cat", log, "--topic", "points", "--clock", "relative"];
        folder.run(&args).assert_status(0, &["no calibration of this lidar"]).stdout
    };
    let coordinates = |text: String| -> Vec<String> {
        let data = text.lines().filter_map(|line| line.split_once("data").map(|l| l.1));
        data.map(str::to_owned).collect()
    };
    let expected = coordinates(points(&car));
    assert!(!expected.is_empty());
    assert_eq!(coordinates(points("car.pcap")), expected);
    folder.run(&["convert", "car.pcap", "-q", "-o", "again.vel"]).assert_success();
    assert_eq!(coordinates(points("again.vel")), expected);
    // Two logs of one program, and of two.
    folder.run(&["merge", &car, &car, "-q", "-o", "two.vel"]).assert_success();
}

#[test]
fn points_without_a_known_calibration_are_noted() {
    const NOTICE: &str = "points: no calibration of this lidar is known";
    // A real HDL-64E S1, which does not send its calibration.
    let Some(db) = sample("velodyne/calib_hdl64e_opendlv_db.xml") else { return };
    for name in
        ["sample_real_s1.vel", "hdl64e_atwallshort.pcap", "hdl64e_s1_atwall.bag"]
    {
        let Some(log) = sample(&format!("velodyne/{name}")) else { continue };
        let folder = Folder::new();
        for (to, times) in [("pcd", 1), ("csv", 1), ("gpx", 0)] {
            let out = if to == "gpx" { "out.gpx" } else { to };
            let run = folder.run(&["convert", &log, "-o", out, "--format", to]);
            assert_eq!(run.stderr.matches(NOTICE).count(), times, "{run:?}");
        }
        let cat = |more: &[&str]| {
            let args = ["cat", &log, "-n", "1", "-t"];
            folder.run(&[&args[..], more].concat()).stderr
        };
        let stderr = cat(&["*points"]);
        assert!(
            stderr.contains(NOTICE) && stderr.contains("--calibration"),
            "{stderr}"
        );
        for silent in [
            &["*packets"][..],
            &["*points", "--quiet"],
            &["*points", "--calibration", &db],
        ] {
            let stderr = cat(silent);
            assert!(!stderr.contains(NOTICE), "{silent:?}: {stderr}");
        }
    }
}

#[test]
fn packets_of_a_bag_are_converted_to_a_capture_and_dropped_topics_are_reported() {
    // Generated: 10 scans of 76 packets.
    let name = "rosbag/synthetic-velodynescan-compressedimage.bag";
    let Some(bag) = sample(name) else { return };
    let folder = Folder::new();
    let run = folder.run(&["convert", &bag, "-o", "scans.pcap"]);
    run.assert_status(0, &["a capture has only packets", "scans.pcap: 760 records"]);
    let args = ["convert", &bag, "-q", "--topic", "/velodyne_packets/packets"];
    let packets = folder.run(&[&args[..], &["--format", "csv", "-o", "-"]].concat());
    let packets = packets.assert_success().stdout;
    // A header of 24 bytes, then frames of 16 + 42 + 1206: by the format of pcap.
    let capture = fs::read(folder.path().join("scans.pcap")).unwrap();
    let mut frames = capture[24..].chunks(1_264);
    for packet in packets.lines().skip(1) {
        let frame = frames.next().unwrap();
        let word =
            |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap());
        let payload: String = frame[58..].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(packet, format!("{}{:09},{payload}", word(0), word(4)));
    }
    assert_eq!((frames.len(), packets.lines().count()), (0, 1 + 760));
}

#[test]
fn bag_and_capture_of_the_same_packets_give_the_same_vel_log() {
    // MANIFEST.tsv: the bag was converted from the capture by other means.
    let logs = ["velodyne/hdl64e_s1_atwall.bag", "velodyne/hdl64e_atwallshort.pcap"];
    let [Some(bag), Some(capture)] = logs.map(sample) else { return };
    let folder = Folder::new();
    let packets = |log: &str, name: &str| -> Vec<(i64, String)> {
        let out = format!("{name}.vel");
        folder.run(&["convert", log, "-q", "-o", &out]); // one is cut in a packet
        let args = ["convert", &out, "-q", "-o", name, "--format", "jsonl", "--clock"];
        let topic = ["relative", "--topic", "velodyne_packets"];
        folder.run(&[&args[..], &topic].concat());
        let table = folder.path().join(name).join("velodyne_packets_0.jsonl");
        let text = fs::read_to_string(table).unwrap();
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["time"].as_i64().unwrap(), row["data"].to_string())
        };
        text.lines().map(row).collect()
    };
    let (bag, capture) = (packets(&bag, "bag"), packets(&capture, "capture"));
    assert_eq!((bag.len(), &bag), (306, &capture)); // as MANIFEST.tsv says
}

/// Returns car.vel with one message marked as not valid: the first message of `kind`, the
/// number of its type in the file.
fn invalid(kind: [u8; 4]) -> Vec<u8> {
    let mut bytes = fs::read(testdata("car.vel")).unwrap();
    let head = [&[0x49][..], &kind].concat();
    let at = bytes.windows(5).position(|window| window == head).unwrap();
    bytes[at] = 0;
    bytes
}

#[test]
fn messages_dropped_as_invalid_are_reported() {
    let folder = Folder::new();
    // VelodyneRawDataM.
    folder.write("packets.vel", &invalid([0x2b, 0x11, 0x03, 0]));
    let args = ["convert", "packets.vel", "-o", "out", "--topic", "points"];
    let expected =
        "points: made without 1 message of packets that are not marked valid";
    folder.run(&args).assert_status(0, &[expected]);
    // One of the 21 messages of `RobotPoseM` is not valid; all of `GPSTDataM` are.
    let args = ["plot", &testdata("car.vel"), "pose.q0", "-o", "q0.svg"];
    folder
        .run(&args)
        .assert_status(0, &["pose: records that are not marked valid are dropped"]);
    let args = ["plot", &testdata("car.vel"), "gps.speed", "-o", "speed.svg"];
    let stderr = folder.run(&args).assert_status(0, &[]).stderr;
    assert!(!stderr.contains("left out"), "{stderr}");
    folder
        .run(&["convert", &testdata("car.vel"), "-o", "new.bag", "-q"])
        .assert_status(0, &[]);
    let run = folder.run(&["info", "new.bag", "--json"]).assert_success();
    let topics = run.json_lines()[0]["topics"].as_array().unwrap().clone();
    let records = |name: &str| {
        topics.iter().find(|topic| topic["name"] == name).unwrap()["records"].clone()
    };
    assert_eq!((records("/tf"), records("/pose")), (20.into(), 21.into()));
}

#[test]
fn check_decodes_points_of_packets() {
    let folder = Folder::new();
    let mut bytes = fs::read(testdata("puck.pcap")).unwrap();
    // The first data block of a complete packet: a flag, followed by eleven more blocks with
    // flags.
    let is_flag = |at: usize| bytes[at..at + 2] == [0xff, 0xee];
    let first =
        (0..bytes.len() - 1_200).find(|at| (0..12).all(|n| is_flag(at + n * 100)));
    let first = first.unwrap();
    // The flag of lasers 32 to 63, which a VLP-16 does not have.
    bytes[first + 500..first + 502].copy_from_slice(&[0xff, 0xdd]);
    folder.write("odd.pcap", &bytes);
    folder.run(&["check", "odd.pcap"]).assert_status(3, &[]);
    let stdout = folder.run(&["check", "odd.pcap"]).stdout;
    assert!(stdout.contains("damage.undecodable"), "{stdout}");
    assert!(stdout.contains("points"), "{stdout}");
}

#[test]
fn log_without_packets_is_a_single_error() {
    let folder = Folder::new();
    for (out, expected) in [
        (
            "x.vel",
            "cannot write this ulog log as a .vel log: it has no packets of lidars",
        ),
        (
            "x.pcap",
            "cannot write this ulog log as a capture: it has no packets of lidars",
        ),
    ] {
        let run = folder.run(&["convert", &testdata("quad_flight.ulg"), "-o", out]);
        let run = run.assert_status(1, &[expected]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
    // A frame of 1248 bytes in a pcap file, with 100 captured bytes. They begin with
    // the headers of Ethernet, IPv4 and UDP, and the flag of a firing.
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 100, 1].map(u32::to_le_bytes);
    let frame = [1_u32, 0, 100, 1248].map(u32::to_le_bytes);
    let mut bytes = [0_u8; 100];
    bytes[12..20].copy_from_slice(b"\x08\x00\x45\x00\x04\xd2\x00\x00");
    bytes[22..24].copy_from_slice(&[64, 17]);
    bytes[34..40].copy_from_slice(b"\x09\x40\x09\x40\x04\xbe");
    bytes[42..44].copy_from_slice(b"\xff\xee");
    let capture = [head.as_flattened(), frame.as_flattened(), &bytes].concat();
    folder.write("cut.pcap", &capture);
    let expected =
        "pcap log as a .vel log: 1 frame is truncated by the snapshot length, and lost";
    folder.run(&["convert", "cut.pcap", "-o", "x.vel"]).assert_status(1, &[expected]);
    assert_eq!(folder.list("."), ["cut.pcap"]);
}

#[test]
fn derived_points_in_a_bag_are_rejected_as_messages() {
    let folder = Folder::new();
    folder.write("a.bag", &bag_of_packets());
    let points = ["convert", "a.bag", "-o", "b.mcap", "-t", "/lidar/points"];
    folder
        .run(&points)
        .assert_status(1, &["no topic `/lidar/points`", "are not messages"]);
}

#[test]
fn packets_without_times_are_rejected_as_messages() {
    let Some(capture) = sample("velodyne/pcap_variants/simplepackets.pcapng") else {
        return;
    };
    let folder = Folder::new();
    let message =
        "velodyne_packets has packets without a time, but a log needs one for each";
    for more in [&["new.mcap"][..], &["new.mcap", "--foxglove"], &["new.bag"]] {
        folder
            .run(&[&["convert", &capture, "-o"], more].concat())
            .assert_status(1, &[message]);
    }
    assert!(folder.list(".").is_empty());
}
