//! Logs of lidars as messages of ROS 1. Their values are checked in the conformance suite.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

fn records(folder: &Folder, log: &str, topic: &str) -> u64 {
    let info = folder.run(&["info", "--json", log]).succeeded().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    let topics = info["topics"].as_array().unwrap();
    let found = topics.iter().find(|of| of["name"] == topic);
    found.and_then(|of| of["records"].as_u64()).unwrap_or(0)
}

#[test]
fn a_vel_log_becomes_an_mcap_file_and_a_bag_with_a_cloud_for_each_scan() {
    let (folder, log) = (Folder::new(), testdata("car.vel"));
    folder.run(&["convert", &log, "-q", "-o", "scans", "--to", "pcd"]).succeeded();
    let scans = folder.read("scans/points/index.csv").lines().count() as u64 - 1;
    for new in ["car.mcap", "car.bag"] {
        let done = folder.run(&["convert", &log, "-o", new]);
        done.ended(0, &["left out: velodyne_packets"]);
        assert_eq!(records(&folder, new, "/points"), scans);
        assert_eq!(records(&folder, new, "/gps"), records(&folder, &log, "gps"));
    }
}
