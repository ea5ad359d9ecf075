//! The cases of log streams over MAVLink.

use crate::{program::Folder, samples::sample};

/// Returns the number of rows of the ULog in the telemetry log `name`, if the samples are there.
#[track_caller]
fn rows(name: &str, more: &[&str], status: i32, words: &[&str]) -> Option<u64> {
    let log = sample(&format!("cases/mavlink/{name}"))?;
    let folder = Folder::new();
    let args = ["record", "mavlink", &log, "-o", "o.ulg"];
    folder.run(&[&args[..], more].concat()).assert_status(status, words);
    let info = folder.run(&["info", "--json", "o.ulg"]).json_lines();
    Some(info[0]["topics"][0]["records"].as_u64().unwrap())
}

#[test]
fn packets_of_a_log_whose_header_is_lost_are_counted() {
    let words = ["lost: 34 packets out of sequence"];
    let rows = rows("stream_restart_header_lost.tlog", &[], 3, &words);
    assert!(rows.is_none_or(|rows| rows == 400));
}

#[test]
fn packets_before_the_header_are_counted() {
    let words = ["29 packets before the header"];
    let rows = rows("stream_tail_before_header.tlog", &[], 3, &words);
    assert!(rows.is_none_or(|rows| rows == 400));
}

#[test]
fn components_of_one_system_have_logs_of_their_own() {
    let name = "two_components_one_system.tlog";
    let words = ["35 packets of other vehicles or of other logs", "log 1 of 2"];
    assert!(rows(name, &[], 3, &words).is_none_or(|rows| rows == 400));
    let words = ["log 2 of 2"];
    assert!(rows(name, &["--log", "2"], 0, &words).is_none_or(|rows| rows == 400));
}
