//! Tests of selections: lists of topics, names of formats and clocks, names of parameters,
//! and empty selections.

use crate::{
    bytes::{self, att, message},
    program::Folder,
    samples::testdata,
};

/// A log with the topics `att`, `bat` and one whose name has a comma.
fn log_with_comma() -> Vec<u8> {
    let mut log = bytes::definitions();
    log.extend(message(b'F', b"a,b:uint64_t timestamp;float x;"));
    log.extend(message(b'A', &[&[0, 3, 0][..], b"a,b"].concat()));
    log.extend(att(0, 1_000_000, 0.5));
    log.extend(att(1, 1_500_000, 1.5));
    log.extend(att(3, 2_000_000, 2.5));
    log
}

#[test]
fn topic_list_is_split_at_commas_unless_a_topic_has_that_name() {
    let folder = Folder::with_log(&log_with_comma());
    let topics = |list: &str| {
        let run = folder.run(&["cat", "flight.ulg", "-t", list]).assert_success();
        let topic =
            |line: serde_json::Value| line["topic"].as_str().unwrap().to_owned();
        run.json_lines().into_iter().map(topic).collect::<Vec<_>>()
    };
    assert_eq!(topics("att.0,bat"), ["att"]);
    assert_eq!(topics("att.0, att.1"), ["att", "att.1"]);
    assert_eq!(topics("a,b"), ["a,b"]);
    assert_eq!(topics("a?b,att.1"), ["att.1", "a,b"]);
    folder
        .run(&["cat", "flight.ulg", "-t", "att,gps"])
        .assert_status(1, &["topic `gps`"]);
    folder
        .run(&["batch", "flight.ulg", "-o", "set", "-t", "att,nothing"])
        .assert_status(0, &[]);
    assert!(folder.list("set").contains(&"att".to_owned()), "{:?}", folder.list("set"));
}

#[test]
fn names_of_formats_and_clocks_ignore_case() {
    let folder = Folder::with_log(&bytes::log());
    folder
        .run(&["convert", "flight.ulg", "-o", "a", "--format", "CSV"])
        .assert_status(0, &[]);
    assert!(folder.list("a").contains(&"flight_att_0.csv".to_owned()));
    let lower =
        folder.run(&["cat", "flight.ulg", "--clock", "relative"]).assert_success();
    let upper =
        folder.run(&["cat", "flight.ulg", "--clock", "Relative"]).assert_success();
    assert_eq!(upper.stdout, lower.stdout);
    let json =
        folder.run(&["params", "flight.ulg", "--format", "JSON"]).assert_success();
    assert!(json.stdout.starts_with('{'));
    folder.run(&["messages", "flight.ulg", "--level", "Warning"]).assert_success();
}

#[test]
fn messages_can_be_selected_by_time() {
    let folder = Folder::with_log(&bytes::log());
    let messages = |args: &[&str]| {
        folder.run(&[&["messages", "flight.ulg"], args].concat()).stdout
    };
    assert!(messages(&["--start", "boot:2"]).ends_with("WARN   low battery\n"));
    assert!(!messages(&["--start", "boot:2"]).contains("ready"));
    assert!(messages(&["--end", "boot:2"]).contains("ready"));
    assert!(!messages(&["--end", "boot:2"]).contains("battery"));
    let none = folder.run(&["messages", "flight.ulg", "--start", "1h"]);
    none.assert_status(0, &["warning: flight.ulg: no messages match"]);
}

#[test]
fn parameters_are_selected_by_name() {
    let folder = Folder::with_log(&bytes::log());
    let names = |args: &[&str]| {
        let run =
            folder.run(&[&["params", "flight.ulg"], args].concat()).assert_success();
        let name = |line: &str| line.split(',').next().unwrap().to_owned();
        run.stdout.lines().skip(1).map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["gain"]), ["GAIN"]);
    assert_eq!(names(&["*N*"]), ["COUNT", "GAIN"]);
    assert_eq!(names(&["C?UNT", "GAIN"]), ["COUNT", "GAIN"]);
    folder
        .run(&["params", "flight.ulg", "GIAN"])
        .assert_status(1, &["`GIAN`", "`GAIN`"]);
    folder.write("before.ulg", &bytes::definitions());
    let diff = ["params", "diff", "before.ulg", "flight.ulg", "GAIN"];
    let diff = folder.run(&diff);
    assert_eq!((diff.status, &*diff.stdout), (0, ""), "{diff:?}");
    assert!(diff.stderr.contains("0 of 1 parameter differ"), "{diff:?}");
}

#[test]
fn empty_selection_is_reported() {
    let folder = Folder::with_log(&bytes::log());
    let late = ["--start", "1h"];
    let run = |args: &[&str]| folder.run(&[args, &late].concat());
    let nothing = "no records match the selected topics and time range";
    let of_log = format!("warning: flight.ulg: {nothing}");
    run(&["cat", "flight.ulg"]).assert_status(0, &[&of_log]);
    run(&["filter", "flight.ulg", "-o", "a.ulg"]).assert_status(0, &[&of_log]);
    run(&["convert", "flight.ulg", "-o", "a.mcap"]).assert_status(0, &[&of_log]);
    run(&["convert", "flight.ulg", "-t", "bat", "-o", "a"])
        .assert_status(0, &["warning: flight.ulg: nothing is written", nothing]);
    // A table that is named has its header at least.
    for out in ["bat.csv", "-"] {
        let args = ["convert", "flight.ulg", "-t", "bat", "-o", out];
        run(&args).assert_status(0, &[&of_log, "1 table, 0 rows"]);
    }
    run(&["merge", "flight.ulg", "flight.ulg", "--same-clock", "-o", "b.ulg"])
        .assert_status(0, &[&format!("warning: 2 logs: {nothing}")]);
    run(&["plan", "flight.ulg"]).assert_status(0, &[&format!("warning: {nothing}")]);
    run(&["plot", "flight.ulg", "att.x", "-o", "a.svg"]).assert_status(0, &[&of_log]);
    run(&["report", "flight.ulg", "-o", "a.html"]).assert_status(0, &[&of_log]);
    assert_eq!(folder.list("."), ["a.mcap", "a.ulg", "b.ulg", "bat.csv", "flight.ulg"]);
    for args in [
        &["cat", "-q", "flight.ulg"][..],
        &["plot", "-q", "flight.ulg", "att.x", "-o", "a.svg"],
    ] {
        let quiet = run(args).assert_success();
        assert_eq!((&*quiet.stdout, &*quiet.stderr), ("", ""), "{args:?}");
    }
}

#[test]
fn number_after_the_end_of_the_log_is_explained() {
    // date -u -d @1396293890: in the log by its own clock, which counts from 1970.
    let folder = Folder::new();
    let (bag, late) = (testdata("rover.bag"), ["--start", "1396293890"]);
    let text = "the selected start is after the end of the log, which is 9.960 s long";
    let hint =
        "boot:1396293890 is a time on its own clock, and 2014-03-31T19:24:50Z a date";
    for args in [
        &["cat", &*bag][..],
        &["messages", &testdata("quad_flight.ulg")],
        &["filter", &bag, "-o", "a.bag"],
        &["convert", &bag, "-o", "a"],
        &["convert", &bag, "-o", "a.mcap"],
        &["merge", &bag, &bag, "-o", "b.bag"],
        &["plot", &bag, "/gps/fix.altitude", "-o", "a.svg"],
        &["report", &bag, "-o", "a.html"],
    ] {
        let run = folder.run(&[args, &late].concat());
        let text =
            if args[0] == "messages" { "the selected start is after" } else { text };
        run.assert_status(0, &[text, hint]);
    }
    // An end after the end of the log is usual, unless it is a time of the log.
    let end = |end: &str| folder.run(&["cat", &bag, "-n", "1", "--end", end]);
    end("1717236005")
        .assert_status(0, &["the selected end is after", "boot:1717236005"]);
    assert_eq!(end("1h").assert_success().stderr, "");
}

#[test]
fn manual_pages_are_written_to_files_only_on_request() {
    let folder = Folder::new();
    let page = folder.run(&["man", "convert"]).assert_success();
    assert!(page.stdout.contains(".TH logtool-convert 1"), "{}", &page.stdout[..200]);
    assert_eq!(folder.list("."), [""; 0]);
    folder.run(&["man", "conver"]).assert_status(2, &["`conver`", "`convert`"]);
    assert_eq!(folder.list("."), [""; 0]);
}

#[test]
fn commands_of_other_programs_have_a_hint() {
    let folder = Folder::new();
    for (typed, ours) in [
        ("ls", "info"),
        ("du", "info"),
        ("recover", "repair"),
        ("reindex", "repair"),
        ("doctor", "check"),
        ("export", "convert"),
    ] {
        folder.run(&[typed]).assert_status(2, &[typed, &format!("'{ours}'")]);
    }
}
