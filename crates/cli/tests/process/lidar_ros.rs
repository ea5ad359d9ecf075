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

/// The times in nanoseconds of the points `topic` in `log`.
fn times(folder: &Folder, log: &str, topic: &str, more: &[&str]) -> Vec<String> {
    let convert = ["convert", log, "-q", "-t", topic, "--to", "csv", "-o", "times"];
    let columns = ["--field", "x"];
    folder.run(&[&convert[..], &columns, more].concat()).succeeded();
    let mut names = folder.list("times").into_iter();
    let name = names.find(|name| name.ends_with(".csv")).unwrap();
    let text = folder.read(&format!("times/{name}"));
    std::fs::remove_dir_all(folder.path().join("times")).unwrap();
    let times = text.lines().skip(1).map(|row| row.split(',').next().unwrap_or(""));
    times.map(str::to_owned).collect()
}

#[test]
fn a_cloud_has_the_points_of_the_times_that_are_wanted_and_no_others() {
    for (log, from, to) in [("car.vel", "0.7", "0.9"), ("puck.pcap", "0.01", "0.03")] {
        let (folder, log) = (Folder::new(), testdata(log));
        let relative = ["--time", "relative"];
        let all = times(&folder, &log, "points", &relative);
        let nanos = |text: &str| (text.parse::<f64>().unwrap() * 1e9).round() as i64;
        let cut = nanos(from)..nanos(to);
        let is_within = |time: &&String| cut.contains(&time.parse().unwrap());
        let wanted = all.iter().filter(is_within).count();
        assert!(wanted > 0 && wanted < all.len());
        for new in ["cut.bag", "cut.mcap"] {
            let convert = ["convert", &log, "-o", new, "--from", from, "--to", to];
            folder.run(&[&convert[..], &relative].concat()).ended(0, &[]);
            let points = times(&folder, new, "/points/points", &[]);
            assert_eq!(points.len(), wanted, "{new} of {log}");
        }
    }
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
