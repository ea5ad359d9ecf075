//! Settings of the lidar in its packets: return mode and power level.

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
    // A header of 24 bytes, then frames of 16 + 42 + 1206.
    let head = |bytes: &Bytes, packets: usize| bytes.slice(..24 + packets * 1_264);
    let parts = [head(&single, 4_000), head(&dual, 3_000)];
    let both_parts = Bytes::from([&parts[0][..], &parts[1][24..]].concat());
    let open = |bytes: Bytes| {
        let mut options = LidarOptions::default();
        options.calibration = Some(Arc::new(Calibration::for_model(Model::Hdl64eS3)));
        let source = Arc::new(bytes);
        CaptureLog::open_with(source, OpenOptions::default(), &options).unwrap()
    };
    let log = open(both_parts);
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let change =
        findings.iter().find(|finding| finding.code.name == "lidar.returns").unwrap();
    let description = "strongest return in 4000 packets, dual return in 3000 packets";
    assert!(change.text.contains(description), "{}", change.text);
    let actual = points(&log, 1 << 20);
    let parts_alone = parts.map(|part| points(&open(part), u64::MAX));
    let schema = parts_alone[0].schema();
    let expected = arrow_select::concat::concat_batches(&schema, &parts_alone).unwrap();
    assert_eq!(actual.num_rows(), expected.num_rows());
    for column in ["time", "x", "y", "z", "azimuth", "distance", "return_type", "laser"]
    {
        assert!(actual[column].to_data() == expected[column].to_data(), "{column}");
    }
}

/// Returns the packets of a simulated S2 with power level A8, at which it corrects
/// intensities.
fn corrected_by_itself() -> Option<Bytes> {
    let mut bytes = sample("sim_hdl64e_s2.pcap")?.to_vec();
    let tails: Vec<usize> =
        (24..bytes.len()).step_by(1_264).map(|at| at + 1_262).collect();
    // The last cycle before the next `UNIT#`: its fifth value is the power level.
    let flag_positions = tails.windows(14).filter(|flag_positions| {
        let has_word = |at: usize, of: &[u8; 2]| {
            bytes[flag_positions[at]..flag_positions[at] + 2] == *of
        };
        bytes[flag_positions[0] + 1] == 0xa0
            && has_word(12, b"1U")
            && has_word(13, b"2N")
    });
    let flag_positions: Vec<usize> =
        flag_positions.map(|flag_positions| flag_positions[0]).collect();
    assert!(!flag_positions.is_empty());
    flag_positions.iter().for_each(|place| bytes[place + 1] = 0xa8);
    Some(bytes.into())
}

#[test]
fn intensities_corrected_by_the_lidar_are_not_corrected_again() {
    let Some(bytes) = corrected_by_itself() else { return };
    let path = conformance::sample_path("velodyne/calib_vd_HDL-64E_S2.1-sztaki.yml");
    let text = std::fs::read_to_string(path.unwrap()).unwrap();
    let calibration = Calibration::from_yaml(&text, "sztaki").unwrap();
    for (formula, is_again) in
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
            assert_eq!(description.contains("once more"), is_again, "{description}");
            let points = points(&log, u64::MAX);
            let intensities = points["intensity"].as_primitive::<UInt8Type>().values();
            let corrected =
                points["intensity_calibrated"].as_primitive::<Float32Type>();
            let mut pairs = intensities.iter().zip(corrected.values());
            let is_same = pairs
                .all(|(intensities, corrected)| f32::from(*intensities) == *corrected);
            assert_eq!(is_same, !is_again);
        }
    }
}
