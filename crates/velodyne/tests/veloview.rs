//! The points of a real HDL-64E, as VeloView of 2016 wrote them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{decode, packets, samples, sensor, unzip};
use logtool_velodyne::{
    calibration::Calibration,
    model::Model,
    points::{Axes, Formula, PointOptions},
};

#[test]
fn the_manual_formula_gives_veloviews_frame_point_by_point() {
    let Some(samples) = samples() else { return };
    let csv = unzip(
        &samples.join("hdl64e_atwall_veloview_frame1.csv.zip"),
        "atwallFrame1New.csv",
    );
    let csv = String::from_utf8(csv).unwrap();
    let expected: Vec<Vec<f64>> = csv
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',').map(|value| value.trim().parse().unwrap()).collect()
        })
        .collect();
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

    // VeloView cuts where the azimuth of a block falls.
    let falls = |at: &usize| points.azimuth[*at] < points.azimuth[at - 1] - 180.0;
    let start = (1..points.azimuth.len()).find(falls).unwrap();
    let worst = |axis: usize| {
        let pairs = expected.iter().zip(&points.xyz[start..]);
        pairs.map(|(want, have)| (want[axis] - have[axis]).abs()).fold(0.0, f64::max)
    };
    let worst = [worst(0), worst(1), worst(2)];
    eprintln!("from point {start}: off by at most {worst:?} m");
    assert!(worst.iter().all(|off| *off < 1e-5), "{worst:?}");
    for (want, have) in expected.iter().zip(&points.intensity[start..]) {
        assert_eq!(want[3], f64::from(*have));
    }
    let end = start + expected.len();
    assert!(points.xyz.len() >= end);
    assert!(falls(&end), "the frame ends where the azimuth falls again");
}
