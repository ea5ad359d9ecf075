//! `logtool info`.

use std::fs;

use serde_json::json;

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn info_summarizes_a_log_on_one_screen() {
    let folder = Folder::with_log(&bytes::log());
    let text = folder.run(&["info", "flight.ulg"]).assert_success().stdout;
    for words in [
        "flight.ulg  ULog",
        "2.000 s, from 00:00:01.000 to 00:00:03.000 since boot",
        "system      PX4",
        "2 logged strings",
        "parameters  2, 1 not at the default, 1 change",
        "dropouts    none",
        "1 topic without records:\n    bat\n",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let row = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // 3 records in 1.5 s, 2 records in 1.500001 s; a record is 12 bytes.
    assert_eq!(row("att "), ["att", "3", "1.33", "36", "B"]);
    assert_eq!(row("att.1 "), ["att.1", "2", "0.67", "24", "B"]);
    assert!(!text.contains('\x1b'), "colour is for terminals");
}

#[test]
fn records_that_come_in_bursts_have_no_rate() {
    let mut log = bytes::definitions();
    // The first instance comes every second, and the second one in one burst.
    for time in 1..=30 {
        log.extend(bytes::att(0, time * 1_000_000, 1.0));
    }
    for time in 0..5 {
        log.extend(bytes::att(1, 2_000_000 + time * 3, 1.0));
    }
    let folder = Folder::with_log(&log);
    let text = folder.run(&["info", "flight.ulg"]).assert_success().stdout;
    let row = |text: &str, label: &str| {
        let line = text.lines().rev().find(|line| line.trim_start().starts_with(label));
        line.unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row(&text, "att ")[2], "1.00");
    assert_eq!(row(&text, "att.1 ")[2], "-");
    // A second burst makes the mean rate low, and most periods stay short.
    for time in 0..5 {
        log.extend(bytes::att(1, 20_000_000 + time * 3, 1.0));
    }
    folder.write("flight.ulg", &log);
    let text = folder.run(&["info", "--freq", "flight.ulg"]).assert_success().stdout;
    assert_eq!(row(&text, "att ")[1], "1.00");
    assert_eq!(row(&text, "att.1 ")[1], "-");
}

#[test]
fn info_json_is_complete_and_one_line_in_a_pipe() {
    let folder = Folder::with_log(&bytes::log());
    let run =
        folder.run(&["info", "--json", "flight.ulg", "flight.ulg"]).assert_success();
    let reports = run.json_lines();
    assert_eq!(reports.len(), 2);
    let report = &reports[0];
    assert_eq!(report["format"], "ulog");
    assert_eq!(report["bytes"], bytes::log().len());
    assert_eq!(report["duration_s"], 2.000001);
    assert_eq!(report["records"], 8);
    assert_eq!(report["metadata"]["info"]["sys_name"], "PX4");
    assert_eq!(report["metadata"]["parameters"], json!({"COUNT": 6, "GAIN": 0.5}));
    assert_eq!(report["damage"], json!([]));
    let topics = report["topics"].as_array().unwrap();
    let att = topics.iter().find(|topic| topic["topic"] == "att.1").unwrap();
    assert_eq!(att["records"], 2);
    assert_eq!(att["columns"], json!(["timestamp", "x"]));
    assert_eq!((&att["first_s"], &att["last_s"]), (&json!(1.5), &json!(3.000001)));
}

/// The digits are those that the Python package `blake3` gives.
#[test]
fn digest_is_that_of_the_stored_bytes() {
    const DIGEST: &str =
        "blake3:180bb22484b37b3591691de80fd132495cea4099b95f9186e3f4e0356c658aaa";
    let log = fs::read(testdata("quad_flight.ulg")).unwrap();
    let folder = Folder::with_log(&log);
    let text = folder.run(&["info", "--digest", "flight.ulg"]).assert_success().stdout;
    assert!(text.contains(&format!("digest      {DIGEST}\n")), "{text}");

    let packed = zstd::bulk::compress(&log, 1).unwrap();
    folder.write("flight.ulg.zst", &packed);
    let names = ["flight.ulg", "flight.ulg.zst"];
    let run = folder.run(&["info", "--digest", "--json", names[0], names[1]]);
    let reports = run.assert_success().json_lines();
    assert_eq!(reports[0]["digest"], DIGEST);
    let of_packed = format!("blake3:{}", blake3::hash(&packed).to_hex());
    assert_eq!(reports[1]["digest"], of_packed);
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("cut.ulg", &bytes::cut_log());
    folder.write("text.ulg", b"this is no log");
    let run = folder.run(&["info", "text.ulg", "cut.ulg", "missing.ulg", "flight.ulg"]);
    let run = run.assert_status(
        1,
        &[
            "cannot open text.ulg: not a known log",
            "cannot open missing.ulg: there is no such",
        ],
    );
    assert!(run.stdout.contains("cut.ulg") && run.stdout.contains("flight.ulg"));
    let run = folder.run(&["info", "flight.ulg", "cut.ulg"]).assert_status(3, &[]);
    assert!(run.stdout.contains("ends inside a record"), "{run:?}");
}

#[test]
fn info_json_lists_damage() {
    let folder = Folder::with_log(&bytes::cut_log());
    let run = folder.run(&["info", "--json", "flight.ulg"]).assert_status(3, &[]);
    let (start, end) = (bytes::log().len() - 17, bytes::log().len() - 3);
    let report = &run.json_lines()[0];
    let damage = &report["damage"][0];
    assert_eq!(damage["kind"], "truncated");
    assert_eq!((&damage["start"], &damage["end"]), (&json!(start), &json!(end)));
    assert_eq!(report["lost_bytes"], end - start);
}

#[test]
fn derived_topics_are_listed() {
    let run = Folder::new().run(&["info", &testdata("rover.bag")]).assert_success();
    let line = "\n  also /scan/points, /points/points: made of these (convert and cat \
                take them by name)\n";
    assert!(run.stdout.contains(line), "{run:?}");
}

#[test]
fn info_json_reports_files_that_cannot_be_opened() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("no.log", b"this is no log, whatever it is called");
    for command in ["info", "check"] {
        let run =
            folder.run(&[command, "--json", "no.log"]).assert_status(1, &["error:"]);
        let report = &run.json_lines()[0];
        assert_eq!(report["file"], "no.log", "{command}");
        assert!(report["error"].as_str().unwrap().contains("no.log"), "{command}");
        let run = folder.run(&[command, "--json", "no.log", "flight.ulg", "gone.ulg"]);
        let run = run.assert_status(1, &["error:"]);
        let reports = run.json_lines();
        let files: Vec<&str> =
            reports.iter().map(|report| report["file"].as_str().unwrap()).collect();
        assert_eq!(files, ["no.log", "flight.ulg", "gone.ulg"], "{command}");
    }
}

#[test]
fn empty_bag_has_an_empty_list_of_streams() {
    let Some(bag) = sample("rosbag/no-messages.bag") else { return };
    let run = Folder::new().run(&["info", "--json", &bag]).assert_success();
    assert_eq!(run.json_lines()[0]["streams"], json!([]));
}

#[test]
fn strict_run_accepts_a_lost_index() {
    for name in ["unindexed.bag", "chunkinfo_count_high.bag"] {
        let Some(bag) = sample(&format!("rosbag/edge/{name}")) else { return };
        let folder = Folder::new();
        folder.run(&["cat", "--strict", "--json", &bag]).assert_success();
        // This reports the damage.
        assert_eq!(folder.run(&["check", &bag]).status, 3, "{name}");
    }
}

#[test]
fn one_information_is_printed_whole() {
    let folder = Folder::new();
    let show =
        |log: &str, key: &str| folder.run(&["info", "--show", key, &testdata(log)]);
    let run = show("quad_flight.ulg", "perf_counter_preflight").assert_success();
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(run.stdout.ends_with("max 1022us\n"), "{run:?}");
    let console = show("quad_flight.ulg", "boot_console_output").assert_success();
    assert!(
        console.stdout.contains("\nHW arch: ") && console.stdout.ends_with("nsh>\n")
    );
    assert_eq!(
        show("quad_flight.ulg", "sys_os_name").assert_success().stdout,
        "NuttX\n"
    );
    let fault = show("damaged/crashed.ulg", "hardfault_plain");
    assert_eq!(fault.status, 3, "{fault:?}");
    assert!(!fault.stdout.is_empty());
    show("quad_flight.ulg", "hardfault")
        .assert_status(1, &["no information `hardfault`", "sys_uuid"]);
    show("quad_flight.ulg", "perf_counter")
        .assert_status(1, &["did you mean `perf_counter_preflight`?"]);
    show("rover.bag", "sys_name")
        .assert_status(1, &["only ULogs have such information"]);
}
