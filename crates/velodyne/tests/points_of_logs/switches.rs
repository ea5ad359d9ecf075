//! Settings of the lidar that its packets state: the return mode and the power level.

use std::sync::Arc;

use arrow_array::{
    Array as _,
    cast::AsArray as _,
    types::{Float32Type, UInt8Type},
};
use bytes::Bytes;
use logtool_core::{Findings, Log as _, OpenOptions, conformance};
use logtool_velodyne::{
    calibration::Calibration, capture::CaptureLog, lidar::LidarOptions, model::Model,
    points::Formula,
};

use super::{common::points, sample};

#[test]
fn changing_return_modes_are_decoded_packet_by_packet() {
    let names = ["sim_hdl64e_s3_single.pcap", "sim_hdl64e_s3_dual.pcap"];
    let [Some(single), Some(dual)] = names.map(sample) else { return };
    // A file header of 24 bytes, then frames of 16 + 42 + 1206 bytes.
    let first_packets =
        |bytes: &Bytes, packets: usize| bytes.slice(..24 + packets * 1_264);
    let captures = [first_packets(&single, 4_000), first_packets(&dual, 3_000)];
    let joined = Bytes::from([&captures[0][..], &captures[1][24..]].concat());
    let open = |bytes: Bytes| {
        let mut options = LidarOptions::default();
        options.calibration = Some(Arc::new(Calibration::for_model(Model::Hdl64eS3)));
        let source = Arc::new(bytes);
        CaptureLog::open_with(source, OpenOptions::default(), &options).unwrap()
    };
    let log = open(joined);
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let change =
        findings.iter().find(|finding| finding.code.name == "lidar.returns").unwrap();
    let description = "strongest return in 4000 packets, dual return in 3000 packets";
    assert!(change.text.contains(description), "{}", change.text);
    let actual = points(&log, 1 << 20);
    let separate = captures.map(|capture| points(&open(capture), u64::MAX));
    let schema = separate[0].schema();
    let expected = arrow_select::concat::concat_batches(&schema, &separate).unwrap();
    assert_eq!(actual.num_rows(), expected.num_rows());
    for column in ["time", "x", "y", "z", "azimuth", "distance", "return_type", "laser"]
    {
        assert!(actual[column].to_data() == expected[column].to_data(), "{column}");
    }
}

/// Returns the packets of a simulated S2 with power level A8, at which it corrects
/// intensities.
fn packets_with_corrected_intensities() -> Option<Bytes> {
    let mut bytes = sample("sim_hdl64e_s2.pcap")?.to_vec();
    // The positions of the status type and the status value of each packet.
    let status_positions: Vec<usize> =
        (24..bytes.len()).step_by(1_264).map(|frame| frame + 1_262).collect();
    // The power level is the fifth value of the last cycle before the next `UNIT#`.
    let power_positions = status_positions.windows(14).filter(|positions| {
        let has_status = |packet: usize, status: &[u8; 2]| {
            bytes[positions[packet]..positions[packet] + 2] == *status
        };
        bytes[positions[0] + 1] == 0xa0
            && has_status(12, b"1U")
            && has_status(13, b"2N")
    });
    let power_positions: Vec<usize> =
        power_positions.map(|positions| positions[0] + 1).collect();
    assert!(!power_positions.is_empty());
    power_positions.iter().for_each(|position| bytes[*position] = 0xa8);
    Some(bytes.into())
}

#[test]
fn intensities_corrected_by_the_lidar_are_not_corrected_again() {
    let Some(bytes) = packets_with_corrected_intensities() else { return };
    let path = conformance::sample_path("velodyne/calib_vd_HDL-64E_S2.1-sztaki.yml");
    let text = std::fs::read_to_string(path.unwrap()).unwrap();
    let calibration = Calibration::from_yaml(&text, "sztaki").unwrap();
    for (formula, is_corrected_again) in
        [(Formula::Manual, false), (Formula::VelodyneDecoder, true)]
    {
        for calibration in [None, Some(Arc::new(calibration.clone()))] {
            let mut options = LidarOptions::default();
            (options.calibration, options.points.formula) = (calibration, formula);
            let source = Arc::new(bytes.clone());
            let log = CaptureLog::open_with(source, OpenOptions::default(), &options);
            let log = log.unwrap();
            let topic = log.manifest().topic_id("points").unwrap();
            let description =
                &log.manifest().topic(topic).unwrap().metadata["intensity"];
            let states_twice = description.contains("once more");
            assert_eq!(states_twice, is_corrected_again, "{description}");
            let points = points(&log, u64::MAX);
            let intensities = points["intensity"].as_primitive::<UInt8Type>().values();
            let calibrated =
                points["intensity_calibrated"].as_primitive::<Float32Type>();
            let mut pairs = intensities.iter().zip(calibrated.values());
            let is_unchanged =
                pairs.all(|(sent, calibrated)| f32::from(*sent) == *calibrated);
            assert_eq!(is_unchanged, !is_corrected_again);
        }
    }
}
