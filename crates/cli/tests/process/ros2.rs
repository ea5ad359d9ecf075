//! Bags as MCAP files for ROS 2. That others read the same values, the conformance suite
//! shows.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// What `logtool cat` prints of a log, but for the `seq` of headers, which ROS 2 has not.
fn cat(folder: &Folder, log: &str) -> String {
    let text = folder.run(&["cat", "--json", log]).succeeded().stdout;
    let mut parts = text.split("\"seq\":");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(part.split_once(',').unwrap().1);
    }
    left
}

#[test]
fn a_bag_becomes_an_mcap_file_for_ros_2_that_reads_as_the_bag() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder
        .run(&["convert", &bag, "-o", "new.mcap", "--ros2"])
        .ended(0, &["491 records"]);
    assert_eq!(cat(&folder, "new.mcap"), cat(&folder, &bag));
    let info = folder.run(&["info", "--json", "new.mcap"]).succeeded().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros2");
    // A file of ROS 1 becomes the same.
    folder.run(&["convert", &bag, "-o", "ros1.mcap"]).ended(0, &["491 records"]);
    folder
        .run(&["convert", "ros1.mcap", "-o", "again.mcap", "--ros2"])
        .ended(0, &["491 records"]);
    assert_eq!(cat(&folder, "again.mcap"), cat(&folder, "new.mcap"));
}

#[test]
fn only_an_mcap_file_is_for_ros_2() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["convert", &bag, "-o", "x", "--ros2"]).ended(2, &["--to mcap"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn a_message_that_does_not_fit_its_definition_is_told_and_the_rest_is_there() {
    // The counts of the fields of the first cloud are beyond its end.
    let folder = Folder::new();
    folder.run(&["convert", &testdata("rover.bag"), "-o", "a.mcap"]).ended(0, &[]);
    let part = ["--topic", "/points", "--compression", "none"];
    folder
        .run(&[&["filter", "a.mcap", "-o", "b.mcap"][..], &part].concat())
        .ended(0, &[]);
    let mut bytes = std::fs::read(folder.path().join("b.mcap")).unwrap();
    let frame = b"\x05\0\0\0lidar";
    let at = bytes.windows(frame.len()).position(|some| some == frame).unwrap();
    bytes[at..at + 4].fill(0xff);
    folder.write("broken.mcap", &bytes);
    folder
        .run(&["convert", "broken.mcap", "-o", "new.mcap", "--ros2"])
        .ended(3, &["19 records", "does not fit its schema", "/points"]);
    assert_eq!(cat(&folder, "new.mcap").lines().count(), 19);
}

#[test]
fn what_filter_merge_and_repair_write_can_be_for_ros_2() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let whole = ["convert", &bag, "-o", "whole.mcap", "--ros2", "-q"];
    folder.run(&whole).succeeded();
    for command in ["filter", "repair"] {
        let new = format!("{command}.mcap");
        folder.run(&[command, &bag, "-o", &new, "--ros2", "-q"]).succeeded();
        assert_eq!(cat(&folder, &new), cat(&folder, "whole.mcap"));
        let refused = folder.run(&[command, &bag, "-o", "new.bag", "--ros2"]);
        refused.ended(2, &["--ros2 is for MCAP files"]);
    }
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).succeeded();
    }
    let merged = ["merge", "a.bag", "b.bag", "-o", "merged.mcap", "--ros2", "-q"];
    folder.run(&merged).succeeded();
    let info = folder.run(&["info", "--json", "merged.mcap"]).succeeded().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros2");
}
