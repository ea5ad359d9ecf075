//! `flight`: the analysis of flights, and its columns in catalogs.

use serde_json::Value;

use crate::{
    bytes::message,
    program::Folder,
    samples::{sample, testdata},
};

/// A flight of 120 s, made by hand: armed from 10 s on, with one GPS message per second that
/// reports a critical jamming state from 40 s to 80 s.
pub(crate) fn jammed_flight() -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    let status =
        "vehicle_status:uint64_t timestamp;uint8_t arming_state;uint8_t nav_state;";
    log.extend(message(b'F', status.as_bytes()));
    let gps = "vehicle_gps_position:uint64_t timestamp;float eph;float epv;uint8_t fix_type;\
               uint8_t satellites_used;uint8_t jamming_state;";
    log.extend(message(b'F', gps.as_bytes()));
    log.extend(message(b'A', b"\0\0\0vehicle_status"));
    log.extend(message(b'A', b"\0\x01\0vehicle_gps_position"));
    for second in 1..=121_u64 {
        let time = (second * 1_000_000).to_le_bytes();
        let armed = if second >= 11 { 2 } else { 1 };
        log.extend(message(b'D', &[&[0, 0], &time[..], &[armed, 3]].concat()));
        let jamming = if (41..81).contains(&second) { 3 } else { 1 };
        let errors = [0.8_f32.to_le_bytes(), 1.2_f32.to_le_bytes()].concat();
        let gps = [&[1, 0], &time[..], &errors, &[3, 14, jamming]].concat();
        log.extend(message(b'D', &gps));
    }
    log
}

#[test]
fn diagnoses_have_their_times_and_evidence() {
    let folder = Folder::with_log(&jammed_flight());
    let text = folder.run(&["flight", "flight.ulg"]).assert_success().stdout;
    let line = "critical  00:00:40.000  GPS interference: GPS reception was bad: reported jamming";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("vehicle_gps_position.jamming_state 3 (limit 2)"), "{text}");

    let json =
        folder.run(&["flight", "flight.ulg", "--json"]).assert_success().json_lines();
    let [json] = json.as_slice() else { panic!("{json:?}") };
    assert_eq!(json["statistics"]["armed_s"], 110.0);
    assert_eq!(json["statistics"]["modes"][0]["name"], "AUTO_MISSION");
    let [diagnosis] = json["diagnoses"].as_array().unwrap().as_slice() else {
        panic!("{json}")
    };
    assert_eq!(
        (&diagnosis["kind"], &diagnosis["severity"]),
        (&"gps_interference".into(), &"critical".into())
    );
    assert_eq!(
        (&diagnosis["start_ns"], &diagnosis["end_ns"]),
        (&41_000_000_000_u64.into(), &81_000_000_000_u64.into())
    );
    assert_eq!(json.get("signals"), None);
}

#[test]
fn statistics_are_those_of_pyulog() {
    let log = testdata("quad_flight.ulg");
    let json =
        Folder::new().run(&["flight", &log, "--json", "--signals"]).assert_success();
    let json = &json.json_lines()[0];
    // Computed with NumPy from the arrays of pyulog, by the formulas of Flight Review.
    for (name, expected) in [
        ("distance_m", 102.46645446038303),
        ("altitude_difference_m", 10.0),
        ("min_voltage_v", 13.848245),
        ("average_current_a", 7.376666),
        ("max_current_a", 9.5),
    ] {
        let value = json["statistics"][name].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-5, "{name}: {value}, not {expected}");
    }
    assert_eq!(json["diagnoses"], Value::Array(vec![]));
    assert!(json["signals"]["spectra"].is_array());
}

#[test]
fn catalogs_find_flights_by_their_diagnoses() {
    let folder = Folder::with_log(&jammed_flight());
    let bag = testdata("rover.bag");
    folder
        .run(&["index", "flight.ulg", &bag, "-o", "c.jsonl", "--analysis"])
        .assert_status(0, &[]);
    let rows: Vec<Value> = folder
        .read("c.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let row_of =
        |format: &str| rows.iter().find(|row| row["format"] == format).unwrap();
    assert_eq!(row_of("ulog")["gps_interference_s"], 40.0);
    assert_eq!(row_of("ulog")["gps_loss_s"], 0.0);
    // The log has no topic of the remote control, so that nothing is known of its losses.
    assert!(row_of("ulog").get("rc_loss_s").is_none_or(Value::is_null));
    assert_eq!(row_of("ulog")["diagnoses"], "gps_interference");
    assert!(row_of("rosbag").get("gps_interference_s").is_none_or(Value::is_null));

    let batch =
        ["batch", "flight.ulg", "-o", "set", "--analysis", "--catalog", "jsonl"];
    folder.run(&batch).assert_status(0, &[]);
    let catalog = folder.read("set/_catalog.jsonl");
    let row: Value = serde_json::from_str(catalog.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&row["gps_interference_s"], &row["armed_s"]),
        (&40.0.into(), &110.0.into())
    );

    // A catalog without the analysis has no such columns. A catalog with the analysis is
    // updated.
    let index = |more: &[&str]| {
        let args =
            [&["index", "flight.ulg", "-o", "c.parquet", "--json"], more].concat();
        folder.run(&args).assert_status(0, &[]);
    };
    index(&[]);
    index(&["--analysis"]);
    index(&["--analysis"]);
}

#[test]
fn damaged_logs_are_analyzed() {
    let log = jammed_flight();
    let folder = Folder::with_log(&log[..log.len() - 1500]);
    let json = folder.run(&["flight", "flight.ulg", "--json"]);
    let json = &json.json_lines()[0];
    assert_eq!(json["diagnoses"][0]["kind"], "gps_interference");
    let crashed = testdata("damaged/crashed.ulg");
    let run = Folder::new().run(&["flight", &crashed]);
    assert!(run.status == 3 && run.stdout.contains("quadrotor"), "{run:?}");
    folder.run(&["flight", &crashed, "--strict"]).assert_status(1, &[]);
}

#[test]
fn log_without_px4_topics_has_no_flight() {
    let bag = testdata("rover.bag");
    let folder = Folder::with_log(&crate::bytes::log());
    folder
        .run(&["flight", &bag])
        .assert_status(1, &["it is a ROS bag, and only ULogs record flights of PX4"]);
    let run = folder.run(&["flight", "flight.ulg"]).assert_success();
    assert!(run.stdout.contains("no topics of PX4 that are analysed"), "{run:?}");
}

/// Kinds of diagnoses of a real log, sorted.
fn kinds(name: &str) -> Option<Vec<String>> {
    let log = sample(name)?;
    let json = Folder::new().run(&["flight", &log, "--json", "-q"]);
    let diagnoses = json.json_lines()[0]["diagnoses"].as_array().unwrap().clone();
    let mut kinds: Vec<String> =
        diagnoses.iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    kinds.dedup();
    Some(kinds)
}

#[test]
fn sound_flights_have_no_diagnoses() {
    for name in [
        "mcap_test_ulog",
        "px4ulogrs_6ba1abc7",
        "px4ulogrs_esc_status_log",
        "px4ulogrs_quadrotor_local",
        "pyulog_sample",
        "pyulog_sample_logging_tagged_and_default_params",
        "pyulog_sample_px4_events",
    ] {
        let Some(kinds) = kinds(&format!("ulog/{name}.ulg")) else { return };
        assert_eq!(kinds, [""; 0], "{name}");
    }
}

#[test]
fn incidents_are_diagnosed() {
    // The battery monitor measured 0.00 to 0.13 V in the air, because no battery was
    // connected to it.
    let Some(kinds_of_battery) = kinds("ulog/flightreviewrs_battery_brownout.ulg")
    else {
        return;
    };
    assert_eq!(
        kinds_of_battery,
        ["battery_brownout", "compass_interference", "vibration"]
    );
    let faults = kinds("ulog/pyulog_sample_appended_multiple.ulg");
    assert_eq!(faults.unwrap(), ["hard_fault"]);
    // `logger_status.message_gaps` counts from 23 to 2936.
    let gaps = kinds("ulog/pyulog_sample_log_small.ulg");
    assert_eq!(gaps.unwrap(), ["logging_dropouts"]);
    let compass = kinds("ulog/ulogrs_sample-small.ulg");
    // The metric of both accelerometers reaches 10.0 m/s², above one standard gravity.
    assert_eq!(compass.unwrap(), ["battery_sag", "compass_interference", "vibration"]);
}
