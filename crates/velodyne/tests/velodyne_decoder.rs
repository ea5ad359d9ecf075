//! Points of real and simulated captures equal those of velodyne_decoder 3.
//!
//! The first packets of each capture are compared point by point, and the number of
//! points for the whole capture. The times of velodyne_decoder count from the start of a
//! packet, even if the timestamp is that of the end. It assumes 57.6 us for each cycle of
//! an HDL-64E S3, even with single return, which takes 48 us: for that, only the number
//! of points is compared.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use Model::*;
use ReturnMode::*;
use common::{Payload, decode, floats, ints, packets, samples, sensor};
use logtool_velodyne::{
    calibration::{Calibration, StatusStream},
    model::{Model, ReturnMode, Sensor},
    packet::Firings,
    points::{Formula, PointOptions},
};

/// The name in `expected/`, capture, calibration (default if empty), model, return mode,
/// number of points, and the microseconds to add to the expected times.
type Case = (&'static str, &'static str, &'static str, Model, ReturnMode, usize, f64);

const CASES: &[Case] = &[
    (
        "hdl64e_s1_atwall",
        "hdl64e_atwallshort.pcap",
        "calib_hdl64e_opendlv_db.yml",
        Hdl64eS1,
        Strongest,
        104_661,
        0.0,
    ),
    (
        "sim_hdl64e_s2",
        "sim_hdl64e_s2.pcap",
        "calib_vd_HDL-64E_S2.1-sztaki.yml",
        Hdl64eS2,
        Strongest,
        1_655_921,
        -288.0,
    ),
    (
        "sim_hdl64e_s2_instream",
        "sim_hdl64e_s2.pcap",
        "stream",
        Hdl64eS2,
        Strongest,
        1_655_921,
        -288.0,
    ),
    (
        "sim_hdl64e_s3_dual_instream",
        "sim_hdl64e_s3_dual.pcap",
        "stream",
        Hdl64eS3,
        Dual,
        952_307,
        -172.8,
    ),
    ("hdl32e_mrpt", "hdl32e_mrpt_sample.pcap", "", Hdl32e, Strongest, 146_705, 0.0),
    (
        "hdl32e_opendlv",
        "hdl32e_opendlv_sampleShort.pcap",
        "",
        Hdl32e,
        Strongest,
        173_104,
        0.0,
    ),
    (
        "hdl32e_rustlidarutils",
        "hdl32e_rustlidarutils_example.pcap",
        "",
        Hdl32e,
        Strongest,
        252_057,
        0.0,
    ),
    (
        "hdl32e_veloview_monterey",
        "veloview_monterey-first-100-packets.pcap",
        "",
        Hdl32e,
        Strongest,
        872_800,
        0.0,
    ),
    (
        "hdl32e_labelled_vlp32c",
        "vlp32c_rustlidarutils.pcap",
        "",
        Hdl32e,
        Strongest,
        30_596,
        0.0,
    ),
    ("vlp16_mrpt", "vlp16_mrpt_gps_sample.pcap", "", Vlp16, Strongest, 73_486, 0.0),
    (
        "vlp16_opendlv",
        "vlp16_opendlv_sampleShort.pcap",
        "",
        Vlp16,
        Strongest,
        87_529,
        0.0,
    ),
    (
        "vlp16_rlu_idpatched",
        "vlp16_rustlidarutils.pcap",
        "",
        Vlp16,
        Strongest,
        19_579,
        0.0,
    ),
    (
        "vlp16_rlu_old",
        "vlp16_rustlidarutils_example_old.pcap",
        "",
        Vlp16,
        Strongest,
        31_630,
        0.0,
    ),
    (
        "vlp16_veloview_90deg_idpatched",
        "vlp16_veloview_test-90deg-1-50-frames.pcap",
        "",
        Vlp16,
        Strongest,
        700_400,
        0.0,
    ),
    ("vlp16_nebula_dual", "vlp16_nebula.pcap", "", Vlp16, Dual, 59_414, 0.0),
    ("vlp32c_nebula", "vlp32c_nebula.pcap", "", Vlp32c, Strongest, 131_305, 0.0),
    ("vls128_nebula", "vls128_nebula.pcap", "", Vls128, Strongest, 764_149, -1.7),
];

fn calibration(
    samples: &Path,
    name: &str,
    sensor: Sensor,
    packets: &[Payload],
) -> Calibration {
    match name {
        "" => Calibration::for_model(sensor.model),
        "stream" => {
            let mut stream = StatusStream::new(sensor.packet_nanos() / 1e3);
            for (_, payload) in packets {
                let tail = Firings::new(payload).unwrap().tail();
                stream.add(tail.micros, tail.status_type, tail.status_value);
            }
            stream.calibration().unwrap()
        }
        _ => {
            let text = std::fs::read_to_string(samples.join(name)).unwrap();
            Calibration::from_yaml(&text, name).unwrap()
        }
    }
}

/// The compared values of a point.
struct Point {
    packet: usize,
    /// The nanoseconds after the time of its packet.
    nanos: f64,
    ring: u8,
    return_type: u8,
    xyz: [f64; 3],
    intensity: f64,
}

impl Point {
    /// Returns the values that have to be equal.
    fn id(&self) -> (usize, u8, u8) {
        (self.packet, self.ring, self.return_type)
    }
}

/// Sorts points by packet, time in steps of 100 ns, ring and return type.
fn sorted(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by_key(|point| {
        let time = (point.nanos / 100.0).round() as i64;
        (point.packet, time, point.ring, point.return_type)
    });
    points
}

#[test]
fn points_equal_those_of_velodyne_decoder() {
    let Some(samples) = samples() else { return };
    let mut failures = vec![];
    for (name, capture, file, model, returns, count, added_micros) in CASES {
        if !samples.join(capture).is_file() {
            eprintln!("{name}: no {capture}; not checked");
            continue;
        }
        let packets = packets(&samples.join(capture));
        let sensor = sensor(&packets);
        assert_eq!(sensor, Sensor { model: *model, returns: *returns }, "{name}");
        let calibration = calibration(&samples, file, sensor, &packets);
        let mut options = PointOptions::default();
        options.formula = Formula::VelodyneDecoder;
        let all = decode(&packets, sensor, &calibration, options);
        if all.time.len() != *count {
            failures.push(format!("{name}: {} points, not {count}", all.time.len()));
        }

        let path = samples.join("expected").join(format!("{name}.packets.npz"));
        if !path.is_file() {
            eprintln!("{name}: only counted");
            continue;
        }
        let expected: Vec<Point> = floats(&path, "pts")
            .iter()
            .zip(ints(&path, "pkt"))
            .map(|(columns, packet)| Point {
                packet: packet as usize,
                nanos: f64::from(columns[4]) * 1e9 + added_micros * 1e3,
                ring: columns[6] as u8,
                return_type: columns[7] as u8,
                xyz: [columns[0], columns[1], columns[2]].map(f64::from),
                intensity: f64::from(columns[3]),
            })
            .collect();
        let packet_count = expected.last().unwrap().packet + 1;
        // One packet per second, so that the packet of each point is unambiguous.
        let spread: Vec<Payload> = packets[..packet_count]
            .iter()
            .enumerate()
            .map(|(at, (_, bytes))| (at as i64 * 1_000_000_000, bytes.clone()))
            .collect();
        let points = decode(&spread, sensor, &calibration, options);
        let actual: Vec<Point> = (0..points.time.len())
            .map(|row| {
                let packet = (points.time[row] + 500_000_000) / 1_000_000_000;
                Point {
                    packet: packet as usize,
                    nanos: (points.time[row] - packet * 1_000_000_000) as f64,
                    ring: points.ring[row],
                    return_type: points.return_type[row],
                    xyz: points.xyz[row],
                    intensity: points.calibrated[row],
                }
            })
            .collect();
        let (expected, actual) = (sorted(expected), sorted(actual));
        if expected.len() != actual.len() {
            failures.push(format!(
                "{name}: {} of {} points",
                actual.len(),
                expected.len()
            ));
            continue;
        }
        let (mut distance, mut nanos, mut intensity) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut other_ids = 0;
        for (expected, actual) in expected.iter().zip(&actual) {
            other_ids += usize::from(expected.id() != actual.id());
            nanos = nanos.max((expected.nanos - actual.nanos).abs());
            intensity = intensity.max((expected.intensity - actual.intensity).abs());
            for (expected, actual) in expected.xyz.iter().zip(actual.xyz) {
                distance = distance.max((expected - actual).abs());
            }
        }
        let deviations = format!(
            "{name}: {distance:.6} m, {nanos:.0} ns, intensity {intensity:.3}, \
             {other_ids} with another packet, ring or return type"
        );
        eprintln!("{deviations}");
        if distance > 1e-3 || nanos > 1_000.0 || intensity > 0.05 || other_ids > 0 {
            failures.push(deviations);
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn number_of_points_of_an_s3_with_single_return_is_equal() {
    let Some(samples) = samples() else { return };
    let packets = packets(&samples.join("sim_hdl64e_s3_single.pcap"));
    let sensor = sensor(&packets);
    assert_eq!(sensor, Sensor { model: Hdl64eS3, returns: Strongest });
    let calibration = calibration(&samples, "stream", sensor, &packets);
    let points = decode(&packets, sensor, &calibration, PointOptions::default());
    assert_eq!(points.time.len(), 1_655_921);
}
