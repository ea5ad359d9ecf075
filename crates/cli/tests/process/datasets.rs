//! Datasets that are updated with other logs or other options.

use std::fs;

use serde_json::Value;

use crate::{
    program::{Folder, Run},
    samples::testdata,
};

/// Returns a folder with logs. Each log is a copy of a file in `testdata/`.
fn folder(logs: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (from, to) in logs {
        folder.write(to, &fs::read(testdata(from)).unwrap());
    }
    folder
}

fn batch(folder: &Folder, args: &[&str]) -> Run {
    folder.run(&[&["batch", "--json"], args].concat())
}

/// Returns the names and the outcomes of the logs, sorted.
fn outcomes(run: &Run) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = run.json_lines().into_iter().filter(|event| event["event"] == "log");
    let mut logs: Vec<_> =
        events.map(|event| (text(&event["log"]), text(&event["outcome"]))).collect();
    logs.sort();
    logs
}

fn one(name: &str, outcome: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), outcome.to_owned())]
}

#[test]
fn missing_log_keeps_its_name_and_tables() {
    let folder = folder(&[
        ("pasta.ulg", "mnt/a/log_1.ulg"),
        ("quad_flight.ulg", "mnt/b/log_1.ulg"),
    ]);
    assert_eq!(
        outcomes(&batch(&folder, &["mnt/a", "-o", "ds"])),
        one("log_1", "converted")
    );
    fs::rename(folder.path().join("mnt/a"), folder.path().join("away")).unwrap();
    let run = batch(&folder, &["mnt/b", "-o", "ds", "--catalog", "jsonl"]);
    assert_eq!(outcomes(&run), one("b_log_1", "converted"));
    assert_eq!(folder.list("ds/kitchen_status"), ["log=log_1"]);
    assert_eq!(folder.list("ds/battery_status"), ["log=b_log_1"]);
    assert!(folder.read("ds/_catalog.jsonl").contains("mnt/a/log_1.ulg"));
    // A log in another folder is recognized as the same log.
    let run = batch(&folder, &["away", "mnt", "-o", "ds"]).assert_status(0, &[]);
    let expected =
        ["b_log_1", "log_1"].map(|name| (name.to_owned(), "done_before".to_owned()));
    assert_eq!(outcomes(&run), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn logs_with_names_that_are_not_utf8_are_distinct() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = Folder::new();
    let names = [&b"x\xff.ulg"[..], b"x\xfe.ulg"];
    for (name, log) in names.into_iter().zip(["pasta.ulg", "quad_flight.ulg"]) {
        let to = folder.path().join(OsStr::from_bytes(name));
        fs::copy(testdata(log), to).unwrap();
    }
    let run =
        batch(&folder, &[".", "-o", "ds"]).assert_status(0, &["2 logs converted"]);
    assert_eq!(outcomes(&run).len(), 2);
    assert_eq!(folder.list("ds/kitchen_status"), ["log=x_xff"]);
    assert_eq!(folder.list("ds/battery_status"), ["log=x_xfe"]);
    folder
        .run(&["index", ".", "-o", "all.parquet"])
        .assert_status(0, &["2 logs indexed"]);
    // A missing file in a list does not affect the others.
    let list = b"x\xff.ulg\0none.ulg\0";
    let run = folder.run_with(&["batch", "-", "-o", "ds"], list);
    run.assert_status(1, &["0 logs converted, 1 before, 1 failed", "none.ulg"]);
    let list = b"\xef\xbb\xbfx\xff.ulg\r\n";
    folder.run_with(&["batch", "-", "-o", "ds"], list).assert_status(0, &["1 before"]);
    let log = fs::read(testdata("pasta.ulg")).unwrap();
    let run = folder.run_with(&["batch", "-", "-o", "ds"], &log);
    run.assert_status(1, &["the list: it is a log, not a list of logs"]);
}

#[test]
fn link_to_a_missing_file_is_a_failure() {
    let folder = folder(&[("pasta.ulg", "logs/x.ulg")]);
    #[cfg(unix)]
    {
        let link = folder.path().join("logs/y.ulg");
        std::os::unix::fs::symlink("/nowhere/y.ulg", link).unwrap();
        let expected = ["failed: 1 log", "y.ulg: it is a link to a missing file"];
        batch(&folder, &["logs", "-o", "ds"]).assert_status(1, &expected);
        folder.run(&["index", "logs", "-o", "all.parquet"]).assert_status(1, &expected);
    }
    assert_eq!(folder.list("logs")[0], "x.ulg");
}

#[test]
fn changed_contents_of_option_files_convert_a_log_again() {
    let folder =
        folder(&[("pasta.ulg", "x.ulg"), ("msg/KitchenStatus.msg", "msg/K.msg")]);
    let args = ["x.ulg", "-o", "ds", "--msg-dir", "msg"];
    assert_eq!(outcomes(&batch(&folder, &args)), one("x", "converted"));
    assert_eq!(outcomes(&batch(&folder, &args)), one("x", "done_before"));
    let labels = folder.read("msg/K.msg").replace("CARBONARA", "GRICIA");
    folder.write("msg/K.msg", labels.as_bytes());
    assert_eq!(outcomes(&batch(&folder, &args)), one("x", "converted"));
    folder.write("key", &[1; 16]);
    let args = [&args[..], &["--key-file", "key"]].concat();
    batch(&folder, &args);
    assert_eq!(outcomes(&batch(&folder, &args)), one("x", "done_before"));
    folder.write("key", &[2; 16]);
    assert_eq!(outcomes(&batch(&folder, &args)), one("x", "converted"));
    let none = ["x.ulg", "-o", "ds", "--calibration", "none.xml"];
    batch(&folder, &none).assert_status(1, &["none.xml"]);
}

#[test]
fn patterns_without_matches_are_reported() {
    let folder = folder(&[("pasta.ulg", "logs/x.ulg"), ("rover.bag", "logs/y.bag")]);
    let some = ["logs", "-o", "ds", "-t", "kitchen_*", "-t", "gps_*"];
    for _ in 0..2 {
        let run = batch(&folder, &some)
            .assert_status(0, &["warning: no log has a topic `gps_*`"]);
        assert!(!run.stderr.contains("kitchen"), "{run:?}");
        let end = run.json_lines().pop().unwrap();
        assert_eq!(end["unused"], serde_json::json!(["topic `gps_*`"]));
    }
    for none in [["-t", "kitchen_sttus"], ["--field", "tpyo"]] {
        for _ in 0..2 {
            let all = [&["logs", "-o", "ds", "-q"][..], &none].concat();
            let expected = format!(
                "no log has a {}",
                if none[0] == "-t" { "topic" } else { "field" }
            );
            batch(&folder, &all).assert_status(1, &["error: ", &expected, none[1]]);
        }
    }
}

#[test]
fn types_of_tables_without_files_are_ignored() {
    let folder = folder(&[("quad_flight.ulg", "x.ulg")]);
    let convert = |args: &[&str]| {
        batch(&folder, &[&["x.ulg", "-o", "ds"], args].concat()).assert_status(0, &[]);
        folder
            .list("ds")
            .into_iter()
            .filter(|name| !name.starts_with('_'))
            .collect::<Vec<_>>()
    };
    let plain = convert(&["-t", "vehicle_status"]);
    assert_eq!(plain, ["vehicle_status"]);
    assert_eq!(convert(&["-t", "esc_status"]), ["esc_status"]);
    // The times have another type, and no table has files with the first type any more.
    assert_eq!(convert(&["-t", "vehicle_status", "--clock", "utc"]), plain);
}

#[test]
fn field_with_the_name_of_the_partition_is_reported() {
    let folder = Folder::new();
    folder.write("one.ulg", &crate::bytes::log_of_field("log"));
    let expected = ["do not see its field `log`", "hive_partitioning = false"];
    batch(&folder, &["one.ulg", "-o", "ds"]).assert_status(0, &expected);
}

#[test]
fn dataset_among_the_logs_is_reported_and_skipped() {
    let folder = folder(&[("rover.bag", "logs/y.bag")]);
    batch(&folder, &["logs", "-o", "logs/set", "--format", "mcap"])
        .assert_status(0, &[]);
    let expected = ["1 log converted", "logs/set: a dataset, which is searched"];
    batch(&folder, &["logs", "-o", "other"]).assert_status(0, &expected);
    let run = batch(&folder, &["logs", "logs/set", "-o", "other"]);
    run.assert_status(0, &["1 log converted, 1 before"]);
}

#[test]
fn unsharded_batch_removes_empty_table_folders() {
    let folder = folder(&[("quad_flight.ulg", "logs/x.ulg")]);
    fs::create_dir_all(folder.path().join("set/_logtool")).unwrap();
    let left = folder.path().join("set/battery_status~d0706c26");
    fs::create_dir(&left).unwrap();
    for (shard, stays) in [("0/2", true), ("1/2", true), ("0/1", false)] {
        batch(&folder, &["-q", "logs", "-o", "set", "--shard", shard]).assert_success();
        assert_eq!(left.exists(), stays, "{shard}");
    }
    assert!(folder.path().join("set/battery_status").is_dir());
}
