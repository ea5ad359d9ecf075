//! MCAP files of bags. That others read them too, the conformance suite shows.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// What `logtool cat` prints of a log.
fn cat(folder: &Folder, log: &str, more: &[&str]) -> String {
    folder.run(&[&["cat", "--json", log], more].concat()).succeeded().stdout
}

#[test]
fn a_bag_becomes_an_mcap_file_that_reads_as_the_bag() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["convert", &bag, "-o", "new.mcap"]).ended(0, &["491 records"]);
    assert_eq!(cat(&folder, "new.mcap", &[]), cat(&folder, &bag, &[]));
    let part = ["--topic", "/gps/*", "--from", "2", "--to", "3"];
    let (new, old) = (cat(&folder, "new.mcap", &part), cat(&folder, &bag, &part));
    assert!(new == old && new.lines().count() == 5, "5 Hz for a second: {new}");
    folder.run(&["convert", "new.mcap", "-o", "back.bag"]).ended(0, &["491 records"]);
    assert_eq!(cat(&folder, "back.bag", &[]), cat(&folder, &bag, &[]));
    let info = folder.run(&["info", "--json", "new.mcap"]).succeeded().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["metadata"]["profile"], "ros1");
    assert_eq!(info["metadata"]["indexed"], true);
    assert_eq!(info["records"], 491);
}

#[test]
fn bags_are_cut_merged_and_repaired_into_mcap_files() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let gps = ["--topic", "/gps/fix", "--compression", "lz4"];
    folder
        .run(&[&["filter", &bag, "-o", "gps.mcap"][..], &gps].concat())
        .ended(0, &["50 records"]);
    let imu = ["--topic", "/imu/data", "--compression", "none"];
    folder
        .run(&[&["filter", &bag, "-o", "imu.mcap"][..], &imu].concat())
        .ended(0, &["250 records"]);
    folder
        .run(&["merge", "gps.mcap", "imu.mcap", "-o", "both.mcap"])
        .ended(0, &["300 records"]);
    let want =
        cat(&folder, &bag, &["--order", "time", "-t", "/imu/data", "-t", "/gps/fix"]);
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&cat(&folder, "both.mcap", &[])), sorted(&want));

    // Without the end: what is there is written into a whole one.
    let whole = std::fs::read(folder.path().join("imu.mcap")).unwrap();
    folder.write("cut.mcap", &whole[..whole.len() / 2]);
    folder.run(&["repair", "cut.mcap", "-o", "mended.mcap"]).ended(3, &["records"]);
    let mended = cat(&folder, "mended.mcap", &[]);
    assert!(cat(&folder, "imu.mcap", &[]).starts_with(&mended) && mended.len() > 1_000);
}

#[test]
fn what_cannot_become_an_mcap_file_is_said_and_nothing_is_there() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder.run(&["convert", &log, "-o", "p.mcap", "-q"]).succeeded();
    folder
        .run(&["convert", "p.mcap", "-o", "new.bag"])
        .ended(1, &["protobuf", "ROS 1"]);
    let bag = testdata("rover.bag");
    folder.run(&["convert", &bag, "-o", "x.mcap", "--flat"]).ended(2, &["no columns"]);
    folder
        .run(&["convert", &bag, &log, "-o", "x.mcap"])
        .ended(2, &["several logs in one file", "merge"]);
    assert_eq!(folder.list("."), ["p.mcap"]);
}
