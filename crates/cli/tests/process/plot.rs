//! Plots: their contents, as far as their text states them. Their appearance was checked by
//! people.

use std::fs;

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn fields_of_any_format_are_plotted() {
    let folder = Folder::new();
    for (log, fields, texts) in [
        (
            "quad_flight.ulg",
            ["battery_status.1.voltage_v", "vehicle_attitude.q[0]"],
            // The flight is described in testdata/README.md.
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
        folder.run(&args).assert_success();
        let svg = folder.read(&out);
        for text in texts {
            assert!(svg.contains(text), "no {text:?} in {out}");
        }
    }
}

#[test]
fn points_before_and_after_all_record_times_are_plotted() {
    // Other decoders find the same number of points: see conformance/velodyne.
    for (log, field, count) in [
        ("velodyne/hdl64e_s1_atwall.bag", "/velodyne_packets/points.x", "104,661"),
        ("velodyne/puck.pcap", "points.x", "14,616"),
    ] {
        let Some(log) = sample(log) else { continue };
        let args = ["plot", &log, field, "-o", "x.svg", "-f"];
        Folder::new()
            .run(&args)
            .assert_status(0, &[&format!("1 line of {count} values")]);
    }
}

#[test]
fn date_is_that_of_the_plotted_range() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).assert_success();
    }
    // The bag begins at 10:00 on 2024-06-01; the offset shifts it to five seconds before
    // midnight.
    let late = ["--offset=1=50395", "--offset=2=50395", "-o", "late.bag", "-q"];
    folder.run(&[&["merge", "a.bag", "b.bag"][..], &late].concat()).assert_success();
    let plot = |more: &[&str]| {
        let args = ["plot", "late.bag", "/imu/data.angular_velocity.x", "-q"];
        let utc = ["--clock", "utc", "-f", "-o", "x.svg"];
        folder.run(&[&args[..], &utc, more].concat()).assert_success();
        folder.read("x.svg")
    };
    let all = plot(&[]);
    assert!(all.contains("UTC, 2024-06-01") && all.contains("\n2024-06-02\n"), "{all}");
    let next = plot(&["--start", "2024-06-02T00:00:01Z"]);
    assert!(next.contains("UTC, 2024-06-02") && !next.contains("2024-06-01"));
    let page = ["report", "late.bag", "-q", "-o", "x.html", "--clock", "utc"];
    folder
        .run(&[&page[..], &["--start", "2024-06-02T00:00:01Z"]].concat())
        .assert_success();
    // Days since 1970: the result of `date -u -d 2024-06-02 +%s`, divided by 86,400 s.
    assert!(folder.read("x.html").contains("UTC, 2024-06-02\",\"day\":19876"));
}

#[test]
fn state_is_plotted_from_its_last_record_before_the_range() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    // It is recorded twice per second, and is 17 from 3 s to 8 s.
    let args = ["plot", &log, "vehicle_status.nav_state", "-o", "x.svg"];
    let part = ["--start", "4.1", "--end", "4.2"];
    folder.run(&[&args[..], &part].concat()).assert_status(0, &["1 line of"]);
    let svg = folder.read("x.svg");
    assert!(svg.contains("\nAUTO_TAKEOFF\n"), "{svg}");
    let page = ["report", &log, "-o", "x.html", "--start", "4.1", "--end", "4.2"];
    folder.run(&page).assert_status(0, &["elements"]);
}

#[test]
fn lines_of_one_color_have_different_dashes() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let fields: Vec<String> = (8..24).map(|n| format!("/scan.ranges[{n}]")).collect();
    let mut args = vec!["plot", &bag, "-q", "-o", "x.svg"];
    args.extend(fields.iter().map(String::as_str));
    folder.run(&args).assert_success();
    let svg = folder.read("x.svg");
    // Eight lines, and their samples next to their names in the legend.
    assert_eq!(svg.matches("stroke-dasharray").count(), 16);
    assert_eq!(svg.matches("stroke-width=\"24\"").count(), 16);
}

#[test]
fn list_has_a_line_for_each_element_like_an_array() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    // testdata/README.md: 50 scans of 36 beams; beam number 7 is infinite.
    let scans = ["plot", &testdata("rover.bag"), "/scan.ranges", "-o", "scans.svg"];
    folder.run(&scans).assert_status(0, &["36 lines of 1,750 values"]);
    assert!(folder.read("scans.svg").contains("/scan.ranges[31]"));
    let plot = |log: &str, field: &str| {
        let stderr = folder.run(&["plot", log, field, "-f", "-o", "x.svg"]).stderr;
        stderr[stderr.find("svg: ").unwrap()..stderr.find(" in ").unwrap()].to_owned()
    };
    let own = plot(&flight, "sensor_combined.gyro_rad");
    assert!(own.starts_with("svg: 3 lines"), "{own}");
    for new in ["q.mcap", "q.bag"] {
        folder.run(&["convert", &flight, "-q", "-o", new]).assert_status(0, &[]);
        assert_eq!(plot(new, "/sensor_combined.gyro_rad"), own, "{new}");
    }
    // Each of several instances can be selected by its number, also the first.
    let second = plot(&flight, "battery_status.1.voltage_v");
    assert_eq!(second[..12], plot(&flight, "battery_status.0.voltage_v")[..12]);
}

#[test]
fn png_has_the_requested_size() {
    let folder = Folder::new();
    let (log, field) = (testdata("quad_flight.ulg"), "battery_status*.voltage_v");
    let size = ["--size", "640x300", "--scale", "1", "--clock", "utc"];
    let args = [&["plot", &log, field, "-o", "x.png"][..], &size].concat();
    folder.run(&args).assert_status(0, &["2 lines of 59 values"]);
    let png = fs::read(folder.path().join("x.png")).unwrap();
    // The offset of the width and the height in a PNG file.
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(png[16..24], [0, 0, 0x02, 0x80, 0, 0, 0x01, 0x2c]);
    folder.run(&args).assert_status(1, &["--force"]);
}

#[test]
fn unplottable_field_is_an_error_without_output() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let run = |field: &str, out: &str, more: &[&str]| {
        folder.run(&[&["plot", &bag, field, "-o", out][..], more].concat())
    };
    run("/imu/data.header.frame_id", "x.svg", &[])
        .assert_status(1, &["is text, not a number"]);
    run("/scan.rages[1]", "x.svg", &[])
        .assert_status(1, &["no numeric field `rages[1]`"]);
    run("/scn.ranges", "x.svg", &[]).assert_status(1, &["`/scan`"]);
    run("/imu/data", "x.svg", &[]).assert_status(
        1,
        &["`/imu/data` is a topic", "its numeric fields are header.seq, header.stamp"],
    );
    run("/scan.angle_min", "x.jpg", &[]).assert_status(2, &[".svg", ".png", ".pdf"]);
    run("/scan.angle_min", "x.svg", &["--start", "500"])
        .assert_status(0, &["no records match the selected topics and time range"]);
    run("/scan.angle_min", "x.svg", &["--size", "100x100"])
        .assert_status(1, &["too small for its plots"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn panel_has_two_axes_and_limits_and_a_track_has_the_same_scale() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let power = "battery_status.voltage_v; battery_status.current_a";
    let track = "vehicle_local_position.y; vehicle_local_position.x";
    let plot = |out: &str, more: &[&str]| {
        folder.run(&[&["plot", &log, "-f", "-o", out][..], more].concat())
    };
    let all = ["--panel", power, "--xy", track, "--title", "Power", "--limits", "0:20"];
    plot("x.svg", &all).assert_status(0, &["3 lines of"]);
    let svg = folder.read("x.svg");
    for text in
        ["Power", "battery_status.current_a (right)", "vehicle_local_position.y (m)"]
    {
        assert!(svg.contains(text), "no {text:?}");
    }
    plot("x.pdf", &all).assert_status(0, &["3 lines of"]);
    let pdf = fs::read(folder.path().join("x.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    let text = String::from_utf8_lossy(&pdf);
    // 1000 x 910 pixels: a plot, a track and the margins, in 1/72 inch.
    assert!(
        text.contains("/MediaBox [0 0 750 682.5]") && text.contains("/Title (Power)")
    );
    assert!(text.contains("/logtool.provenance"), "{text}");

    let three = format!("{power}; vehicle_local_position.x");
    plot("y.svg", &["--panel", &three])
        .assert_status(2, &["three units: `V`, `A`, `m`"]);
    plot("y.svg", &["--panel", " ;"]).assert_status(2, &["--panel needs a field"]);
    plot("y.svg", &["--xy", "vehicle_local_position.x"])
        .assert_status(2, &["needs x and y"]);
    plot("y.svg", &["--xy", "vehicle_attitude.q; vehicle_local_position.x"])
        .assert_status(2, &["`vehicle_attitude.q` is a vector"]);
    plot("y.svg", &["--panel", power, "--limits", "5:1"])
        .assert_status(2, &["--limits"]);
    let limits = ["--limits", ":", "--limits", ":", "--limits", ":9"];
    plot("y.svg", &[&["--panel", power][..], &limits].concat())
        .assert_status(2, &["1 limit more than the plot has axes"]);
    plot("y.svg", &[]).assert_status(2, &["required"]);
    assert!(!folder.path().join("y.svg").exists());
}

#[test]
fn each_scan_is_a_top_view_image() {
    let folder = Folder::new();
    let args = ["convert", &testdata("puck.pcap"), "-o", "scans", "--format", "png"];
    let look = ["--color-by", "intensity", "--reach", "30"];
    folder.run(&[&args[..], &look].concat()).assert_status(0, &["files of points"]);
    let names = folder.list("scans/points");
    let pictures = names.iter().filter(|name| name.ends_with(".png")).count();
    // Each image has a row in the table, after the header.
    let rows = folder.read("scans/points/index.csv").lines().count() - 1;
    assert!(pictures > 1 && pictures == rows, "{names:?}");
    let cloud = ["convert", &testdata("rover.bag"), "-o", "clouds", "--format", "png"];
    folder.run(&cloud).assert_status(0, &["files of points"]);
    let bag = testdata("rover.bag");
    let misused =
        ["convert", &bag, "-o", "x", "--format", "pcd", "--color-by", "range"];
    folder.run(&misused).assert_status(2, &["--format png"]);
}

#[test]
fn damage_dropouts_and_parameter_changes_are_marked() {
    let folder = Folder::new();
    // The flight and its damage are described in testdata/README.md.
    for (log, field, marks) in [
        (
            "damaged/lost_sector.ulg",
            "battery_status.voltage_v",
            &["\ndamage\n", "\ndropout\n", "\nparameter change\n", "MPC_XY_CRUISE 7"][..],
        ),
        ("damaged/lost_sector.bag", "/imu/data.angular_velocity.x", &["\ndamage\n"]),
    ] {
        let log = testdata(log);
        let plot = |more: &[&str]| {
            let args = ["plot", &log, field, "-q", "-f", "-o", "x.svg"];
            folder.run(&[&args[..], more].concat()).assert_status(3, &[]);
            folder.read("x.svg")
        };
        let (svg, without) = (plot(&[]), plot(&["--no-marks"]));
        for mark in marks {
            assert!(svg.contains(mark), "no {mark:?} in the plot of {log}");
            assert!(!without.contains(mark), "{mark:?} in the plot of {log}");
        }
        // They are after the first second.
        let start = plot(&["--end", "1"]);
        assert!(marks.iter().all(|mark| !start.contains(mark)), "{log}");
    }
}

/// Returns how often each of `texts` is a text of a plot.
fn texts<const N: usize>(svg: &str, texts: [&str; N]) -> [usize; N] {
    texts.map(|text| svg.matches(&format!(">\n{text}\n<")).count())
}

#[test]
fn states_have_names_on_each_axis() {
    let Some(log) = sample("ulog/pyulog_sample_px4_events.ulg") else { return };
    let folder = Folder::new();
    let plot = |arguments: &[&str]| {
        let first = ["plot", &log, "--no-modes", "-q", "-f", "-o", "x.svg"];
        folder.run(&[&first[..], arguments].concat()).assert_success();
        folder.read("x.svg")
    };
    // The values are those of `pyulog`, the names those of the messages of PX4 1.14: a field of a
    // nested type, an element of a list, and a field of four bytes.
    let svg = plot(&["position_setpoint_triplet.current.type"]);
    let names = ["POSITION", "LOITER", "TAKEOFF", "LAND", "IDLE"];
    assert_eq!(texts(&svg, names), [1; 5], "{svg}");
    let svg = plot(&["control_allocator_status.actuator_saturation[0]"]);
    let names = ["LOWER", "OK", "\u{2212}2"];
    assert_eq!(texts(&svg, names), [1, 1, 0], "{svg}");
    let svg = plot(&["vehicle_command.command"]);
    assert_eq!(texts(&svg, ["NAV_TAKEOFF", "1000"]), [1, 0], "{svg}");
    // An axis on the right, one with limits, and those of a plot against other values.
    let svg = plot(&["--panel", "battery_status.voltage_v; vehicle_status.nav_state"]);
    assert_eq!(texts(&svg, ["AUTO_TAKEOFF", "AUTO_RTL"]), [1, 1], "{svg}");
    let svg = plot(&["vehicle_status.nav_state", "--limits", "0:6"]);
    assert_eq!(texts(&svg, ["AUTO_TAKEOFF", "AUTO_RTL"]), [0, 1], "{svg}");
    for xy in [
        "vehicle_status.nav_state; battery_status.voltage_v",
        "battery_status.voltage_v; vehicle_status.nav_state",
    ] {
        let svg = plot(&["--xy", xy]);
        assert_eq!(texts(&svg, ["AUTO_TAKEOFF", "AUTO_RTL"]), [1, 1], "{svg}");
    }
}
