//! Points of real lidars equal those of VeloView.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{decode, packets, samples, sensor, unzip};
use logtool_velodyne::{
    calibration::Calibration,
    model::Model,
    points::{Axes, Formula, PointOptions},
};

#[test]
fn manual_formula_equals_a_frame_of_veloview_2016() {
    let Some(samples) = samples() else { return };
    let archive = samples.join("hdl64e_atwall_veloview_frame1.csv.zip");
    let expected = frame(&archive, "atwallFrame1New.csv");
    assert_eq!(expected.len(), 89_105);

    let packets = packets(&samples.join("hdl64e_atwallshort.pcap"));
    let sensor = sensor(&packets);
    assert_eq!(sensor.model, Model::Hdl64eS1);
    let xml =
        std::fs::read_to_string(samples.join("calib_hdl64e_opendlv_db.xml")).unwrap();
    let calibration = Calibration::from_xml(&xml, "db.xml").unwrap();
    let mut options = PointOptions::default();
    (options.formula, options.axes) = (Formula::Manual, Axes::Manual);
    let points = decode(&packets, sensor, &calibration, options);

    // VeloView splits frames where the azimuth of a block wraps.
    let azimuth_wraps =
        |row: &usize| points.azimuth[*row] < points.azimuth[row - 1] - 180.0;
    let start = (1..points.azimuth.len()).find(azimuth_wraps).unwrap();
    let max_deviation = |axis: usize| {
        let pairs = expected.iter().zip(&points.xyz[start..]);
        pairs
            .map(|(expected, actual)| (expected[axis] - actual[axis]).abs())
            .fold(0.0, f64::max)
    };
    let deviations = [max_deviation(0), max_deviation(1), max_deviation(2)];
    eprintln!("from point {start}: off by at most {deviations:?} m");
    assert!(deviations.iter().all(|deviation| *deviation < 1e-5), "{deviations:?}");
    for (expected, intensity) in expected.iter().zip(&points.intensity[start..]) {
        assert_eq!(expected[3], f64::from(*intensity));
    }
    let end = start + expected.len();
    assert!(points.xyz.len() >= end);
    assert!(azimuth_wraps(&end), "the frame ends where the azimuth wraps again");
}

/// Returns the points of a VeloView frame: x, y, z and intensity per line.
fn frame(archive: &Path, name: &str) -> Vec<Vec<f64>> {
    let csv = String::from_utf8(unzip(archive, name)).unwrap();
    let line =
        |line: &str| line.split(',').map(|v| v.trim().parse().unwrap()).collect();
    csv.lines().skip(1).map(line).collect()
}

#[test]
fn veloview_formula_equals_its_frame_of_a_vlp_16() {
    let Some(samples) = samples() else { return };
    let archive = samples.join("vlp16_opendlv_veloview_frame1.csv.zip");
    let expected = frame(&archive, "sampleVeloViewFrame1.csv");
    let packets = packets(&samples.join("vlp16_opendlv_sampleShort.pcap"));
    let sensor = sensor(&packets);
    let xml =
        std::fs::read_to_string(samples.join("calib_vlp16_lidarview.xml")).unwrap();
    let calibration = Calibration::from_xml(&xml, "VLP-16.xml").unwrap();
    let mut options = PointOptions::default();
    (options.formula, options.axes) = (Formula::VeloView, Axes::Manual);
    let points = decode(&packets, sensor, &calibration, options);
    // VeloView splits frames between blocks: its frame starts with the first block after
    // the scan start.
    let deviation = |expected: &[f64], actual: &[f64; 3]| {
        let deviations = (0..3).map(|axis| (expected[axis] - actual[axis]).abs());
        deviations.fold(0.0, f64::max)
    };
    let is_frame_start = |start: &usize| {
        let mut pairs = expected.iter().zip(&points.xyz[*start..]).take(50);
        pairs.all(|(expected, actual)| deviation(expected, actual) < 0.1)
    };
    let start = (0..=points.xyz.len() - expected.len()).find(is_frame_start).unwrap();
    for (expected, actual) in expected.iter().zip(&points.xyz[start..]) {
        assert!(deviation(expected, actual) < 1e-5, "{expected:?} {actual:?}");
    }
    for (expected, intensity) in expected.iter().zip(&points.intensity[start..]) {
        assert_eq!(expected[3], f64::from(*intensity));
    }
}
