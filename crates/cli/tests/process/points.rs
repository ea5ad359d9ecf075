//! Points of lidars as files, and calibrations, compared with results of other programs for the
//! same packets.

use std::fs;

use crate::{program::Folder, samples::sample};

/// A capture of a real HDL-64E S1, and the calibration that was loaded into VeloView with it.
const CAPTURE: &str = "velodyne/hdl64e_atwallshort.pcap";
const CALIBRATION: &str = "velodyne/calib_hdl64e_opendlv_db.xml";

/// The number of points that velodyne_decoder finds in the capture (expected/index.json).
const POINTS: usize = 104_661;

/// The first points of the frame that VeloView wrote (hdl64e_atwall_veloview_frame1.csv.zip): x to
/// the right, y ahead, z up, and the intensity.
const VELOVIEW: [[f64; 4]; 2] = [
    [1.248214244842529, 13.42398262023926, -1.529424905776978, 22.0],
    [0.8516161441801979, 14.21269702911377, -1.541462779045105, 28.0],
];

/// Converts the capture into the folder `out`, and returns the folder that contains `out`.
fn convert(args: &[&str]) -> Option<Folder> {
    let (capture, calibration) = (sample(CAPTURE)?, sample(CALIBRATION)?);
    let folder = Folder::new();
    let start = ["convert", &capture, "-q", "-o", "out", "--calibration", &calibration];
    // The last packet of the file is truncated.
    folder.run(&[&start[..], args].concat()).assert_status(3, &[]);
    Some(folder)
}

/// Returns the floats of a KITTI file, four for each point.
fn kitti(folder: &Folder, name: &str) -> Vec<[f32; 4]> {
    let bytes = fs::read(folder.path().join(name)).unwrap();
    let (points, rest) = bytes.as_chunks::<16>();
    assert!(rest.is_empty());
    let float = |point: &[u8; 16], at: usize| {
        f32::from_le_bytes(point[4 * at..4 * at + 4].try_into().unwrap())
    };
    points.iter().map(|point| [0, 1, 2, 3].map(|at| float(point, at))).collect()
}

/// Returns whether two consecutive points are close to the two `expected` points.
fn has_point_pair(points: &[[f32; 4]], expected: [[f64; 4]; 2]) -> bool {
    let is_near = |point: &[f32; 4], expected: [f64; 4]| {
        let deviations =
            (0..3).map(|axis| (f64::from(point[axis]) - expected[axis]).abs());
        deviations.fold(0.0, f64::max) < 1e-5
            && (f64::from(point[3]) * 255.0 - expected[3]).abs() < 1e-3
    };
    points
        .windows(2)
        .any(|two| is_near(&two[0], expected[0]) && is_near(&two[1], expected[1]))
}

#[test]
fn kitti_files_have_the_points_of_veloview_in_either_axes() {
    let args = ["--format", "kitti", "--per", "log"];
    let Some(folder) = convert(&[&args[..], &["--axes", "manual"]].concat()) else {
        return;
    };
    let points = kitti(&folder, "out/points.bin");
    assert_eq!(points.len(), POINTS);
    assert!(has_point_pair(&points, VELOVIEW));
    let expected = VELOVIEW.map(|[x, y, z, intensity]| [y, -x, z, intensity]);
    let points = kitti(&convert(&args).unwrap(), "out/points.bin");
    assert!(has_point_pair(&points, expected));
    // The ROS formula rotates the offsets of a laser with it, so no point is where VeloView
    // has it.
    let ros = convert(&[&args[..], &["--formula", "ros"]].concat()).unwrap();
    let points = kitti(&ros, "out/points.bin");
    assert_eq!(points.len(), POINTS);
    assert!(!has_point_pair(&points, expected));
}

#[test]
fn each_format_has_the_reference_number_of_points() {
    for (to, name) in [("pcd", "points.pcd"), ("ply", "points.ply")] {
        let Some(folder) = convert(&["--format", to, "--per", "log"]) else { return };
        let file = fs::read(folder.path().join("out").join(name)).unwrap();
        let head = String::from_utf8_lossy(&file[..2_000]).into_owned();
        let count = match to {
            "pcd" => format!("\nPOINTS {POINTS}\n"),
            _ => format!("\nelement vertex {POINTS}\n"),
        };
        assert!(head.contains(&count), "{head}");
        assert!(head.contains("formula: manual"), "{head}");
    }
    for (to, name) in [("las", "points.las"), ("laz", "points.laz")] {
        let folder = convert(&["--format", to]).unwrap();
        let file = fs::read(folder.path().join("out").join(name)).unwrap();
        // LAS 1.2, table 1: the number of point records.
        assert_eq!(file[107..111], (POINTS as u32).to_le_bytes(), "{name}");
    }
}

#[test]
fn partial_scans_at_a_cut_are_flagged() {
    // The lidar passes the cut angle twice, at the start and at the end of VeloView's frame,
    // so the scans before and after the frame are partial.
    let Some(folder) = convert(&["--format", "pcd"]) else { return };
    let index = folder.read("out/points/index.csv");
    let rows: Vec<Vec<&str>> =
        index.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["time", "end", "scan", "points", "file", "partial"]);
    let partial: Vec<&str> = rows[1..].iter().map(|row| row[5]).collect();
    assert_eq!(partial, ["true", "false", "true"], "{index}");
    let counts = rows[1..].iter().map(|row| row[3].parse::<usize>().unwrap());
    assert_eq!(counts.sum::<usize>(), POINTS);
    // A complete scan is also partial if only a part of it is selected.
    let some =
        ["--clock", "relative", "--start", "0.02", "--end", "0.1", "--format", "pcd"];
    let folder = convert(&some).unwrap();
    let index = folder.read("out/points/index.csv");
    assert!(index.lines().skip(1).all(|row| row.ends_with(",true")), "{index}");
}

/// The numbers between `<tag>` and `</tag>`.
fn numbers(xml: &str, tag: &str) -> Vec<f64> {
    let tag = format!("<{tag}>");
    let rest = xml.split(&*tag).skip(1);
    rest.map(|rest| rest.split('<').next().unwrap().trim().parse().unwrap()).collect()
}

#[test]
fn calibration_round_trips_through_xml_and_yaml() {
    let (Some(capture), Some(truth)) = (
        sample("velodyne/sim_hdl64e_s2.pcap"),
        sample("velodyne/calib_hdl64e_s2.1_sztaki.xml"),
    ) else {
        return;
    };
    let folder = Folder::new();
    for (from, to) in
        [(&*capture, "db.xml"), ("db.xml", "db.yaml"), ("db.yaml", "back.xml")]
    {
        let run = folder.run(&["calibration", from, "-o", to]);
        assert_eq!(run.status, 0, "{run:?}");
    }
    let truth = fs::read_to_string(truth).unwrap();
    // The lidar sends hundredths of a degree and millimetres; the files have degrees and
    // centimetres.
    for (tag, step) in
        [("vertCorrection_", 0.01), ("rotCorrection_", 0.01), ("distCorrection_", 0.1)]
    {
        let expected = numbers(&truth, tag);
        assert_eq!(expected.len(), 64);
        for file in ["db.xml", "back.xml"] {
            let actual = numbers(&folder.read(file), tag);
            let deviations = expected.iter().zip(&actual).map(|(w, h)| (w - h).abs());
            assert!(
                deviations.fold(0.0, f64::max) < step * 0.51,
                "{file}, {tag}: {actual:?}"
            );
            assert_eq!(actual.len(), 64);
        }
    }
    let second_run = folder.run(&["calibration", &capture, "-o", "db.xml"]);
    second_run.assert_status(1, &["--force"]);
}

#[test]
fn calibration_with_a_wrong_number_of_lasers_is_rejected() {
    // A calibration of 16 lasers in a file with 64 entries, one in a file with 16 entries,
    // and one of 128 lasers.
    let others = [
        "calib_vlp16_lidarview.xml",
        "calib_vlp16_nebula.yaml",
        "calib_vls128_nebula.yaml",
    ];
    for (name, lasers) in others.iter().zip(["16", "16", "128"]) {
        let (Some(capture), Some(other)) =
            (sample(CAPTURE), sample(&format!("velodyne/{name}")))
        else {
            return;
        };
        let folder = Folder::new();
        let words =
            [&*format!("calibration has {lasers} lasers"), "64 (HDL-64E S1)", name];
        let args = [
            "convert",
            &capture,
            "-o",
            "out",
            "--format",
            "pcd",
            "--calibration",
            &other,
        ];
        folder.run(&args).assert_status(1, &words);
        assert!(folder.list("").is_empty());
        let args = ["cat", &capture, "-t", "points", "--calibration", &other];
        folder.run(&args).assert_status(1, &words);
    }
}
