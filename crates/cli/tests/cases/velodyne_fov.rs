//! Lidars with a blanked sector, and calibrations that contradict the packets.

use crate::{program::Folder, samples::sample};

const CAPTURES: [(&str, &str, u32); 3] = [
    ("fov45_315_points_turned_7deg", "45 to 315 deg", 2),
    ("fov90_270_sensor_stamped_scans_merged", "90 to 270 deg", 4),
    ("real_vlp32c_fov290_70_scans", "290 to 70 deg", 3),
];

fn capture(name: &str) -> Option<String> {
    sample(&format!("cases/velodyne/{name}.pcap"))
}

#[test]
fn field_of_view_is_reported_without_lost_packets() {
    for (name, field, _) in CAPTURES {
        let Some(path) = capture(name) else { return };
        let folder = Folder::new();
        let info = folder.run(&["info", &path]);
        assert!(info.stdout.contains(&format!("field of view {field}")), "{info:?}");
        let check = folder.run(&["check", &path]);
        assert_eq!(check.status, 0, "{check:?}");
        assert!(!check.stdout.contains("packets.lost"), "{check:?}");
    }
}

/// The field of view is found in packets of any container.
#[test]
fn logs_and_bags_have_the_same_field_of_view_and_scans() {
    for (name, field, scans) in CAPTURES {
        let Some(path) = capture(name) else { return };
        let folder = Folder::new();
        for copy in ["copy.vel", "copy.bag"] {
            let args = ["convert", &path, "-o", copy, "--topic", "velodyne_packets"];
            let run = folder.run(&args);
            assert_eq!(run.status, 0, "{run:?}");
            let info = folder.run(&["info", copy]);
            assert!(
                info.stdout.contains(&format!("field of view {field}")),
                "{info:?}"
            );
            let check = folder.run(&["check", copy]);
            assert!(!check.stdout.contains("packets.lost"), "{check:?}");
            let csv = format!("{copy}.csv");
            let topic = if copy == "copy.vel" { "points" } else { "**/points" };
            let run = folder.run(&["convert", copy, "-t", topic, "-o", &csv]);
            assert_eq!(run.status, 0, "{run:?}");
            let text = folder.read(&csv);
            let last = text.lines().last().unwrap().rsplit(',').next().unwrap();
            assert_eq!(last.parse::<u32>().unwrap() + 1, scans, "{name}: {copy}");
        }
    }
}

/// Returns the azimuth, x, y, the time in nanoseconds and the scan of each point in a capture.
fn points(path: &str) -> Vec<(f64, f64, f64, f64, u32)> {
    let folder = Folder::new();
    let out =
        folder.run(&["convert", path, "-t", "points", "--format", "csv", "-o", "out"]);
    assert_eq!(out.status, 0, "{out:?}");
    let mut files = std::fs::read_dir(folder.path().join("out")).unwrap();
    let csv = files.find_map(|file| {
        let path = file.unwrap().path();
        path.extension().is_some_and(|end| end == "csv").then_some(path)
    });
    let text = std::fs::read_to_string(csv.unwrap()).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let [azimuth, x, y, scan] = ["azimuth", "x", "y", "scan"].map(column);
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        let time = number(0);
        (number(azimuth), number(x), number(y), time, number(scan) as u32)
    });
    rows.collect()
}

#[test]
fn points_are_not_rotated_and_scans_end_in_the_blanked_sector() {
    for (name, _, scans) in CAPTURES {
        let Some(path) = capture(name) else { return };
        let points = points(&path);
        let last = points.iter().map(|(.., scan)| *scan).max().unwrap();
        assert_eq!(last + 1, scans, "{name}");
        for (azimuth, x, y, ..) in &points {
            // Some lasers of a VLP-32C have an azimuth offset of 4.2 degrees.
            let side = if name.contains("vlp32c") { 4.3 } else { 0.1 };
            let deviation = (-y).atan2(*x).to_degrees() - azimuth;
            let deviation = (deviation + 180.0).rem_euclid(360.0) - 180.0;
            assert!(deviation.abs() < side, "{name}: {azimuth} {x} {y}");
        }
        // The time follows the azimuth at 10 Hz; a real host is up to 3 ms late.
        let (first, .., start, _) = points[0];
        for (azimuth, .., time, scan) in &points {
            let seconds = (time - start) / 1e9;
            let nearest = (azimuth - first).rem_euclid(360.0) / 3_600.0;
            let deviation = (seconds - nearest + 0.05).rem_euclid(0.1) - 0.05;
            assert!(
                deviation.abs() < 0.01,
                "{name}: {azimuth} in scan {scan}: {deviation} s"
            );
        }
    }
}

#[test]
fn impossible_distance_resolution_is_replaced() {
    let calibration = sample("cases/velodyne/ros_VLS128.yaml");
    let Some((path, calibration)) = capture("vls128_12packets").zip(calibration) else {
        return;
    };
    let folder = Folder::new();
    let args = ["convert", &path, "-t", "points", "--format", "csv", "-o", "out"];
    let run = folder.run(&[&args[..], &["--calibration", &calibration]].concat());
    assert_eq!(run.status, 0, "{run:?}");
    let expected =
        "declares a distance resolution of 0.007 m; that of a VLS-128 is 0.004 m";
    assert!(run.stderr.contains(expected), "{run:?}");
}
