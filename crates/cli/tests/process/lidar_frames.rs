//! Bags and MCAP files with the messages of several lidars on one topic, which differ in the frame
//! id of their headers.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_rosbag::{ConnectionHeader, Writer, WriterOptions};
use serde_json::Value;

use crate::program::Folder;

/// The definition of `velodyne_msgs/VelodyneScan`.
const DEFINITION: &str = "Header header\nVelodynePacket[] packets\n================\n\
    MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n================\n\
    MSG: velodyne_msgs/VelodynePacket\ntime stamp\nuint8[1206] data\n";

/// The number of returns in a packet.
const RETURNS: usize = 384;

/// A packet of a VLP-16 (user manual, 9.3.1), all of whose returns are this many metres away.
fn packet(metres: u16, micros: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    for block in 0..12_u16 {
        packet.extend([0xff, 0xee]);
        packet.extend((block * 40).to_le_bytes());
        for _ in 0..32 {
            packet.extend((metres * 500).to_le_bytes()); // in units of 2 mm
            packet.push(7);
        }
    }
    packet.extend(micros.to_le_bytes());
    packet.extend([0x37, 0x22]); // the strongest return, a VLP-16
    packet
}

/// A message of `packets` packets with the distance `metres`, at `millis` after second 1000.
fn scan(frame_id: &str, metres: u16, millis: u32, packets: u32) -> Vec<u8> {
    let stamp = |millis: u32| {
        let nanos = millis % 1000 * 1_000_000;
        [(1000 + millis / 1000).to_le_bytes(), nanos.to_le_bytes()].concat()
    };
    let mut message = vec![0; 4];
    message.extend(stamp(millis));
    message.extend((frame_id.len() as u32).to_le_bytes());
    message.extend(frame_id.as_bytes());
    message.extend(packets.to_le_bytes());
    for _ in 0..packets {
        message.extend(stamp(millis));
        message.extend(packet(metres, millis * 1000));
    }
    message
}

/// A bag of messages of one topic: for each the frame id, the distance in metres, and the number of
/// packets. A message follows every 10 ms.
fn bag(scans: &[(&str, u16, u32)]) -> Vec<u8> {
    let header =
        ConnectionHeader::new("/velodyne", "velodyne_msgs/VelodyneScan", DEFINITION);
    let mut bag =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let lidar = bag.connect(&header).unwrap();
    for (millis, (frame_id, metres, packets)) in (0..).step_by(10).zip(scans) {
        let time = 1_000_000_000_000 + i64::from(millis) * 1_000_000;
        let message = scan(frame_id, *metres, millis, *packets);
        bag.write(lidar, Timestamp::from_nanos(time), &message).unwrap();
    }
    bag.finish().unwrap().into_inner()
}

/// Writes `bag` to `two.bag`, and as messages of ROS 1 and ROS 2 to MCAP files. Returns the names.
fn write_all(folder: &Folder, bag: &[u8]) -> [&'static str; 3] {
    folder.write("two.bag", bag);
    folder.run(&["convert", "two.bag", "-q", "-o", "two.mcap"]).assert_success();
    let ros2 = ["convert", "two.bag", "-q", "-o", "ros2.mcap", "--ros2"];
    folder.run(&ros2).assert_success();
    ["two.bag", "two.mcap", "ros2.mcap"]
}

/// Returns the distances of the points of `topic` in metres, without repetitions, and their number.
fn distances(
    folder: &Folder,
    log: &str,
    topic: &str,
    more: &[&str],
) -> (Vec<String>, usize) {
    let convert = ["convert", log, "-q", "-t", topic, "-o", "out.csv"];
    let columns = ["--field", "distance", "--force"];
    folder.run(&[&convert[..], &columns, more].concat());
    let text = folder.read("out.csv");
    let distances = text.lines().skip(1).map(|row| row.split(',').nth(1).unwrap());
    let count = distances.clone().count();
    let mut distances: Vec<String> = distances.map(str::to_owned).collect();
    distances.sort();
    distances.dedup();
    (distances, count)
}

fn topics(folder: &Folder, log: &str) -> Vec<Value> {
    let info = folder.run(&["info", "--json", log]).json_lines().remove(0);
    info["topics"].as_array().unwrap().clone()
}

/// Returns the labels of the topics of points in `log`.
fn points_of(folder: &Folder, log: &str) -> Vec<String> {
    let topics = topics(folder, log).into_iter();
    let labels = topics.map(|topic| topic["topic"].as_str().unwrap().to_owned());
    labels.filter(|label| label.contains("/points")).collect()
}

#[test]
fn messages_with_two_frame_ids_are_those_of_two_lidars() {
    let folder = Folder::new();
    // A leading slash does not matter.
    let scans = [
        ("front", 1, 3),
        ("rear", 2, 2),
        ("/front", 1, 3),
        ("/rear", 2, 2),
        ("rear", 2, 2),
        ("front", 1, 3),
    ];
    for log in write_all(&folder, &bag(&scans)) {
        let labels = ["/velodyne/points", "/velodyne/points.1"];
        assert_eq!(points_of(&folder, log), labels, "{log}");
        let all = topics(&folder, log);
        for (topic, frame_id) in [
            ("/velodyne/packets", "front"),
            ("/velodyne/packets.1", "rear"),
            ("/velodyne/points", "front"),
            ("/velodyne/points.1", "rear"),
        ] {
            let topic = all.iter().find(|of| of["topic"] == topic).unwrap();
            assert_eq!(topic["metadata"]["frame_id"], frame_id, "{log} {topic}");
        }
        for (number, metres, packets) in [(0, "1", 9), (1, "2", 6)] {
            let topic = &format!("/velodyne/points.{number}");
            let (distances, count) = distances(&folder, log, topic, &[]);
            assert_eq!(distances.len(), 1, "{log} {topic}: {distances:?}");
            assert!(distances[0].starts_with(metres), "{log} {topic}: {distances:?}");
            assert_eq!(count, packets * RETURNS, "{log} {topic}");
        }
        folder.run(&["check", log]).assert_status(0, &[]);
    }
}

#[test]
fn packets_of_two_frame_ids_have_two_senders_and_do_not_fit_in_one_vel_log() {
    let folder = Folder::new();
    let scans = [("front", 1, 3), ("rear", 2, 2), ("front", 1, 3)];
    for log in write_all(&folder, &bag(&scans)) {
        folder
            .run(&["convert", log, "-q", "-o", "two.pcap", "--force"])
            .assert_success();
        let (front, count) = distances(&folder, "two.pcap", "points.0", &[]);
        assert_eq!((front.len(), count), (1, 6 * RETURNS), "{log}");
        let (rear, count) = distances(&folder, "two.pcap", "points.1", &[]);
        assert_eq!((rear.len(), count), (1, 2 * RETURNS), "{log}");
        assert_ne!(front, rear, "{log}");

        let convert = ["convert", log, "-q", "-o", "two.vel"];
        folder.run(&convert).assert_status(1, &["select one of them"]);
        let select = [&convert[..], &["-t", "/velodyne/packets.1"]].concat();
        folder.run(&select).assert_success();
        let (rear_only, count) = distances(&folder, "two.vel", "points", &[]);
        assert_eq!((rear_only, count), (rear, 2 * RETURNS), "{log}");
        std::fs::remove_file(folder.path().join("two.vel")).unwrap();
    }
}

#[test]
fn single_message_with_another_frame_id_is_damaged() {
    let folder = Folder::new();
    let mut scans = vec![("front", 1, 2); 20];
    scans[7] = ("frobt", 1, 2);
    for log in write_all(&folder, &bag(&scans)) {
        assert_eq!(points_of(&folder, log), ["/velodyne/points"], "{log}");
        let (_, count) = distances(&folder, log, "/velodyne/points", &[]);
        assert_eq!(count, 19 * 2 * RETURNS, "{log}");
        let info = folder.run(&["info", log]).assert_status(0, &[]).stdout;
        assert!(info.contains("one message has the frame id \"frobt\""), "{info}");
        let check = folder.run(&["check", log]).assert_status(3, &[]).stdout;
        for word in ["damage.unknown_topic", "2 records", "frobt"] {
            assert!(check.contains(word), "{word}: {check}");
        }
        // The selected times have no damaged message.
        let convert = ["convert", log, "-q", "-t", "/velodyne/points", "-o", "out.csv"];
        let times = ["--end", "0.06", "--force"];
        folder.run(&[&convert[..], &times].concat()).assert_status(0, &[]);
        let convert = ["convert", log, "-t", "/velodyne/points", "-o", "out.csv"];
        folder.run(&[&convert[..], &["--force"]].concat()).assert_status(3, &["frobt"]);
    }
}

#[test]
fn first_message_with_a_damaged_frame_id_has_no_lidar() {
    let folder = Folder::new();
    let mut scans = vec![("front", 1, 2); 12];
    scans[0].0 = "";
    folder.write("first.bag", &bag(&scans));
    assert_eq!(points_of(&folder, "first.bag"), ["/velodyne/points"]);
    let (_, count) = distances(&folder, "first.bag", "/velodyne/points", &[]);
    assert_eq!(count, 11 * 2 * RETURNS);
}

#[test]
fn frame_id_that_appears_late_is_reported_where_it_is_read() {
    let folder = Folder::new();
    // More packets than are inspected when the log is opened: 6 × 4160.
    let mut scans = vec![("front", 1, 500); 52];
    scans.push(("rear", 2, 300));
    folder.write("late.bag", &bag(&scans));
    assert_eq!(points_of(&folder, "late.bag"), ["/velodyne/points"]);
    let run = folder.run(&["convert", "late.bag", "-o", "late.pcap"]);
    run.assert_status(3, &["300", "rear"]);
    let topics = topics(&folder, "late.pcap");
    let packets = topics.iter().find(|topic| topic["topic"] == "velodyne_packets");
    assert_eq!(packets.unwrap()["records"], 52 * 500);
}
