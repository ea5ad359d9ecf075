//! ULogs as MCAP files. Their values are checked in the conformance suite, with the package
//! mcap-protobuf-support.

use serde_json::Value;

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

fn topics(folder: &Folder, log: &str) -> Vec<(String, u64)> {
    let info = folder.run(&["info", "--json", log]).assert_success().stdout;
    let info: Value = serde_json::from_str(&info).unwrap();
    let topic = |topic: &Value| {
        let name = topic["name"].as_str().unwrap();
        let name = match topic["instance"].as_u64().unwrap() {
            0 => name.to_owned(),
            instance => format!("{name}/{instance}"),
        };
        (name, topic["records"].as_u64().unwrap_or(0))
    };
    let mut topics: Vec<_> =
        info["topics"].as_array().unwrap().iter().map(topic).collect();
    topics.sort();
    topics
}

#[test]
fn each_topic_has_all_its_messages() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder.run(&["convert", &log, "-o", "new.mcap"]).assert_status(0, &["new.mcap"]);
    let new = topics(&folder, "new.mcap");
    for (name, records) in topics(&folder, &log) {
        let is_built_in =
            ["logged_strings", "events", "messages"].contains(&name.as_str());
        let mine = new.iter().filter(|(new, _)| *new == format!("/{name}"));
        let mine: Vec<u64> = mine.map(|(_, records)| *records).collect();
        if !is_built_in && name != "parameter_changes" {
            assert!(mine.contains(&records), "{name}: {mine:?}, not {records}");
        }
    }
    assert!(new.iter().any(|(name, records)| name == "/messages" && *records > 0));
}

#[test]
fn only_selected_topics_and_times_are_converted() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let part = [
        "--topic",
        "vehicle_attitude",
        "--format",
        "mcap",
        "--start",
        "6",
        "--end",
        "7",
    ];
    folder
        .run(&[&["convert", &log, "-o", "part.mcap"][..], &part].concat())
        .assert_status(0, &["part.mcap"]);
    let selection = ["--topic", "vehicle_attitude", "--start", "6", "--end", "7"];
    let lines = folder
        .run(&[&["cat", "--json", &log][..], &selection].concat())
        .assert_success();
    let records = lines.stdout.lines().count() as u64;
    assert_eq!(
        topics(&folder, "part.mcap"),
        [("/vehicle_attitude".to_owned(), records)]
    );
}

#[test]
fn records_at_impossible_times_are_reported() {
    let Some(log) = sample("ulog/pyulog_sample_px4_events.ulg") else { return };
    let folder = Folder::new();
    // pyulog also reads 12 records at time 0, before the log begins.
    let expected = "12 records have an impossible time: they are written at the time";
    for out in ["a.mcap", "a.bag"] {
        folder.run(&["convert", &log, "-o", out]).assert_status(0, &[expected]);
    }
}
