//! Tests that tracks in reports have the shape of the path.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_mcap::{Writer, WriterOptions};

use crate::{program::Folder, samples::sample};

const SECOND: i64 = 1_000_000_000;

/// An MCAP file with a circle of 100 m in the last minute of a day, on this number of topics,
/// and before it a message from a clock that was not set.
fn circles(topics: usize) -> Vec<u8> {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let (kind, definition) = ("a/Fix", b"float64 latitude\nfloat64 longitude\n");
    let fix = file.schema(kind, "ros1msg", definition).unwrap();
    let channel = |n: usize| format!("/fix{n}");
    let channels: Vec<_> = (0..topics)
        .map(|n| file.channel(&channel(n), fix, "ros1", Default::default()).unwrap())
        .collect();
    let float = file.schema("std_msgs/Float64", "ros1msg", b"float64 data\n").unwrap();
    let x = file.channel("/x", float, "ros1", Default::default()).unwrap();
    let day = 1_717_200_000;
    for seconds in [1, day, day + 43_200] {
        let time = Timestamp::from_nanos(seconds * SECOND);
        file.write(x, 0, time, time, &1.0_f64.to_le_bytes()).unwrap();
    }
    for n in 0..600_u32 {
        let turn = f64::from(n) / 599.0 * std::f64::consts::TAU;
        // A degree is 111,132 m; a degree of longitude is half of that at 60°.
        let north = 60.0 + 100.0 * turn.sin() / 111_132.0;
        let east = 11.0 + 100.0 * turn.cos() / 111_132.0 * 2.0;
        let data = [north, east].map(f64::to_le_bytes).concat();
        let time = (day + 86_340) * SECOND + i64::from(n) * SECOND / 10;
        let time = Timestamp::from_nanos(time);
        for channel in &channels {
            file.write(*channel, n, time, time, &data).unwrap();
        }
    }
    file.finish().unwrap().into_inner()
}

#[test]
fn short_track_in_a_long_log_keeps_its_shape() {
    let folder = Folder::new();
    folder.write("day.mcap", &circles(1));
    folder.run(&["report", "day.mcap", "-o", "x.html"]).assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    let (_, track) = page.split_once("<h2>Track</h2>").unwrap();
    let (track, _) = track.split_once("</section>").unwrap();
    assert!(track.contains("/fix0: 600 positions"), "{track}");
    // Only the line of the track has this width.
    let (_, line) = track.split_once("stroke-width=\"24\" points=\"").unwrap();
    let line = line.split_once('"').unwrap().0.split_whitespace();
    let number = |text: &str| text.parse::<f64>().unwrap();
    let points = line.map(|point| point.split_once(',').unwrap());
    let points: Vec<_> = points.map(|(x, y)| (number(x), number(y))).collect();
    let corner = |by: fn(f64, f64) -> f64, first: f64| {
        points.iter().fold((first, first), |(x, y), p| (by(x, p.0), by(y, p.1)))
    };
    let (low, high) = (corner(f64::min, f64::MAX), corner(f64::max, f64::MIN));
    let (wide, tall) = (high.0 - low.0, high.1 - low.1);
    assert!((wide / tall - 1.0).abs() < 0.01, "{wide} × {tall}");
    // The whole line is on the circle, also between its points.
    let middle = (low.0 + wide / 2.0, low.1 + tall / 2.0);
    for two in points.windows(2) {
        let x = (two[0].0 + two[1].0) / 2.0 - middle.0;
        let y = (two[0].1 + two[1].1) / 2.0 - middle.1;
        assert!((x.hypot(y) / (wide / 2.0) - 1.0).abs() < 0.01, "{two:?}");
    }
}

#[test]
fn omitted_tracks_are_named() {
    let folder = Folder::new();
    folder.write("many.mcap", &circles(10));
    folder
        .run(&["report", "many.mcap", "-o", "x.html"])
        .assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    assert_eq!(page.matches(": 600 positions").count(), 8);
    assert!(page.contains("not shown") && page.contains("/fix8, /fix9</p>"));
}

/// pyulog counts 926 records of
/// `vehicle_gps_position` and 92 of `sensor_gps`, each with `fix_type` 0.
#[test]
fn receiver_without_fix_is_named() {
    let Some(log) = sample("ulog/px4ulogrs_quadrotor_local.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "x.html"]);
    let page = folder.read("x.html");
    assert!(page.contains("<p>vehicle_gps_position: no GPS fix in 926 records</p>"));
    assert!(page.contains("<p>sensor_gps: no GPS fix in 92 records</p>"));
}

#[test]
fn estimate_setpoint_and_receiver_share_one_map() {
    let Some(log) = sample("ulog/px4ulogrs_esc_status_log.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "x.html"]);
    let page = folder.read("x.html");
    let (_, track) = page.split_once("<h2>Track</h2>").unwrap();
    let (track, _) = track.split_once("</section>").unwrap();
    assert_eq!(track.matches("<svg").count(), 1);
    // The counts of positions are pyulog's: rows with `xy_valid`, rows with a finite
    // setpoint, and rows of the receiver with `fix_type` >= 3.
    for caption in [
        "vehicle_local_position (estimate): 315 positions",
        "vehicle_local_position_setpoint (setpoint): 318 positions",
        "vehicle_gps_position: 179 positions",
    ] {
        assert!(track.contains(caption), "{caption}");
    }
}
