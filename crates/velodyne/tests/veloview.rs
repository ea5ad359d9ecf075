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

    // VeloView splits frames where the azimuth of a block decreases.
    let falls = |at: &usize| points.azimuth[*at] < points.azimuth[at - 1] - 180.0;
    let start = (1..points.azimuth.len()).find(falls).unwrap();
    let worst = |axis: usize| {
        let pairs = expected.iter().zip(&points.xyz[start..]);
        pairs
            .map(|(expected_point, actual)| (expected_point[axis] - actual[axis]).abs())
            .fold(0.0, f64::max)
    };
    let worst = [worst(0), worst(1), worst(2)];
    eprintln!("from point {start}: off by at most {worst:?} m");
    assert!(worst.iter().all(|deviation| *deviation < 1e-5), "{worst:?}");
    for (expected_point, actual) in expected.iter().zip(&points.intensity[start..]) {
        assert_eq!(expected_point[3], f64::from(*actual));
    }
    let end = start + expected.len();
    assert!(points.xyz.len() >= end);
    assert!(falls(&end), "the frame ends where the azimuth falls again");
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
    let near = |start: &usize| {
        let pairs = expected.iter().zip(&points.xyz[*start..]).take(50);
        pairs.into_iter().all(|(w, h)| (0..3).all(|a| (w[a] - h[a]).abs() < 0.1))
    };
    let start = (0..=points.xyz.len() - expected.len()).find(near).unwrap();
    for (expected_point, actual) in expected.iter().zip(&points.xyz[start..]) {
        let deviations = (0..3).map(|axis| (expected_point[axis] - actual[axis]).abs());
        let deviation = deviations.fold(0.0, f64::max);
        assert!(deviation < 1e-5, "{expected_point:?} {actual:?}");
    }
    for (expected_point, actual) in expected.iter().zip(&points.intensity[start..]) {
        assert_eq!(expected_point[3], f64::from(*actual));
    }
}
