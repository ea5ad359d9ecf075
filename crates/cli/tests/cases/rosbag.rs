//! The cases of rosbag logs.

use crate::{program::Folder, samples};

/// The scans are 100 ms apart but for one interval.
#[test]
fn scan_rate_is_the_median_rate() {
    let Some(bag) = samples::sample("cases/rosbag/scan_rate.bag") else { return };
    let folder = Folder::new();
    folder.run(&["report", &bag, "-o", "x.html"]).ended(0, &["pieces"]);
    assert!(folder.read("x.html").contains(": 10.0 scans per second"));
}
