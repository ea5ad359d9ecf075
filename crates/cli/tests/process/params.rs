//! `logtool params`.

use serde_json::json;

use crate::{bytes, program::Folder};

#[test]
fn parameters_are_csv_in_a_pipe() {
    let folder = Folder::with_log(&bytes::log());
    let params = |args: &[&str]| {
        folder.run(&[&["params", "flight.ulg"], args].concat()).assert_success().stdout
    };
    let head = "name,type,value,system_default,setup_default\n";
    assert_eq!(params(&[]), format!("{head}COUNT,int32,6,,\nGAIN,float,0.5,0.25,\n"));
    assert_eq!(params(&["--non-default"]), format!("{head}GAIN,float,0.5,0.25,\n"));
    let initial = params(&["--initial"]);
    assert_eq!(initial, format!("{head}COUNT,int32,5,,\nGAIN,float,0.5,0.25,\n"));
    assert_eq!(params(&["--history"]), "time,name,old,new\n2.000000,COUNT,5,6\n");
}

#[test]
fn parameters_are_a_file_for_qgroundcontrol() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["params", "flight.ulg", "--format", "qgc"]).assert_success();
    let lines: Vec<&str> = run.stdout.lines().filter(|l| !l.starts_with('#')).collect();
    // Vehicle, component, name, value, MAV_PARAM_TYPE: 6 is INT32, 9 is REAL32.
    assert_eq!(lines, ["1\t1\tCOUNT\t6\t6", "1\t1\tGAIN\t0.5\t9"]);
}

#[test]
fn parameters_are_json_with_their_defaults_and_changes() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["params", "flight.ulg", "--json"]).assert_success();
    let all: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        all["COUNT"],
        json!({
            "value": 6, "type": "int32", "initial": 5,
            "system_default": null, "setup_default": null,
            "changes": [{"time": 2.0, "value": 6}],
        })
    );
    assert_eq!(all["GAIN"]["system_default"], 0.25);
}

#[test]
fn parameters_of_two_logs_are_compared() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("before.ulg", &bytes::definitions());
    let run = folder.run(&["params", "diff", "before.ulg", "flight.ulg"]);
    assert_eq!(run.status, 0);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    assert_eq!(words, ["COUNT", "5", "6"]);
    assert!(run.stderr.contains("1 of 2 parameters differ"), "{run:?}");
    let args = ["params", "diff", "before.ulg", "flight.ulg", "--json", "-q"];
    let run = folder.run(&args).assert_success();
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json, json!({"COUNT": {"a": 5, "b": 6}}));
    let args = ["params", "diff", "before.ulg", "flight.ulg", "--format", "csv", "-q"];
    assert_eq!(folder.run(&args).assert_success().stdout, "name,a,b\nCOUNT,5,6\n");
}

#[test]
fn parameters_without_a_log_are_wrong_usage() {
    Folder::new().run(&["params"]).assert_status(2, &["Usage"]);
}

#[test]
fn infinities_are_null_in_json_and_counted() {
    let mut log = bytes::log();
    let infinity = f32::INFINITY.to_le_bytes();
    log.extend(bytes::keyed_message(b'P', "float GAIN", &infinity));
    let folder = Folder::new();
    folder.write("flight.ulg", &log);
    // The value, and the change to it.
    let note = ["2 infinities are null"];
    let run = folder.run(&["params", "flight.ulg", "--json"]).assert_status(0, &note);
    assert!(run.stdout.contains("null") && !run.stdout.contains("inf"), "{run:?}");
    let history = ["params", "flight.ulg", "--json", "--history"];
    folder.run(&history).assert_status(0, &["1 infinity is null"]);
}
