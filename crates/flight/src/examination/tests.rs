use super::*;
use crate::{analyze, series::Series};

const SECOND: i64 = 1_000_000_000;

fn outcome(data: &FlightData, kind: DiagnosisKind) -> Outcome {
    let mut examinations = analyze(data).examinations.into_iter();
    examinations.find(|examination| examination.kind == kind).unwrap().outcome
}

#[test]
fn kind_without_its_topics_is_not_examined() {
    let missing = |names: &[&str]| Outcome::NotExamined {
        missing: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut data = FlightData::new((0, 1_000_000_000));
    let kind = DiagnosisKind::BatteryBrownout;
    assert_eq!(outcome(&data, kind), missing(&["battery_status", "vehicle_status"]));
    let mut status = Series::new("vehicle_status", 0, vec![0]);
    status.add_column("arming_state", vec![2.0]);
    data.series.push(status);
    assert_eq!(outcome(&data, kind), missing(&["battery_status"]));
    assert_eq!(outcome(&data, DiagnosisKind::HardFault), Outcome::NotFound);
    // A topic is named once, although two of its fields are missing.
    let without_status = FlightData::new((0, 1_000_000_000));
    let failsafe = outcome(&without_status, DiagnosisKind::Failsafe);
    assert_eq!(failsafe, missing(&["vehicle_status"]));
    let mut battery = Series::new("battery_status", 0, vec![0, 900_000_000]);
    battery.add_column("warning", vec![0.0, 0.0]);
    data.series.push(battery.clone());
    assert_eq!(outcome(&data, kind), missing(&["battery_status.voltage_v"]));
    assert_eq!(outcome(&data, DiagnosisKind::BatteryLow), Outcome::NotFound);
    battery.add_column("voltage_v", vec![16.0, 16.0]);
    data.series.push(battery);
    assert_eq!(outcome(&data, kind), Outcome::NotFound);
    assert_eq!(analyze(&data).seconds_of_kind(kind), Some(0.0));
    assert_eq!(analyze(&data).seconds_of_kind(DiagnosisKind::GpsLoss), None);
}

#[test]
fn motors_that_may_stop_are_examined_only_with_detectors() {
    let kinds = [DiagnosisKind::MotorFailure, DiagnosisKind::EscFailure];
    let outcomes = |vehicle_types: Vec<f32>, detector: &str| {
        let count = vehicle_types.len();
        let times: Vec<i64> = (0..count as i64).collect();
        let with_field = |topic: &str, field: &str, value: f32| {
            let mut series = Series::new(topic, 0, times.clone());
            series.add_column(field, vec![value; count]);
            series
        };
        let mut status = with_field("vehicle_status", "arming_state", 2.0);
        status.add_column("vehicle_type", vehicle_types);
        let (topic, field) = detector.split_once('.').unwrap();
        let data = FlightData::new((0, 1_000_000_000)).with_series([
            status,
            with_field("actuator_outputs", "output[0]", 1500.0),
            with_field("esc_status", "esc[0].esc_rpm", 5000.0),
            with_field(topic, field, 0.0),
        ]);
        kinds.map(|kind| outcome(&data, kind))
    };
    let missing = |name: &str| Outcome::NotExamined { missing: vec![name.to_owned()] };
    let found_nothing = || Outcome::NotFound;
    assert_eq!(outcomes(vec![1.0, 1.0], "t.f"), [found_nothing(), found_nothing()]);
    let unexamined =
        [missing("failure_detector_status"), missing("esc_status.esc_online_flags")];
    // A plane, and a VTOL that changes to forward flight.
    assert_eq!(outcomes(vec![2.0, 2.0], "t.f"), unexamined);
    assert_eq!(outcomes(vec![1.0, 2.0], "t.f"), unexamined);
    let detected = outcomes(vec![2.0, 2.0], "failure_detector_status.fd_motor");
    assert_eq!(detected[0], found_nothing());
}

#[test]
fn empty_log_has_no_examined_kind() {
    let analysis = analyze(&FlightData::new((0, 0)));
    assert!(!analysis.is_examined() && analysis.diagnoses.is_empty());
    assert_eq!(analysis.examinations.len(), DiagnosisKind::ALL.len());
}

/// Each field that a kind needs is one that the analysis reads.
#[test]
fn needed_fields_are_read() {
    for kind in DiagnosisKind::ALL {
        let needs = [true, false].map(|is_rotary| needs(*kind, is_rotary));
        for field in needs.iter().flat_map(|needs| needs.iter().copied().flatten()) {
            let (topic, field) = field.split_once('.').unwrap();
            let mut topics = crate::flight_topics().iter();
            // Of a list, all elements are read.
            let list = field.replace("[0]", "[*]");
            let is_read = |own: &&str| *own == field || *own == list;
            assert!(
                topics.any(|own| own.name == topic && own.fields.iter().any(is_read)),
                "{topic}.{field}"
            );
        }
    }
}

/// Returns a flight of 20 seconds that was armed from 2 s to 18 s and in the air from 5 s to 15 s.
fn flight(series: Series) -> FlightData {
    let times: Vec<i64> = (0..20).map(|second| second * SECOND).collect();
    let between = |from: usize, to: usize, on: f32, off: f32| {
        let value = |second| if (from..to).contains(&second) { on } else { off };
        (0..20).map(value).collect::<Vec<f32>>()
    };
    let mut status = Series::new("vehicle_status", 0, times.clone());
    status.add_column("arming_state", between(2, 18, 2.0, 1.0));
    let mut land = Series::new("vehicle_land_detected", 0, times);
    land.add_column("landed", between(5, 15, 0.0, 1.0));
    FlightData::new((0, 20 * SECOND)).with_series([status, land, series])
}

fn constant(topic: &str, field: &str, value: f32) -> Series {
    let times = (0..20).map(|second| second * SECOND).collect();
    let mut series = Series::new(topic, 0, times);
    series.add_column(field, vec![value; 20]);
    series
}

#[test]
fn values_that_say_nothing_are_not_examined() {
    use DiagnosisKind as Kind;
    let is_examined = |kind, topic, field, value| {
        let found = outcome(&flight(constant(topic, field, value)), kind);
        !matches!(found, Outcome::NotExamined { .. })
    };
    for (kind, topic, field, sound) in [
        (Kind::BatteryBrownout, "battery_status", "voltage_v", 16.0),
        (Kind::BatterySag, "battery_status", "voltage_v", 16.0),
        (Kind::PowerRail, "system_power", "voltage5v_v", 5.0),
        (Kind::EkfFailure, "estimator_status", "vel_test_ratio", 0.1),
        (Kind::CompassInterference, "estimator_status", "hdg_test_ratio", 0.1),
        (Kind::Vibration, "vehicle_imu_status", "accel_vibration_metric", 1.0),
        (Kind::CpuLoad, "cpuload", "load", 0.5),
    ] {
        assert!(is_examined(kind, topic, field, sound), "{kind:?}");
        assert!(!is_examined(kind, topic, field, f32::NAN), "{kind:?}");
        // A monitor or a board without a measurement of the voltage reports zero.
        let is_voltage = field.starts_with("voltage");
        assert_eq!(is_examined(kind, topic, field, 0.0), !is_voltage, "{kind:?}");
    }
    let found = flight(constant("battery_status", "voltage_v", 0.0));
    assert_eq!(outcome(&found, Kind::BatteryNotMeasured), Outcome::Found);
    assert_eq!(analyze(&found).seconds_of_kind(Kind::BatteryBrownout), None);
}

#[test]
fn flags_alone_do_not_examine_the_fix_and_the_charge() {
    for (kind, field, missing) in [
        (DiagnosisKind::GpsLoss, "gnss_lost", "vehicle_gps_position"),
        (DiagnosisKind::BatteryLow, "battery_unhealthy", "battery_status"),
    ] {
        let quiet = flight(constant("failsafe_flags", field, 0.0));
        let missing = vec![missing.to_owned()];
        assert_eq!(outcome(&quiet, kind), Outcome::NotExamined { missing });
        // A flag that is set is a finding.
        let set = flight(constant("failsafe_flags", field, 1.0));
        assert_eq!(outcome(&set, kind), Outcome::Found);
    }
}

#[test]
fn kinds_of_armed_times_and_of_flights_need_them() {
    let with = |armed: f32, landed: f32, mav_type: f64| {
        let data = FlightData::new((0, 20 * SECOND)).with_series([
            constant("vehicle_status", "arming_state", armed),
            constant("vehicle_land_detected", "landed", landed),
            constant("battery_status", "voltage_v", 16.0),
        ]);
        data.with_parameters([("MAV_TYPE".to_owned(), mav_type)])
    };
    let missing = |name: &str| Outcome::NotExamined { missing: vec![name.to_owned()] };
    let (brownout, sag) = (DiagnosisKind::BatteryBrownout, DiagnosisKind::BatterySag);
    let on_a_bench = with(1.0, 1.0, 2.0);
    assert_eq!(outcome(&on_a_bench, brownout), missing("armed time"));
    assert_eq!(outcome(&on_a_bench, sag), missing("armed time"));
    assert_eq!(outcome(&on_a_bench, DiagnosisKind::HardFault), Outcome::NotFound);
    let summary = analyze(&on_a_bench).examination_summary();
    assert!(summary.contains("(no vehicle_gps_position, armed time, "), "{summary}");
    let on_the_ground = with(2.0, 1.0, 2.0);
    assert_eq!(outcome(&on_the_ground, brownout), Outcome::NotFound);
    assert_eq!(outcome(&on_the_ground, sag), missing("time in the air"));
    // A rover is armed, and never in the air.
    assert_eq!(outcome(&with(2.0, 1.0, 10.0), sag), Outcome::NotFound);
}

#[test]
fn bits_of_the_failure_detector_examine_motors_if_one_is_theirs() {
    let with_bit = |name: &str| {
        let mut data = flight(constant("vehicle_status_flags", "f", 0.0));
        let mut status = data.series.remove(0);
        status.add_column("failure_detector_status", vec![0.0; 20]);
        status.add_column("vehicle_type", vec![2.0; 20]);
        data.series.push(status);
        let names = [(7, name.to_owned())].into();
        data.bit_names
            .insert("vehicle_status.failure_detector_status".to_owned(), names);
        outcome(&data, DiagnosisKind::MotorFailure)
    };
    // VehicleStatus.msg of 1.14 and of 1.13.
    assert_eq!(with_bit("FAILURE_MOTOR"), Outcome::NotFound);
    let missing = vec!["failure_detector_status".to_owned()];
    let unknown = with_bit("FAILURE_IMBALANCED_PROP");
    assert_eq!(unknown, Outcome::NotExamined { missing });
}
