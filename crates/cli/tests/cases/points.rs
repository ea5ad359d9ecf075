//! The cases of points: their attributes in LAS, LAZ, KITTI, PLY and PCD files, and the clouds of
//! several message types.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

/// A LAS file, read after its specification (LAS 1.2, tables 1, 2, 6 and 8).
struct Las {
    point_format: u8,
    records: Vec<Vec<u8>>,
    /// The position and the type of each attribute in extra bytes (LAS 1.4 R15, 2.7.4).
    extra: BTreeMap<String, (usize, u8)>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Las {
    fn read(path: &Path) -> Self {
        let file = fs::read(path).unwrap();
        assert_eq!(&file[..4], b"LASF");
        let (start, format) = (u32_at(&file, 96), file[104]);
        let record_len = u16_at(&file, 105) as usize;
        let records = file[start..].chunks_exact(record_len).map(<[u8]>::to_vec);
        let records: Vec<Vec<u8>> = records.collect();
        assert_eq!(records.len(), u32_at(&file, 107));
        let (mut extra, mut at) = (BTreeMap::new(), u16_at(&file, 94) as usize);
        for _ in 0..u32_at(&file, 100) {
            let (record, len) =
                (u16_at(&file, at + 18), u16_at(&file, at + 20) as usize);
            let data = &file[at + 54..at + 54 + len];
            at += 54 + len;
            if record != 4 {
                continue;
            }
            let mut position = if format == 3 { 34 } else { 28 };
            for attribute in data.chunks_exact(192) {
                let name = str::from_utf8(&attribute[4..36]).unwrap();
                let name = name.trim_end_matches('\0').to_owned();
                extra.insert(name, (position, attribute[2]));
                position += [0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8][attribute[2] as usize];
            }
            assert_eq!(position, record_len);
        }
        Self { point_format: format, records, extra }
    }

    fn positions(&self) -> Vec<[f64; 3]> {
        let axis =
            |record: &[u8], at| f64::from(u32_at(record, at) as u32 as i32) / 1e4;
        self.records.iter().map(|r| [0, 4, 8].map(|at| axis(r, at))).collect()
    }

    fn intensities(&self) -> Vec<u16> {
        self.records.iter().map(|record| u16_at(record, 12)).collect()
    }

    fn gps_times(&self) -> Vec<f64> {
        self.records.iter().map(|record| f64_at(record, 20)).collect()
    }

    fn colors(&self) -> Vec<[u16; 3]> {
        assert_eq!(self.point_format, 3);
        self.records.iter().map(|r| [28, 30, 32].map(|at| u16_at(r, at))).collect()
    }

    /// The values of an attribute in extra bytes.
    fn extra(&self, name: &str) -> Vec<f64> {
        let Some((at, kind)) = self.extra.get(name) else {
            panic!("no {name} in {:?}", self.extra.keys())
        };
        let value = |record: &Vec<u8>| match kind {
            1 => f64::from(record[*at]),
            3 => f64::from(u16_at(record, *at)),
            5 => u32_at(record, *at) as f64,
            8 => i64::from_le_bytes(record[*at..*at + 8].try_into().unwrap()) as f64,
            9 => f64::from(f32::from_bits(u32_at(record, *at) as u32)),
            10 => f64_at(record, *at),
            kind => panic!("{name} has the type {kind}"),
        };
        self.records.iter().map(value).collect()
    }
}

/// Converts a log to LAS, and returns the file of each topic by its name without `_points`, and
/// the standard error.
fn las(log: &str, more: &[&str]) -> (BTreeMap<String, Las>, String) {
    let folder = Folder::new();
    let args = ["convert", log, "-o", "o", "--format", "las"];
    let run = folder.run(&[&args[..], more].concat());
    assert_eq!(run.status, 0, "{run:?}");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder.path().join("o")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "las") {
            files.insert(stem.trim_end_matches("_points").to_owned(), Las::read(&path));
        }
    }
    (files, run.stderr)
}

/// The only file of a log as LAS, and the messages.
fn only_las(log: &str, more: &[&str]) -> (Las, String) {
    let (files, stderr) = las(log, more);
    assert_eq!(files.len(), 1);
    (files.into_values().next().unwrap(), stderr)
}

#[test]
fn float_intensities_of_a_byte_are_scaled_like_bytes() {
    let Some(bag) = sample("cases/rosbag/cloud_float_intensity_0_255.bag") else {
        return;
    };
    let (las, stderr) = only_las(&bag, &[]);
    let expected = [0, 257, 514, 9_252, 25_700, 46_774, 65_278, 65_535];
    assert_eq!(las.intensities(), expected);
    assert!(stderr.contains("the intensity 255 of "), "{stderr}");
    // The extra bytes have the values of the source.
    let source = expected.map(|value| f64::from(value) / 257.0);
    assert_eq!(las.extra("intensity_"), source);
    let (las, _) = only_las(&bag, &["--intensity-max", "65535"]);
    assert_eq!(las.intensities(), expected.map(|value| value / 257));
}

#[test]
fn intensities_that_cannot_be_stored_are_counted() {
    let name = "cases/rosbag/cloud_float_intensity_negative_nan.bag";
    let Some(bag) = sample(name) else { return };
    let (las, stderr) = only_las(&bag, &[]);
    // -2.136, 0, 0.5, 255, 3300, 65535, 1e9 and NaN.
    assert_eq!(las.intensities(), [0, 0, 1, 255, 3_300, 65_535, 65_535, 0]);
    let words = "3 intensities changed because the format cannot store them";
    assert!(stderr.contains(words), "{stderr}");
    let source = las.extra("intensity_");
    assert_eq!((source[4], source[6]), (3_300.0, 1e9));
}

#[test]
fn intensities_above_a_byte_stay_in_proportion() {
    let Some(bag) = sample("cases/rosbag/intensities.bag") else { return };
    let (files, _) = las(&bag, &[]);
    assert_eq!(files["f32"].intensities(), [0, 0, 1, 41, 100, 255, 256, 3_000]);
}

#[test]
fn points_of_a_translated_capture_have_the_same_intensities() {
    let folder = Folder::new();
    let puck = testdata("puck.pcap");
    folder.run(&["convert", &puck, "-o", "p.mcap"]).assert_status(0, &[]);
    let mcap = folder.path().join("p.mcap").to_str().unwrap().to_owned();
    // The messages have the times of the lidar, whose clock is UTC.
    let (ours, _) = only_las(&puck, &["--clock", "utc"]);
    let (translated, _) = only_las(&mcap, &[]);
    assert_eq!(ours.records.len(), translated.records.len());
    let sum = |las: &Las| las.intensities().into_iter().map(u64::from).sum::<u64>();
    assert_eq!(sum(&ours), sum(&translated));
    let times = ours.gps_times();
    let deviation = times.iter().zip(translated.gps_times());
    let deviation = deviation.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(deviation < 2e-7, "{deviation}");
    for name in ["azimuth", "distance", "scan", "return_type", "intensity_calibrated"] {
        assert!(ours.extra.contains_key(name), "{name} in {:?}", ours.extra.keys());
    }
}

#[test]
fn colours_of_clouds_are_colours_of_las_and_ply() {
    let Some(bag) = sample("cases/rosbag/coloured_clouds.bag") else { return };
    let (files, _) = las(&bag, &[]);
    for name in ["rgb", "rgba"] {
        let colors = files[name].colors();
        assert_eq!(colors[0], [0x1111, 0x2222, 0x3333], "{name}");
    }
    let folder = Folder::new();
    let args = ["convert", &bag, "-o", "o", "--format", "ply", "--encoding", "ascii"];
    folder.run(&[&args[..], &["--per", "log"]].concat()).assert_status(0, &[]);
    for (name, alpha) in [("rgb", None), ("rgba", Some("128"))] {
        let ply = folder.read(&format!("o/{name}_points.ply"));
        let (header, rows) = ply.split_once("end_header\n").unwrap();
        let properties: Vec<&str> =
            header.lines().filter_map(|l| l.strip_prefix("property ")).collect();
        let row: Vec<&str> = rows.lines().next().unwrap().split(' ').collect();
        let value = |property: &str| {
            let index = properties.iter().position(|found| *found == property);
            index.map(|index| row[index])
        };
        let channels = ["uchar red", "uchar green", "uchar blue"].map(value);
        assert_eq!(channels, [Some("17"), Some("34"), Some("51")], "{header}");
        assert_eq!(value("uchar alpha"), alpha, "{header}");
    }
}

#[test]
fn each_point_of_a_cloud_has_its_own_time() {
    let Some(bag) = sample("cases/rosbag/cloud_point_times.bag") else { return };
    let (files, _) = las(&bag, &[]);
    for name in ["ouster", "velodyne", "hesai"] {
        let (times, stamps) = (files[name].gps_times(), files[name].extra("stamp"));
        let nanos = |time: f64| (time + 1e9 + 315_964_800.0 - 18.0) * 1e9;
        let offsets: Vec<f64> = times
            .iter()
            .zip(stamps)
            .map(|(time, stamp)| nanos(*time) - stamp)
            .collect();
        for (offset, expected) in offsets.iter().zip([0.0, 25e6, 50e6, 75e6]) {
            assert!((offset - expected).abs() < 600.0, "{name}: {offsets:?}");
        }
    }
    assert!(files["ouster"].extra.contains_key("reflectivity"));
    // PCL's types: the fields have the names and the types that they have in the cloud.
    let folder = Folder::new();
    let args = ["convert", &bag, "-o", "o", "--format", "pcd", "--per", "log"];
    folder.run(&args).assert_status(0, &[]);
    let pcd = fs::read(folder.path().join("o/velodyne_points.pcd")).unwrap();
    let pcd = String::from_utf8_lossy(&pcd).into_owned();
    let line = |start: &str| -> Vec<String> {
        let line = pcd.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        line.split(' ').map(str::to_owned).collect()
    };
    let (names, sizes, types) = (line("FIELDS "), line("SIZE "), line("TYPE "));
    let kind = |name: &str| {
        let index = names.iter().position(|found| found == name)?;
        Some(format!("{}{}", types[index], sizes[index]))
    };
    assert_eq!(kind("time").as_deref(), Some("F4"), "{pcd}");
}

#[test]
fn capture_has_the_point_types_of_pcl() {
    let folder = Folder::new();
    let args = ["convert", &testdata("puck.pcap"), "-o", "o", "--format", "pcd"];
    folder.run(&[&args[..], &["--per", "log"]].concat()).assert_status(0, &[]);
    let pcd = fs::read(folder.path().join("o/points.pcd")).unwrap();
    let pcd = String::from_utf8_lossy(&pcd[..4_000]).into_owned();
    let start =
        "FIELDS x y z time timestamp intensity intensity_calibrated laser ring ";
    assert!(pcd.contains(start), "{pcd}");
    assert!(pcd.contains("\nSIZE 4 4 4 4 8 4 "), "{pcd}");
    assert!(pcd.contains("\nTYPE F F F F I F "), "{pcd}");
}

#[test]
fn organised_cloud_without_a_row_step_is_read() {
    let Some(bag) = sample("cases/rosbag/cloud_row_step_0.bag") else { return };
    let folder = Folder::new();
    let args = ["convert", &bag, "-o", "o", "-t", "*points*", "--format", "csv"];
    folder.run(&args).assert_status(0, &[]);
    let files: Vec<_> = fs::read_dir(folder.path().join("o")).unwrap().collect();
    let path = files.into_iter().map(|file| file.unwrap().path());
    let path = path.into_iter().find(|p| p.extension().is_some_and(|e| e == "csv"));
    let csv = fs::read_to_string(path.unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
}

#[test]
fn pose_of_a_cloud_is_applied() {
    let Some(log) = sample("cases/mcap/foxglove_cloud_with_pose.mcap") else { return };
    let folder = Folder::new();
    let lines = folder.run(&["cat", "--json", &log, "--topic", "/pc/points"]);
    let lines = lines.assert_success().json_lines();
    let position =
        |line: &Value| ["x", "y", "z"].map(|axis| line["data"][axis].as_f64().unwrap());
    let positions: Vec<[f64; 3]> = lines.iter().map(position).collect();
    let expected = [[1.0, 2.0, 3.0], [1.0, 3.0, 3.0], [1.0, 4.0, 3.5]];
    assert_eq!(positions, expected);
    let (las, _) = only_las(&log, &[]);
    assert_eq!(las.positions(), expected);
}

#[test]
fn plain_laz_is_not_named_copc() {
    let folder = Folder::new();
    let puck = testdata("puck.pcap");
    let run = folder.run(&["convert", &puck, "-o", "x.copc.laz"]);
    run.assert_status(2, &["COPC is not written", ".laz"]);
    assert!(folder.list("").is_empty());
}

/// Formats of points do not read options of others.
#[test]
fn greatest_intensity_is_for_formats_that_scale() {
    let puck = testdata("puck.pcap");
    let args =
        ["convert", &puck, "-o", "o", "--format", "pcd", "--intensity-max", "255"];
    Folder::new().run(&args).assert_status(2, &["--intensity-max is for"]);
}
