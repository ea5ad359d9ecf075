//! Tests of the analysis of flights, and of the names of PX4's values by release.

use std::fs;

use serde_json::Value;

use crate::{program::Folder, samples::sample};

/// Returns the analysis of a case, if the samples are there.
fn flight(case: &str) -> Option<Value> {
    let log = sample(&format!("cases/ulog/{case}.ulg"))?;
    let run = Folder::new().run(&["flight", "--json", &log]).assert_success();
    Some(serde_json::from_str(&run.stdout).unwrap())
}

/// Returns the kind, the severity and the duration in seconds of each diagnosis.
fn diagnoses(analysis: &Value) -> Vec<(String, String, f64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = analysis["diagnoses"].as_array().unwrap().iter();
    list.map(|own| {
        let nanos = |name: &str| own[name].as_i64().unwrap();
        let seconds = (nanos("end_ns") - nanos("start_ns")) as f64 / 1e9;
        (text(&own["kind"]), text(&own["severity"]), seconds)
    })
    .collect()
}

/// Returns the labels of a column of a topic as text, in the order of the records.
fn labels(case: &str, topic: &str, column: &str) -> Option<Vec<String>> {
    let log = sample(&format!("cases/ulog/{case}.ulg"))?;
    let folder = Folder::new();
    let args =
        ["convert", &log, "-o", "out", "--labels", "--format", "csv", "-t", topic];
    folder.run(&args).assert_status(0, &[]);
    let files = fs::read_dir(folder.path().join("out")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|own| own == "csv"));
    let table = fs::read_to_string(file.unwrap()).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let index = head.iter().position(|name| *name == format!("{column}_label"));
    let index = index.unwrap_or_else(|| panic!("{column}: {head:?}"));
    let mut labels: Vec<String> = lines.map(|line| line[index].to_owned()).collect();
    labels.dedup();
    Some(labels)
}

#[test]
fn reasons_of_1_17_are_those_before_the_change_of_1_18() {
    let case = "px4_1_17_reasons";
    let Some(reasons) = labels(case, "vehicle_status", "latest_disarming_reason")
    else {
        return;
    };
    assert!(
        reasons.contains(&"ARM_DISARM_REASON_AUTO_DISARM_LAND".to_owned()),
        "{reasons:?}"
    );
    let modes = labels(case, "vehicle_status", "nav_state").unwrap();
    assert!(
        modes.contains(&"NAVIGATION_STATE_ALTITUDE_CRUISE".to_owned()),
        "{modes:?}"
    );
}

#[test]
fn modes_of_1_18_have_names_everywhere() {
    let case = "px4_1_18_modes";
    let Some(modes) = labels(case, "vehicle_status", "nav_state") else { return };
    for mode in ["POSITION_SLOW", "GUIDED_COURSE", "ALTITUDE_CRUISE"] {
        let name = format!("NAVIGATION_STATE_{mode}");
        assert!(modes.contains(&name), "{name}: {modes:?}");
        let analysis = flight(case).unwrap();
        let mut names = analysis["statistics"]["modes"].as_array().unwrap().iter();
        assert!(names.any(|own| own["name"] == mode), "{mode}: {analysis}");
    }
    let types = labels(case, "vehicle_status", "vehicle_type").unwrap();
    assert!(types.contains(&"VEHICLE_TYPE_UNSPECIFIED".to_owned()), "{types:?}");
    assert!(labels(case, "vehicle_status", "nav_state_display").is_some());
}

#[test]
fn states_of_jamming_are_those_of_1_16() {
    let case = "px4_1_16_jamming";
    let Some(states) = labels(case, "sensor_gps", "jamming_state") else { return };
    for name in ["JAMMING_STATE_WARNING", "JAMMING_STATE_CRITICAL"] {
        assert!(states.contains(&name.to_owned()), "{states:?}");
    }
    let spoofing = labels(case, "sensor_gps", "spoofing_state").unwrap();
    assert!(spoofing.contains(&"SPOOFING_STATE_NONE".to_owned()), "{spoofing:?}");
}

#[test]
fn renamed_test_ratio_is_read() {
    for case in ["px4_1_18_compass", "px4_1_15_compass"] {
        let Some(analysis) = flight(case) else { return };
        let found = diagnoses(&analysis);
        let [(kind, _, seconds)] = found.as_slice() else {
            panic!("{case}: {found:?}")
        };
        assert_eq!(kind, "compass_interference", "{case}");
        assert!((seconds - 19.8).abs() < 0.3, "{case}: {seconds}");
    }
}

#[test]
fn tenth_of_twelve_escs_is_read() {
    let Some(analysis) = flight("px4_1_18_esc12_stop") else { return };
    let found = diagnoses(&analysis);
    let [(kind, _, seconds)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(kind, "esc_failure");
    assert!((seconds - 15.0).abs() < 0.3, "{seconds}");
    assert!(
        analysis["diagnoses"][0]["summary"].as_str().unwrap().starts_with("motor 10 ")
    );
}

#[test]
fn flags_of_failsafes_are_diagnosed() {
    for (case, kind) in [
        ("px4_1_18_flag_fd_alt_loss", "height_loss"),
        ("px4_1_18_flag_parachute_unhealthy", "safety_equipment"),
    ] {
        let Some(analysis) = flight(case) else { return };
        let found = diagnoses(&analysis);
        let [(found_kind, _, seconds)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(found_kind, kind);
        assert!((seconds - 15.0).abs() < 0.6, "{case}: {seconds}");
    }
}

#[test]
fn lost_position_aiding_is_found_without_a_failsafe() {
    let Some(analysis) = flight("position_aiding_lost_no_failsafe") else { return };
    let found = diagnoses(&analysis);
    let lost = found.iter().find(|(kind, ..)| kind == "position_loss").unwrap();
    assert!((lost.2 - 41.0).abs() < 0.6, "{found:?}");
    assert_eq!(lost.1, "critical");
}

#[test]
fn short_strong_vibration_is_found_by_its_peak() {
    let Some(analysis) = flight("vibration_burst") else { return };
    let found = diagnoses(&analysis);
    let [(kind, severity, _)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((kind.as_str(), severity.as_str()), ("vibration", "critical"));
}

#[test]
fn commanded_least_output_is_no_failure() {
    let Some(analysis) = flight("least_output_commanded") else { return };
    assert_eq!(diagnoses(&analysis), []);
}

#[test]
fn receiver_that_never_had_a_signal_is_no_loss() {
    let Some(analysis) = flight("rc_never_connected") else { return };
    assert!(diagnoses(&analysis).iter().all(|(kind, ..)| kind != "rc_loss"));
}

#[test]
fn kinds_whose_topics_are_missing_are_not_examined() {
    let Some(analysis) = flight("only_local_position") else { return };
    let examinations = analysis["examinations"].as_array().unwrap();
    assert!(!examinations.is_empty());
    for examination in examinations {
        assert_eq!(examination["result"], "not_examined", "{examination}");
        assert_ne!(examination["missing"].as_array().unwrap().len(), 0);
    }
    let log = sample("cases/ulog/only_local_position.ulg").unwrap();
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "r.html"]).assert_status(0, &[]);
    let page = folder.read("r.html");
    assert!(!page.contains("No diagnoses") && page.contains("Nothing was examined."));
    assert!(page.contains("not examined without"));
    folder.run(&["index", &log, "-o", "i.csv", "--analysis"]).assert_status(0, &[]);
    let table = folder.read("i.csv");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
    for name in ["battery_brownout_s", "gps_loss_s", "rc_loss_s", "hard_fault_s"] {
        let column = head.iter().position(|own| *own == name).unwrap();
        // Some texts before may have commas, so that columns are counted from the end.
        assert_eq!(row[row.len() - (head.len() - column)], "", "{name}: {row:?}");
    }
}

/// The events of the case, by level and number (pyulog: log_levels and id).
const EVENTS: [(&str, u32); 4] = [
    ("warning", 16_777_507),
    ("error", 28_036_591),
    ("info", 0),
    ("critical", 2_130_706_433),
];

#[test]
fn events_without_definitions_are_listed_and_counted() {
    let Some(log) = sample("cases/ulog/unknown_events.ulg") else { return };
    let folder = Folder::new();
    let text = folder.run(&["messages", "--json", &log]).assert_success().stdout;
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| {
            (line["level"].as_str().unwrap(), line["message"].as_str().unwrap())
        })
        .collect();
    for (level, number) in EVENTS {
        let text = format!("event {number}, no definition in the log");
        assert!(found.contains(&(level, text.as_str())), "{level} {number}: {found:?}");
    }
    assert_eq!(found.len(), EVENTS.len());
    let info = folder.run(&["info", &log]).assert_success();
    assert!(info.stdout.contains("4 events without definitions"), "{}", info.stdout);
    folder.run(&["report", &log, "-o", "r.html"]).assert_status(0, &[]);
    let page = folder.read("r.html");
    assert!(page.contains("event 28036591, no definition in the log"));
}

#[test]
fn definitions_of_events_are_read_from_a_file() {
    let Some(log) = sample("cases/ulog/unknown_events.ulg") else { return };
    let folder = Folder::new();
    // 16,777,507 is the event 291 of the component 1.
    let definitions = br#"{"version": 1, "components": {"1": {"namespace": "px4",
        "event_groups": {"default": {"events": {"291": {"name": "test", "message": "It works"}}}}}}}"#;
    folder.write("all_events.json", definitions);
    let packed = std::process::Command::new("xz")
        .args(["-k", folder.path().join("all_events.json").to_str().unwrap()])
        .status();
    let mut files = vec!["all_events.json"];
    if packed.is_ok_and(|status| status.success()) {
        files.push("all_events.json.xz");
    }
    for file in files {
        let run = folder.run(&["messages", &log, "--events", file]).assert_success();
        assert!(run.stdout.contains("WARN   It works"), "{file}: {}", run.stdout);
        assert!(run.stdout.contains("event 28036591, no definition"), "{}", run.stdout);
    }
    folder.write("other.json", b"[1]");
    let wrong = folder.run(&["messages", &log, "--events", "other.json"]);
    wrong.assert_status(1, &["the definitions of events in other.json"]);
    let missing = folder.run(&["messages", &log, "--events", "none.json"]);
    missing.assert_status(1, &["cannot read the definitions of events none.json"]);
}

#[test]
fn tone_of_an_uneven_topic_is_at_its_frequency() {
    let Some(log) = sample("cases/ulog/tone_20hz_uneven.ulg") else { return };
    let run =
        Folder::new().run(&["flight", "--signals", "--json", &log]).assert_success();
    let analysis: Value = serde_json::from_str(&run.stdout).unwrap();
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let strongest = |values: &Value| {
        let values = values.as_array().unwrap().iter().map(|own| own.as_f64().unwrap());
        values.enumerate().skip(1).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0 as f64
    };
    let spectrum = &analysis["signals"]["spectra"][0];
    assert!((number(spectrum, "sample_rate_hz") - 100.0).abs() < 0.2, "{spectrum}");
    let step = number(spectrum, "frequency_step_hz");
    let peak = strongest(&spectrum["lines"][0]["amplitudes"]) * step;
    assert!((peak - 20.0).abs() <= step, "{peak}");
    let spectrogram = &analysis["signals"]["spectrograms"][0];
    let step = number(spectrogram, "frequency_step_hz");
    for column in spectrogram["density"].as_array().unwrap() {
        let peak = strongest(column) * step;
        assert!((peak - 20.0).abs() <= step, "{peak}");
    }
}

#[test]
fn states_have_names_on_the_plots_of_reports() {
    let Some(log) = sample("cases/ulog/px4_1_16_jamming.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "r.html"]).assert_status(0, &[]);
    let page = folder.read("r.html");
    let start = page.find("\"title\":\"GPS jamming state\"").unwrap();
    let plot = page[start..].split("\n{\"kind\"").next().unwrap();
    assert!(plot.contains("\"2\":\"WARNING\",\"3\":\"CRITICAL\""), "{plot}");
    // The evidence in the table of diagnoses, and in the text of `flight`.
    let text = folder.run(&["flight", &log]).assert_success().stdout;
    for shown in [
        "sensor_gps.jamming_state CRITICAL (limit WARNING)",
        "sensor_gps.spoofing_state NONE (limit INDICATED)",
    ] {
        assert!(page.contains(shown) && text.contains(shown), "{shown}: {text}");
    }
    let analysis = flight("px4_1_16_jamming").unwrap();
    let evidence = analysis["diagnoses"][0]["evidence"].as_array().unwrap();
    let mut evidence = evidence.iter();
    let jamming =
        evidence.find(|own| own["name"] == "sensor_gps.jamming_state").unwrap();
    let shown = ["value", "value_name", "threshold", "threshold_name"];
    let expected: [serde_json::Value; 4] =
        [3.0.into(), "CRITICAL".into(), 2.0.into(), "WARNING".into()];
    assert_eq!(shown.map(|key| jamming[key].clone()), expected);
}
