//! Tests of the declarations in a ULog: information, labels, the header, and anomalies.

use serde_json::{Value, json};

use crate::{
    program::{Folder, Run},
    samples::sample,
};

/// Runs the program on a case, if the samples are there.
fn run_case(args: &[&str], case: &str) -> Option<Run> {
    let log = sample(&format!("cases/ulog/{case}"))?;
    Some(Folder::new().run(&[args, &[&log]].concat()))
}

fn info_of(run: &Run) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    report["metadata"]["info"].clone()
}

#[test]
fn information_of_a_defined_type_is_decoded() {
    let Some(run) = run_case(&["info", "--json"], "34_info_custom.ulg") else { return };
    assert_eq!(info_of(&run)["mypt"], json!({"a": 1.5, "b": 7}));
}

#[test]
fn text_that_is_not_utf8_is_read_as_latin1_and_reported() {
    let case = "03_nonutf8.ulg";
    let Some(run) = run_case(&["info"], case) else { return };
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("software    ÿþ1.0"), "{run:?}");
    let check = run_case(&["check"], case).unwrap();
    assert!(check.stdout.contains("ulog.info.latin1"), "{check:?}");
    assert!(check.stdout.contains("(2 times)"), "{check:?}");
}

#[test]
fn anomalies_have_codes() {
    for (case, code) in [
        ("21_after_R.ulg", "ulog.id.unsubscribed"),
        ("35_name_basic.ulg", "ulog.format.name"),
        ("36_Q_nobits.ulg", "ulog.parameter_default.bits"),
        ("37_log_level_bad.ulg", "ulog.string.level"),
        ("38_sync_wrong.ulg", "ulog.sync.wrong"),
        ("47_dup_info.ulg", "ulog.info.duplicate"),
    ] {
        let Some(check) = run_case(&["check"], case) else { return };
        assert!(check.stdout.contains(code), "{case}: {check:?}");
    }
    let levels = run_case(&["check", "--json"], "37_log_level_bad.ulg").unwrap();
    assert_eq!(levels.json_lines()[0]["findings"][0]["count"], 2, "{levels:?}");
}

#[test]
fn log_without_its_header_is_read() {
    let case = "40_header_zeroed.ulg";
    let Some(log) = sample(&format!("cases/ulog/{case}")) else { return };
    let folder = Folder::new();
    let bytes = std::fs::read(&log).unwrap();
    let cut = folder.write("cut.ulg", &bytes[16..]);
    let mut garbled = bytes.clone();
    garbled[..16].copy_from_slice(&[0xa5; 16]);
    let garbled = folder.write("garbled", &garbled);
    for log in [&log, cut.to_str().unwrap(), garbled.to_str().unwrap()] {
        let cat = folder.run(&["cat", log]).assert_status(3, &["the header is lost"]);
        let x: Vec<Value> =
            cat.json_lines().iter().map(|line| line["data"]["x"].clone()).collect();
        assert_eq!(x[..3], [json!(0.0), json!(1.0), json!(2.0)]);
        let info = folder.run(&["info", log]);
        assert!(info.stdout.contains("the header is lost"), "{info:?}");
        folder.run(&["repair", "-o", "new.ulg", "--force", log]).assert_status(3, &[]);
        let repaired = folder.run(&["cat", "new.ulg"]);
        assert_eq!((repaired.status, repaired.stdout), (0, cat.stdout), "{log}");
        folder.run(&["check", log]).assert_status(3, &[]);
    }
}

#[test]
fn encrypted_log_error_names_the_key() {
    let Some(run) = run_case(&["info"], "12_ulge.ulg") else { return };
    run.assert_status(1, &["XChaCha20", "RSA key number 1", "2048 bits", "--key-file"]);
}

#[test]
fn constants_after_a_field_are_its_labels() {
    let Some(msg) = sample("cases/ulog/msg") else { return };
    let log = sample("cases/ulog/31_pasta_seed.ulg").unwrap();
    let folder = Folder::new();
    let run = folder.run(&["cat", "--msg-dir", &msg, "--format", "text", &log]);
    for start in ["PASTA_MENU_", "PASTA_COOKED_", "PASTA_TYPE_"] {
        assert!(run.stdout.contains(start), "no {start} in {run:?}");
    }
}

#[test]
fn px4_labels_are_built_in() {
    let Some(log) = sample("ulog/px4ulogrs_6ba1abc7.ulg") else { return };
    let folder = Folder::new();
    let run = folder.run(&["cat", "--format", "text", "-t", "vehicle_status", &log]);
    assert!(run.stdout.contains("NAVIGATION_STATE_"), "{}", &run.stdout[..2000]);
    assert!(run.stdout.contains("ARMING_STATE_"), "{}", &run.stdout[..2000]);
    // A type inside of a topic's type has labels too.
    let topic = "position_setpoint_triplet";
    let run = folder.run(&["cat", "--format", "text", "-t", topic, &log]);
    assert!(run.stdout.contains("SETPOINT_TYPE_POSITION"), "{}", &run.stdout[..2000]);
}
