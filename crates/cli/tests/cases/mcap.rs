//! The cases of MCAP files.

use serde_json::{Value, json};

use crate::{program::Folder, samples::sample};

/// A case among the samples, if they are there.
fn case(name: &str) -> Option<String> {
    sample(&format!("cases/mcap/{name}"))
}

/// What `info --json` prints of a log.
fn info(folder: &Folder, log: &str) -> Value {
    serde_json::from_str(&folder.run(&["info", "--json", log]).stdout).unwrap()
}

/// The lines that `cat` prints of a sound log: the topic and the data.
fn cat(folder: &Folder, log: &str) -> Vec<(String, Value)> {
    let lines = folder.run(&["cat", "--json", log]).succeeded().json_lines();
    let pair =
        |line: Value| (line["topic"].as_str().unwrap().into(), line["data"].clone());
    lines.into_iter().map(pair).collect()
}

/// Checks that no command finds damage in `log`, and that copies have its `records`.
#[track_caller]
fn is_sound(log: &str, records: u64) {
    let folder = Folder::new();
    folder.run(&["check", log]).ended(0, &[]);
    folder.run(&["--strict", "cat", log]).succeeded();
    assert_eq!(info(&folder, log)["records"], records, "{log}");
    for command in ["filter", "repair"] {
        let new = format!("{command}.mcap");
        let run = folder.run(&["--strict", command, log, "-o", &new]).ended(0, &[]);
        assert!(!run.stderr.contains("damage"), "{run:?}");
        assert_eq!(cat(&folder, &new), cat(&folder, log), "{log} {command}");
    }
}

#[test]
fn schemas_that_a_summary_does_not_repeat_are_read_from_the_data() {
    let Some(log) = case("no_repeat_schemas.mcap") else { return };
    is_sound(&log, 20);
    let folder = Folder::new();
    let lines = cat(&folder, &log);
    assert_eq!(lines[0], ("/chatter".into(), json!({"data": "msg 0"})));
    assert_eq!(lines[1], ("/j".into(), json!({"x": 0.1})));
    folder.run(&["convert", &log, "-o", "tables", "--to", "csv"]).ended(0, &[]);
    assert!(folder.read("tables/no_repeat_schemas_chatter_0.csv").contains("msg 9"));
    folder.run(&["merge", &log, &log, "-o", "merged.mcap"]).ended(0, &[]);
    assert_eq!(cat(&folder, "merged.mcap").len(), 2 * lines.len());
    assert_eq!(cat(&folder, "merged.mcap")[0], lines[0]);
}

#[test]
fn a_padded_file_that_does_not_repeat_its_schema_has_one() {
    let Some(log) = case("pad_schema_lost.mcap") else { return };
    is_sound(&log, 1);
    assert_eq!(info(&Folder::new(), &log)["topics"][0]["type_name"], "Example");
}

#[test]
fn messages_are_counted_without_statistics() {
    let Some(log) = case("no_statistics.mcap") else { return };
    is_sound(&log, 20);
    let folder = Folder::new();
    folder.run(&["index", &log, "-o", "catalog.jsonl"]).ended(0, &[]);
    assert!(folder.read("catalog.jsonl").contains("\"records\":20"));
}

#[test]
fn padded_records_are_no_damage() {
    for (name, records) in [
        ("pad_attachment_crc.mcap", 0),
        ("pad_id_reused.mcap", 1),
        ("pad_nosummary_garbled.mcap", 10),
        ("pad_summary_crc.mcap", 1),
    ] {
        if let Some(log) = case(name) {
            is_sound(&log, records);
        }
    }
}

/// Every eighth file of the suite, which has 416; `conformance/mcap/suite.py` compares all.
#[test]
fn the_conformance_suite_of_the_format_is_sound() {
    let Some(suite) = sample("cases/mcap-conformance") else { return };
    let mut files: Vec<_> = std::fs::read_dir(suite)
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path().into_os_string().into_string().unwrap())
        .filter(|file| file.ends_with(".mcap"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 416);
    for file in files.iter().step_by(8) {
        let told = std::fs::read_to_string(file.replace(".mcap", ".json")).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let records = told["records"].as_array().unwrap().iter();
        let messages = records.filter(|record| record["type"] == "Message");
        is_sound(file, messages.count() as u64);
    }
}
