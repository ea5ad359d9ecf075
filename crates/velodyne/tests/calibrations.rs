//! Calibrations from files in circulation, and from streams with lost packets.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{packets, samples};
use logtool_velodyne::{
    calibration::{Calibration, Laser, StatusStream, ValueVerification},
    model::{Model, ReturnMode},
    packet::Firings,
};

fn read(path: &Path) -> Calibration {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let read = if name.ends_with(".xml") {
        Calibration::from_xml(&text, name)
    } else {
        Calibration::from_yaml(&text, name)
    };
    read.unwrap_or_else(|err| panic!("{name}: {err}"))
}

/// Returns all values of a laser, angles in degrees and lengths in metres.
fn values(laser: &Laser) -> [f64; 11] {
    [
        laser.rotation_deg,
        laser.vertical_deg,
        laser.far_correction_m,
        laser.near_correction_x_m,
        laser.near_correction_y_m,
        laser.vertical_offset_m,
        laser.horizontal_offset_m,
        laser.focal_distance_m,
        laser.focal_slope,
        f64::from(laser.min_intensity),
        f64::from(laser.max_intensity),
    ]
}

#[track_caller]
fn assert_equal(a: &Calibration, b: &Calibration, tolerances: [f64; 11], name: &str) {
    assert_eq!(a.lasers.len(), b.lasers.len(), "{name}");
    for (a, b) in a.lasers.iter().zip(&b.lasers) {
        assert_eq!(a.id, b.id, "{name}");
        for (index, (x, y)) in values(a).iter().zip(values(b)).enumerate() {
            let is_near = (x - y).abs() <= tolerances[index];
            assert!(is_near, "{name}, laser {}, value {index}: {x} and {y}", a.id);
        }
    }
}

#[test]
fn calibration_files_in_circulation_round_trip() {
    let Some(samples) = samples() else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(&samples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let kinds = [".xml", ".yaml", ".yml"];
        if !name.starts_with("calib_") || !kinds.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        files += 1;
        let calibration = read(&path);
        let lasers = if name.contains("hdl64") || name.contains("HDL-64") {
            64
        } else if name.contains("128") {
            128
        } else if name.contains("vlp16") {
            16
        } else {
            32
        };
        assert_eq!(calibration.lasers.len(), lasers, "{name}");
        let has_implausible =
            calibration.warnings.iter().any(|warning| warning.contains("implausible"));
        assert!(!has_implausible, "{name}: {:?}", calibration.warnings);
        let xml = Calibration::from_xml(&calibration.to_xml(), "written").unwrap();
        let yaml = Calibration::from_yaml(&calibration.to_yaml(), "written").unwrap();
        assert_equal(&calibration, &xml, [1e-9; 11], &name);
        assert_equal(&calibration, &yaml, [1e-9; 11], &name);
        let step = calibration.distance_step_m.unwrap_or(0.002);
        assert!((xml.distance_step_m.unwrap() - step).abs() < 1e-12, "{name}");
    }
    assert!(files > 20, "{files}");
}

#[test]
fn db_xml_and_its_converted_yaml_are_equal() {
    let Some(samples) = samples() else { return };
    for name in ["S3735", "ajaayc_db", "opendlv_db", "s2.1_sztaki", "veloview_HDL-64"] {
        let read_format = |extension: &str| {
            read(&samples.join(format!("calib_hdl64e_{name}.{extension}")))
        };
        assert_equal(&read_format("xml"), &read_format("yml"), [1e-9; 11], name);
    }
}

#[test]
fn web_page_and_other_texts_are_rejected() {
    for text in
        ["", "<html><body>db.xml</body></html>", "<!DOCTYPE html><p>", "<DB></DB>"]
    {
        assert!(Calibration::from_xml(text, "page").is_err(), "{text}");
    }
    for text in
        ["", "lasers: 7", "[", "a: b", "lasers: []", "lasers:\n- {laser_id: 900}"]
    {
        assert!(Calibration::from_yaml(text, "page").is_err(), "{text}");
    }
}

#[test]
fn invalid_number_is_reported_with_its_name() {
    let xml = |field: &str| {
        format!(
            "<DB>\n<points_><item><px>\n<id_>3</id_>\n{field}\n</px></item></points_></DB>"
        )
    };
    let read =
        Calibration::from_xml(&xml("<vertCorrection_>-0.12</vertCorrection_>"), "db");
    assert_eq!(read.unwrap().lasers[3].vertical_deg, -0.12);
    for number in ["-0,12", "nan<!-- -->", "inf", ""] {
        let text = xml(&format!("<vertCorrection_>{number}</vertCorrection_>"));
        let err = Calibration::from_xml(&text, "db").unwrap_err().to_string();
        assert!(err.contains("db: laser 3: `vertCorrection_` in line 4"), "{err}");
    }
    let enabled = "<DB><enabled_><item>on</item></enabled_></DB>";
    let err = Calibration::from_xml(enabled, "db").unwrap_err().to_string();
    assert!(err.contains("`item` in line 1 is not a number: \"on\""), "{err}");
    for (text, description) in [
        (
            "lasers:\n- laser_id: 3\n  vert_correction: -0,12\n",
            "laser 3: `vert_correction`",
        ),
        ("lasers: [{laser_id: 3, vert_correction: -0,12}]", "laser 3: `12`"),
        ("lasers: [{laser_id: 3, rot_correction: .nan}]", "laser 3: `rot_correction`"),
        ("distance_resolution: 2 mm\nlasers: [{laser_id: 0}]", "`distance_resolution`"),
    ] {
        let err = Calibration::from_yaml(text, "db").unwrap_err().to_string();
        assert!(err.contains(description), "{err}");
    }
}

#[test]
fn laser_number_that_is_not_a_whole_number_is_rejected() {
    for number in ["900", "-1", "3.5"] {
        let yaml = format!("lasers: [{{laser_id: {number}}}]");
        let xml = format!(
            "<DB><points_><item><px><id_>{number}</id_></px></item></points_></DB>"
        );
        let results =
            [Calibration::from_yaml(&yaml, "db"), Calibration::from_xml(&xml, "db")];
        for result in results {
            let err = result.unwrap_err().to_string();
            let expected =
                format!("laser number {number} is not a whole number from 0 to 127");
            assert!(err.contains(&expected), "{err}");
        }
    }
}

#[test]
fn missing_laser_is_reported_in_the_singular() {
    let text = "lasers:\n- {laser_id: 0, vert_correction: 0.1}\n- {laser_id: 2}\n";
    let warnings = Calibration::from_yaml(text, "db").unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "laser 1 is missing: angles and corrections of zero are assumed",
            "laser 2 has no vertical angle: zero is assumed",
        ]
    );
}

#[test]
fn missing_angles_are_reported_with_their_lasers() {
    let lasers =
        (0..4).map(|id| format!("- {{laser_id: {id}, rot_correction: 0.1}}\n"));
    let text = format!("lasers:\n{}", lasers.collect::<String>());
    let warnings = Calibration::from_yaml(&text, "db").unwrap().warnings;
    assert!(warnings[0].contains("lasers 0-3 have no vertical angle"), "{warnings:?}");
    let level = text.replace("rot", "vert");
    let warnings = Calibration::from_yaml(&level, "db").unwrap().warnings;
    assert!(
        warnings[0].contains("all lasers have the same vertical angle"),
        "{warnings:?}"
    );
}

/// Returns a stream of `rounds` rounds of status bytes without the packets for which
/// `is_lost` returns true. The bytes of one whole round of the sample are repeated.
fn stream(
    name: &str,
    period: f64,
    rounds: usize,
    is_lost: impl Fn(usize) -> bool,
) -> StatusStream {
    let samples = samples().unwrap();
    let sample = packets(&samples.join(name));
    let mut stream = StatusStream::new(period);
    let start = Firings::new(&sample[0].1).unwrap().tail().micros;
    for n in (0..rounds * 4_160 + 200).filter(|n| !is_lost(*n)) {
        let tail = Firings::new(&sample[n % 4_160].1).unwrap().tail();
        let micros = (f64::from(start) + n as f64 * period) % 3.6e9;
        stream.add(micros as u32, tail.status_type, tail.status_value);
    }
    stream
}

/// Returns whether packet `n` is lost, for `percent` of the packets.
fn is_lost(n: usize, percent: u64) -> bool {
    let mixed = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & 0xffff
        < 65_536 * percent / 100
}

/// The sample, its calibration file, the microseconds between packets, and the verification.
const STREAMS: [(&str, &str, f64, ValueVerification); 3] = [
    (
        "sim_hdl64e_s2.pcap",
        "calib_vd_HDL-64E_S2.1-sztaki.yml",
        288.0,
        ValueVerification::Length,
    ),
    (
        "sim_hdl64e_s3_single.pcap",
        "calib_vd_HDL-64E_S3-VeloView.yml",
        288.0,
        ValueVerification::Crc,
    ),
    (
        "sim_hdl64e_s3_dual.pcap",
        "calib_vd_HDL-64E_S3-VeloView.yml",
        172.8,
        ValueVerification::Crc,
    ),
];

/// Half of the last digit of the values in the status bytes, plus rounding errors.
const ROUNDING_TOLERANCES: [f64; 11] = {
    let (angle, length) = (0.005_01, 0.000_501);
    [angle, angle, length, length, length, length, length, length, 0.0501, 0.0, 0.0]
};

#[test]
fn calibration_in_packets_equals_the_simulated_one_despite_losses() {
    let Some(samples) = samples() else { return };
    for (name, expected, period, check) in STREAMS {
        let expected = read(&samples.join(expected));
        for (percent, rounds) in [(0, 1), (1, 3), (10, 5)] {
            let report = stream(name, period, rounds, |n| is_lost(n, percent)).report();
            assert!(report.incomplete.is_empty(), "{name}, {percent} % lost");
            assert_eq!(report.check, check, "{name}, {percent} % lost");
            let actual = report.calibration.unwrap();
            assert_equal(&expected, &actual, ROUNDING_TOLERANCES, name);
        }
    }
}

#[test]
fn calibration_is_complete_with_swapped_packets() {
    let Some(samples) = samples() else { return };
    for (name, expected, period, check) in STREAMS {
        let mut tails: Vec<_> = packets(&samples.join(name))
            .iter()
            .map(|(_, payload)| Firings::new(payload).unwrap().tail())
            .collect();
        for at in (1..tails.len() - 1).filter(|at| is_lost(*at, 5)) {
            tails.swap(at, at + 1);
        }
        let mut stream = StatusStream::new(period);
        tails.iter().for_each(|tail| {
            stream.add(tail.micros, tail.status_type, tail.status_value)
        });
        let report = stream.report();
        assert_eq!((report.check, report.incomplete), (check, vec![]), "{name}");
        assert_equal(
            &read(&samples.join(expected)),
            &report.calibration.unwrap(),
            ROUNDING_TOLERANCES,
            name,
        );
    }
}

#[test]
fn calibration_is_complete_from_the_sample_alone() {
    let Some(samples) = samples() else { return };
    for (name, expected, period, check) in STREAMS {
        let mut stream = StatusStream::new(period);
        for (_, payload) in packets(&samples.join(name)) {
            let tail = Firings::new(&payload).unwrap().tail();
            stream.add(tail.micros, tail.status_type, tail.status_value);
        }
        let report = stream.report();
        assert_eq!(report.check, check, "{name}");
        let actual = report.calibration.as_ref().unwrap();
        assert_equal(&read(&samples.join(expected)), actual, ROUNDING_TOLERANCES, name);
        assert_eq!(report.gps, Some(b'A'));
        assert_eq!(report.temperature, Some(31));
        assert_eq!(report.rpm, Some(600));
        assert_eq!(report.power, Some(0xa0));
        let is_dual = name.contains("dual");
        let returns = if is_dual { ReturnMode::Dual } else { ReturnMode::Strongest };
        assert_eq!(report.return_mode(), Some(returns));
    }
}

#[test]
fn implausible_value_is_reported_with_its_laser() {
    let Some(samples) = samples() else { return };
    let text = std::fs::read_to_string(samples.join("calib_hdl64e_S3735.xml")).unwrap();
    // The far correction of laser 2, in centimetres.
    let (before_laser, laser) = text.split_once("<id_>2</id_>").unwrap();
    let (before_value, value) = laser.split_once("<distCorrection_>").unwrap();
    let (_, after_value) = value.split_once('<').unwrap();
    let corrupted = format!(
        "{before_laser}<id_>2</id_>{before_value}<distCorrection_>3276.7<{after_value}"
    );
    let calibration = Calibration::from_xml(&corrupted, "db.xml").unwrap();
    let description = "implausible value: far correction 32.767 m of laser 2";
    assert_eq!(calibration.warnings, [description]);
    // The same error sent by an S2, which sends no CRC: the high byte of the far
    // correction of laser 17.
    let sample = packets(&samples.join("sim_hdl64e_s2.pcap"));
    let corrupted_packet = packet_of_value(17, 6);
    let mut stream = StatusStream::new(288.0);
    let start = Firings::new(&sample[0].1).unwrap().tail().micros;
    for n in 0..2 * 4_160 {
        let tail = Firings::new(&sample[n % 4_160].1).unwrap().tail();
        let micros = (f64::from(start) + n as f64 * 288.0) % 3.6e9;
        let value = match n % 4_160 {
            packet if packet == corrupted_packet => 0x7f,
            _ => tail.status_value,
        };
        stream.add(micros as u32, tail.status_type, value);
    }
    let report = stream.report();
    assert_eq!(report.check, ValueVerification::Length);
    assert_eq!(report.calibration, None);
    assert_eq!((&*report.incomplete, &*report.implausible), (&[17][..], &[17][..]));
    let description = report.incomplete_lasers().unwrap();
    assert!(
        description.ends_with("implausible values were sent for laser 17"),
        "{description}"
    );
}

/// Returns the packet of a simulation that contains a value of a laser. Each laser has 28
/// values: four cycles of sixteen packets. The last seven packets of a cycle contain values.
/// The simulations start 37 packets into a round.
fn packet_of_value(laser: usize, value: usize) -> usize {
    let value = 7 + 28 * laser + value;
    let packet = value / 7 * 16 + 9 + value % 7;
    (packet + 4_160 - 37) % 4_160
}

#[test]
fn only_lasers_with_lost_values_are_reported() {
    if samples().is_none() {
        return;
    }
    // The eighth value of laser 5 and the first value of laser 40 are lost.
    let lost = [packet_of_value(5, 7), packet_of_value(40, 0)];
    let is_lost = |n: usize| lost.contains(&(n % 4_160));
    let report = stream("sim_hdl64e_s2.pcap", 288.0, 1, is_lost).report();
    assert_eq!(report.incomplete, [5, 40]);
    assert!(report.incomplete_lasers().unwrap().ends_with("2 of 64 lasers: 5, 40"));
    assert_eq!(report.check, ValueVerification::Missing);
    assert_eq!(report.calibration, None);
}

#[test]
fn lost_values_come_from_the_default_and_others_as_sent() {
    let Some(samples) = samples() else { return };
    let simulated = read(&samples.join("calib_vd_HDL-64E_S2.1-sztaki.yml"));
    let other = Calibration::for_model(Model::Hdl64eS2);
    // The packets with the values of lasers 12 to 14: twelve cycles.
    let (start, end) = (49 * 16, 61 * 16);
    let is_lost = |n: usize| (start..end).contains(&((n + 37) % 4_160));
    let report = stream("sim_hdl64e_s2.pcap", 288.0, 2, is_lost).report();
    assert_eq!(report.incomplete, [12, 13, 14]);
    let completed = report.complete_with(&other).unwrap();
    let origin = completed.origin.to_string();
    assert!(origin.contains("lasers 12-14: built in"), "{origin}");
    for (id, laser) in completed.lasers.iter().enumerate() {
        let expected = match id {
            12..=14 => &other.lasers[id],
            _ => &simulated.lasers[id],
        };
        for (index, (x, y)) in values(laser).iter().zip(values(expected)).enumerate() {
            let is_near = (x - y).abs() <= ROUNDING_TOLERANCES[index];
            assert!(is_near, "laser {id}, value {index}: {x}, {y}");
        }
    }
    assert_eq!(StatusStream::new(288.0).report().complete_with(&other), None);
}

#[test]
fn calibration_is_complete_despite_long_gaps_and_wrong_values() {
    let Some(samples) = samples() else { return };
    let sample = packets(&samples.join("sim_hdl64e_s3_single.pcap"));
    let expected = read(&samples.join("calib_vd_HDL-64E_S3-VeloView.yml"));
    let mut stream = StatusStream::new(288.0);
    for round in 0..5_u32 {
        // 100 s and some packets between the rounds, which are all cut at both ends.
        let (start, end) = (round as usize * 333, 4_160 - (4 - round as usize) * 333);
        for (n, (_, payload)) in sample.iter().enumerate().take(end).skip(start) {
            let tail = Firings::new(payload).unwrap().tail();
            let micros = 7 + round * 101_234_567 + n as u32 * 288;
            let is_wrong = round == 1 && n % 50 == 7 && (1_000..2_800).contains(&n);
            let value = tail.status_value ^ u8::from(is_wrong);
            stream.add(micros, tail.status_type, value);
        }
    }
    let report = stream.report();
    assert_eq!((report.check, report.incomplete), (ValueVerification::Crc, vec![]));
    assert_equal(&expected, &report.calibration.unwrap(), ROUNDING_TOLERANCES, "s3");
}

#[test]
fn calibration_fits_models_with_its_number_of_lasers_and_angles() {
    for (calibration_model, model, fits) in [
        (Model::Vlp16, Model::Vlp16HiRes, false),
        (Model::Vls128, Model::AlphaPrime, true),
        (Model::Vlp16, Model::Hdl64eS1, false),
        (Model::Hdl64eS3, Model::Hdl64eS1, true),
        (Model::Hdl64eS3, Model::Vlp32c, false),
    ] {
        let result = Calibration::for_model(calibration_model).check_model(model);
        let case = format!("{calibration_model} for {model}: {result:?}");
        assert_eq!(result.is_ok(), fits, "{case}");
    }
    let err =
        Calibration::for_model(Model::Vlp16).check_model(Model::Hdl64eS1).unwrap_err();
    let message = err.to_string();
    for words in ["16 lasers", "has 64 (HDL-64E S1)", "or its model"] {
        assert!(message.contains(words), "no {words:?} in {message}");
    }
}
