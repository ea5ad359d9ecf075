//! Pictures: what is in them, as far as their text tells. How they look, people have seen.

use std::fs;

use crate::{program::Folder, samples::testdata};

#[test]
fn fields_of_any_format_become_a_picture() {
    let folder = Folder::new();
    for (log, fields, texts) in [
        (
            "quad_flight.ulg",
            ["battery_status.1.voltage_v", "vehicle_attitude.q[0]"],
            // As testdata/README.md tells of the flight.
            ["battery_status.1.voltage_v", "AUTO_LOITER", "since the start"],
        ),
        (
            "rover.bag",
            ["/imu/data.angular_velocity", "/scan.ranges[3]"],
            ["rad/s", "/imu/data.angular_velocity.z", "since the start"],
        ),
        ("car.vel", ["gps.latitude", "obd.*"], ["gps.latitude", "°", "obd."]),
    ] {
        let out = format!("{log}.svg");
        let args = ["plot", &testdata(log), fields[0], fields[1], "-q", "-o", &out];
        folder.run(&args).succeeded();
        let svg = folder.read(&out);
        for text in texts {
            assert!(svg.contains(text), "no {text:?} in {out}");
        }
    }
}

#[test]
fn a_png_has_the_size_that_was_asked_for() {
    let folder = Folder::new();
    let (log, field) = (testdata("quad_flight.ulg"), "battery_status*.voltage_v");
    let size = ["--size", "640x300", "--scale", "1", "--time", "utc"];
    let args = [&["plot", &log, field, "-o", "x.png"][..], &size].concat();
    folder.run(&args).ended(0, &["2 lines of 59 values"]);
    let png = fs::read(folder.path().join("x.png")).unwrap();
    // Where a PNG has its width and height.
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(png[16..24], [0, 0, 0x02, 0x80, 0, 0, 0x01, 0x2c]);
    folder.run(&args).ended(1, &["--force"]);
}

#[test]
fn what_cannot_be_drawn_is_said_and_nothing_is_there() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let run = |field: &str, out: &str, more: &[&str]| {
        folder.run(&[&["plot", &bag, field, "-o", out][..], more].concat())
    };
    run("/scan.ranges", "x.svg", &[]).ended(1, &["is no number", "/scan.ranges[0]"]);
    run("/scan.rages[1]", "x.svg", &[]).ended(1, &["no number `rages[1]`"]);
    run("/scn.ranges", "x.svg", &[]).ended(1, &["`/scan`"]);
    run("/scan.angle_min", "x.jpg", &[]).ended(2, &[".svg or .png"]);
    run("/scan.angle_min", "x.svg", &["--from", "500"]).ended(1, &["at that time"]);
    run("/scan.angle_min", "x.svg", &["--size", "100x100"])
        .ended(1, &["larger picture"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn each_scan_is_a_picture_from_above() {
    let folder = Folder::new();
    let args = ["convert", &testdata("puck.pcap"), "-o", "scans", "--to", "png"];
    let look = ["--color", "intensity", "--reach", "30"];
    folder.run(&[&args[..], &look].concat()).ended(0, &["files of points"]);
    let names = folder.list("scans/points");
    let pictures = names.iter().filter(|name| name.ends_with(".png")).count();
    // A line of the table for each, below its head.
    let rows = folder.read("scans/points/index.csv").lines().count() - 1;
    assert!(pictures > 1 && pictures == rows, "{names:?}");
    let cloud = ["convert", &testdata("rover.bag"), "-o", "clouds", "--to", "png"];
    folder.run(&cloud).ended(0, &["files of points"]);
    let bag = testdata("rover.bag");
    let misused = ["convert", &bag, "-o", "x", "--to", "pcd", "--color", "range"];
    folder.run(&misused).ended(2, &["--to png"]);
}
