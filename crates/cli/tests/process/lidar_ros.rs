//! Logs of lidars as messages of ROS 1, and of Foxglove's types. Their values are checked in the
//! conformance suite.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

fn records(folder: &Folder, log: &str, topic: &str) -> u64 {
    let info = folder.run(&["info", "--json", log]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    let topics = info["topics"].as_array().unwrap();
    let entry = topics.iter().find(|of| of["name"] == topic);
    entry.and_then(|of| of["records"].as_u64()).unwrap_or(0)
}

/// The times in nanoseconds of the points `topic` in `log`.
fn times(folder: &Folder, log: &str, topic: &str, more: &[&str]) -> Vec<String> {
    let convert = ["convert", log, "-q", "-t", topic, "--format", "csv", "-o", "times"];
    let columns = ["--field", "x"];
    folder.run(&[&convert[..], &columns, more].concat()).assert_success();
    let mut names = folder.list("times").into_iter();
    let name = names.find(|name| name.ends_with(".csv")).unwrap();
    let text = folder.read(&format!("times/{name}"));
    std::fs::remove_dir_all(folder.path().join("times")).unwrap();
    let times = text.lines().skip(1).map(|row| row.split(',').next().unwrap_or(""));
    times.map(str::to_owned).collect()
}

#[test]
fn cloud_has_exactly_the_points_of_the_selected_times() {
    for (log, from, to) in [("car.vel", "0.7", "0.9"), ("puck.pcap", "0.01", "0.03")] {
        let (folder, log) = (Folder::new(), testdata(log));
        // Tables have UTC only with `--clock utc`; new logs always have UTC.
        let own_clock = ["--lidar-clock", "log"];
        let relative = [&own_clock[..], &["--clock", "relative"]].concat();
        let all = times(&folder, &log, "points", &relative);
        let nanos = |text: &str| (text.parse::<f64>().unwrap() * 1e9).round() as i64;
        let cut = nanos(from)..nanos(to);
        let is_within = |time: &&String| cut.contains(&time.parse().unwrap());
        let count = all.iter().filter(is_within).count();
        assert!(count > 0 && count < all.len());
        for new in ["cut.bag", "cut.mcap"] {
            let convert = ["convert", &log, "-o", new, "--start", from, "--end", to];
            folder.run(&[&convert[..], &own_clock].concat()).assert_status(0, &[]);
            let points = times(&folder, new, "/points/points", &[]);
            assert_eq!(points.len(), count, "{new} of {log}");
        }
    }
}

#[test]
fn packets_are_converted_to_driver_scans_without_loss() {
    // The car log has five valid messages of packets, far apart in time.
    for (log, scans) in [("car.vel", 5..6), ("puck.pcap", 1..3)] {
        let (folder, log) = (Folder::new(), testdata(log));
        // Times relative to the first point, because the logs do not start with it.
        let elapsed = |times: Vec<String>| -> Vec<i64> {
            let times: Vec<i64> = times.iter().map(|t| t.parse().unwrap()).collect();
            times.iter().map(|time| time - times[0]).collect()
        };
        let points = elapsed(times(&folder, &log, "points", &[]));
        for new in ["new.bag", "new.mcap", "ros2.mcap"] {
            let convert = ["convert", &log, "-o", new, "-t", "velodyne_packets"];
            let ros2: &[&str] = if new == "ros2.mcap" { &["--ros2"] } else { &[] };
            folder.run(&[&convert[..], ros2].concat()).assert_status(0, &[]);
            let info =
                folder.run(&["info", "--json", new]).assert_success().json_lines();
            let topics = info[0]["topics"].as_array().unwrap();
            let topic = topics
                .iter()
                .find(|topic| topic["name"] == "/velodyne_packets")
                .unwrap();
            let type_name = topic["type_name"].as_str().unwrap().replace("/msg/", "/");
            assert_eq!(type_name, "velodyne_msgs/VelodyneScan");
            let records = topic["records"].as_u64().unwrap();
            assert!(scans.contains(&records), "{new} of {log}: {records}");
            let new_times = times(&folder, new, "/velodyne_packets/points", &[]);
            assert!(elapsed(new_times) == points, "{new} of {log}");
        }
    }
}

#[test]
fn vel_log_is_converted_to_mcap_and_bag_with_a_cloud_for_each_scan() {
    let (folder, log) = (Folder::new(), testdata("car.vel"));
    folder
        .run(&["convert", &log, "-q", "-o", "scans", "--format", "pcd"])
        .assert_success();
    let scans = folder.read("scans/points/index.csv").lines().count() as u64 - 1;
    for new in ["car.mcap", "car.bag"] {
        let run = folder.run(&["convert", &log, "-o", new]);
        run.assert_status(0, &["left out: velodyne_packets"]);
        assert_eq!(records(&folder, new, "/points"), scans);
        assert_eq!(records(&folder, new, "/gps"), records(&folder, &log, "gps"));
    }
}

/// Returns the rows of the table of the points in `log` without its time column, which has the
/// times of the firings or of the clouds.
fn points(folder: &Folder, log: &str, topic: &str) -> Vec<String> {
    let convert =
        ["convert", log, "-q", "-t", topic, "--format", "csv", "-o", "points"];
    let columns =
        ["x", "y", "z", "laser", "ring", "azimuth", "distance", "return_type"];
    let columns: Vec<&str> =
        columns.iter().flat_map(|name| ["--field", name]).collect();
    folder.run(&[&convert[..], &columns].concat()).assert_success();
    let mut names = folder.list("points").into_iter();
    let name = names.find(|name| name.ends_with(".csv")).unwrap();
    let text = folder.read(&format!("points/{name}"));
    std::fs::remove_dir_all(folder.path().join("points")).unwrap();
    let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let mut order: Vec<usize> = (1..names.len()).collect();
    order.sort_by_key(|at| names[*at]);
    let row = |row: Vec<&str>| {
        let row: Vec<&str> = order.iter().map(|at| row[*at]).collect();
        row.join(",")
    };
    let mut all: Vec<String> = rows.map(row).collect();
    all.sort();
    all
}

#[test]
fn points_images_and_poses_round_trip_through_foxglove_types() {
    for log in ["car.vel", "puck.pcap"] {
        let (folder, log) = (Folder::new(), testdata(log));
        let convert = ["convert", &log, "-o", "new.mcap", "--foxglove"];
        folder.run(&convert).assert_status(0, &["left out: velodyne_packets"]);
        let info = folder.run(&["info", "--json", "new.mcap"]).assert_success().stdout;
        let info: Value = serde_json::from_str(&info).unwrap();
        for topic in info["topics"].as_array().unwrap() {
            let name = topic["name"].as_str().unwrap();
            let type_name = match name {
                "/points" | "/points/points" => "foxglove.PointCloud",
                "/image/compressed" => "foxglove.CompressedImage",
                "/image" => "foxglove.RawImage",
                "/gps/fix" | "/position/fix" => "foxglove.LocationFix",
                "/tf" => "foxglove.FrameTransform",
                _ => &format!("velodyne_log.{}", &name[1..]),
            };
            assert_eq!(topic["type_name"], type_name, "{name}");
        }
        let new_points = points(&folder, "new.mcap", "/points/points");
        assert_eq!(new_points, points(&folder, &log, "points"));
        assert!(!new_points.is_empty());
        let ros = ["convert", &log, "-q", "-o", "ros.mcap"];
        folder.run(&ros).assert_status(0, &[]);
        for topic in ["/points", "/image/compressed", "/tf", "/gps", "/gps/fix"] {
            let count = |new: &str| records(&folder, new, topic);
            assert_eq!(count("new.mcap"), count("ros.mcap"), "{topic}");
        }
        folder.run(&["check", "new.mcap"]).assert_status(0, &[]);
    }
}

#[test]
fn foxglove_types_are_rejected_without_suitable_topics() {
    let folder = Folder::new();
    for log in ["quad_flight.ulg", "rover.bag"] {
        let convert = ["convert", &testdata(log), "-o", "x.mcap", "--foxglove"];
        folder
            .run(&convert)
            .assert_status(2, &["Foxglove's types are for .vel logs and captures"]);
    }
    let log = testdata("car.vel");
    for (out, more, expected) in [
        ("x.bag", "--foxglove", "--foxglove is for --format mcap"),
        ("x.mcap", "--ros2", "cannot be used with"),
    ] {
        let convert = ["convert", &log, "-o", out, "--foxglove", more];
        let convert = if more == "--foxglove" { &convert[..5] } else { &convert };
        folder.run(convert).assert_status(2, &[expected]);
    }
    folder
        .run(&["merge", &log, &log, "-o", "x.bag", "--foxglove"])
        .assert_status(2, &[]);
    assert!(!folder.path().join("x.mcap").exists());
}

#[test]
fn lidar_log_and_ulog_are_merged_as_protobuf() {
    let folder = Folder::new();
    let (ulog, vel) = (testdata("quad_flight.ulg"), testdata("car.vel"));
    let merge = ["merge", &ulog, &vel, "-o", "all.mcap", "--foxglove"];
    folder.run(&merge).assert_status(0, &["all.mcap"]);
    assert_eq!(records(&folder, "all.mcap", "/pose"), records(&folder, &vel, "pose"));
    let info = folder.run(&["info", "--json", "all.mcap"]).assert_success().stdout;
    assert!(!info.contains("ros1"), "{info}");
}
