//! Tests of messages: one sentence each, with the name of the file, the reason and a hint.

use crate::{bytes, program::Folder, samples::testdata};

#[test]
fn missing_side_files_are_named_with_what_they_are() {
    let folder = Folder::with_log(&bytes::log());
    let car = testdata("car.vel");
    for (args, what) in [
        (&["convert", &car, "--calibration", "x", "-o", "a"][..], "the calibration x"),
        (&["merge", &car, &car, "--align", "x", "-o", "a.mcap"], "the alignment x"),
        (&["info", "--key-file", "x", "flight.ulg"], "the key x"),
        (&["batch", "@x", "-o", "a"], "the list x"),
        (&["read", "--split", "x", "-o", "a.csv"], "the splits x"),
    ] {
        let run = folder.run(args);
        let text = format!("error: cannot read {what}: there is no such file\n");
        assert_eq!((run.status, run.stderr), (1, text), "{args:?}");
    }
    let labels = folder.run(&["cat", "flight.ulg", "--msg-dir", "x"]);
    labels
        .assert_status(1, &["the message definitions in x: there is no such folder\n"]);
    let record = folder.run(&["record", "mavlink", "tcp:127.0.0.1:1", "-o", "x/a.ulg"]);
    record.assert_status(1, &["cannot write x/a.ulg: there is no such folder\n"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[cfg(target_os = "linux")]
#[test]
fn write_errors_name_the_output_and_the_reason_once() {
    let folder = Folder::with_log(&bytes::log());
    // Nobody can create a file in /proc, and a file is not a folder.
    for (args, path) in [
        (&["convert", "flight.ulg", "-o", "/proc/a"][..], "/proc/a"),
        (&["convert", "flight.ulg", "-o", "/proc/a.csv", "-t", "bat"], "/proc/a.csv"),
        (&["filter", "flight.ulg", "-o", "/proc/a.ulg"], "/proc/a.ulg"),
        (&["plot", "flight.ulg", "att.x", "-o", "/proc/a.svg"], "/proc/a.svg"),
        (&["convert", "flight.ulg", "-o", "flight.ulg/a"], "flight.ulg/a"),
    ] {
        let run = folder.run(args);
        let line = run.stderr.trim_end();
        assert!(line.contains(&format!("cannot create {path}: ")), "{args:?}: {line}");
        for internal in ["os error", ".part", "input or output failed", "\n"] {
            assert!(!line.contains(internal), "{args:?}: {line}");
        }
        assert_eq!(run.status, 1, "{args:?}");
    }
    for args in [&["cat", "flight.ulg"][..], &["info", "--json", "flight.ulg"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let text = "cannot write standard output: no space left on the disk\n";
        assert!(stderr.ends_with(text), "{args:?}: {stderr}");
    }
}

#[test]
fn commands_for_ulogs_name_the_kind_of_other_logs() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    for (args, ability) in [
        (&["params", &bag][..], "have parameters"),
        (&["params", "diff", &bag, &bag], "have parameters"),
        (&["flight", &bag], "record flights of PX4"),
        (&["gps-dump", &bag, "-o", "a"], "record the bytes of GNSS receivers"),
        (&["replay-log", &bag, "-o", "a.ulg"], "can be replayed by PX4"),
        (&["geotag", ".", "-o", "a", "--log", &bag], "record shots of a camera"),
        (
            &["convert", &bag, "-o", "a", "--format", "parquet", "--layout", "px4"],
            "have the layout of PX4",
        ),
    ] {
        let run = folder.run(args);
        let text = format!("error: {bag}: it is a ROS bag, and only ULogs {ability}\n");
        assert_eq!((run.status, run.stderr), (1, text), "{args:?}");
    }
    let vel = folder.run(&["messages", &testdata("car.vel")]);
    vel.assert_status(1, &["it is a .vel log, which has no text messages"]);
}

#[test]
fn compression_of_logs_without_chunks_is_wrong_usage_in_all_commands() {
    let folder = Folder::with_log(&bytes::log());
    let compression = ["--compression", "lz4", "-o", "a.ulg"];
    for args in [
        &["filter", "flight.ulg"][..],
        &["repair", "flight.ulg"],
        &["merge", "flight.ulg", "flight.ulg"],
    ] {
        let run = folder.run(&[args, &compression].concat());
        run.assert_status(2, &["ULogs have no compressed chunks", "hint: "]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn hints_of_values_are_shown() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["cat", "flight.ulg", "--derive", "x"]);
    run.assert_status(2, &["is not a name and an expression", "\n  hint: as in yaw="]);
    let run =
        folder.run(&["plot", "flight.ulg", "att.x", "-o", "a.svg", "--model", "x"]);
    let run =
        run.assert_status(2, &["unknown lidar model \"x\"; known models: HDL-64E S1"]);
    assert!(!run.stderr.contains("no such thing"), "{run:?}");
    let mut command = folder.command(&["info", "flight.ulg"]);
    let output = command.env("LOGTOOL_MODEL", "x").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("invalid value `x` for `model`: unknown lidar"),
        "{stderr}"
    );
}

#[test]
fn options_that_do_not_exist_are_not_advised_as_values() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["schema", "flight.ulg", "-t", "att"]);
    let run = run.assert_status(2, &["without an option: 'logtool schema FILE TOPIC'"]);
    assert!(!run.stderr.contains("as a value"), "{run:?}");
    let run =
        folder.run(&["params", "flight.ulg", "--frobnicate"]).assert_status(2, &[]);
    assert!(!run.stderr.contains("as a value"), "{run:?}");
    // An expression may start with a minus.
    let run = folder.run(&["plot", "flight.ulg", "-att.x", "-o", "a.svg"]);
    run.assert_status(2, &["as a value"]);
}

#[test]
fn failed_log_is_named_once_in_the_summary_of_a_batch() {
    let folder = Folder::new();
    let log = testdata("damaged/lost_sector.ulg");
    let run = folder.run(&["batch", "--strict", &log, "-o", "set"]);
    let run =
        run.assert_status(1, &[&format!("\n  {log}: damaged: bytes 48668..49175")]);
    assert_eq!(run.stderr.matches(&log).count(), 1, "{run:?}");
    let run = folder.run(&["index", &log, "-o", "all.jsonl"]);
    assert!(!run.stderr.contains("0 files"), "{run:?}");
}

#[test]
fn log_without_utc_has_a_hint_with_the_option() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["cat", "flight.ulg", "--clock", "utc"]);
    run.assert_status(1, &["the log has no UTC reference", "hint: --utc-start states"]);
    let run = folder.run(&["check", "flight.ulg", "--clock", "utc"]);
    run.assert_status(1, &["the log has no UTC reference", "hint: --utc-start states"]);
}

#[test]
fn info_and_check_show_times_on_the_chosen_clock() {
    let folder = Folder::new();
    let (flight, damaged) =
        (testdata("quad_flight.ulg"), testdata("damaged/lost_sector.ulg"));
    let info = |clock: &str| {
        let run = folder.run(&["info", &flight, "--clock", clock]).assert_success();
        let line = run.stdout.lines().find(|line| line.contains("duration"));
        line.unwrap().trim().to_owned()
    };
    // testdata/README.md: the log has 30 s, and UTC from its GPS.
    assert!(info("boot").contains("from 00:00:05.000 to "), "{}", info("boot"));
    assert!(
        info("relative").contains("from 00:00:00.000 to 00:00:30.000 since the start")
    );
    assert!(info("utc").contains("from 2024-06-01 10:00:04."), "{}", info("utc"));
    let check = |clock: &str| folder.run(&["check", &damaged, "--clock", clock]).stdout;
    assert!(check("boot").contains("from 00:00:19.020)"), "{}", check("boot"));
    assert!(check("relative").contains("from 00:00:14.020)"), "{}", check("relative"));
}

#[test]
fn outputs_that_are_not_possible_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    let splits =
        folder.run(&["plan", &bag, "-t", "/imu/data", "--json"]).assert_success();
    folder.write("splits", splits.stdout.as_bytes());
    let read = ["read", "-q", "--split", "splits", "-o"];
    let unknown = folder.run(&[&read[..], &["a.xyz"]].concat());
    unknown.assert_status(2, &["no output format has the extension .xyz", "--format"]);
    folder.run(&[&read[..], &["a.xyz", "--format", "csv"]].concat()).assert_success();
    folder.run(&[&read[..], &["imu"]].concat()).assert_success();
    folder
        .run(&["man", "-o", "-"])
        .assert_status(2, &["files in a folder", "leave out -o"]);
    assert_eq!(folder.list("."), ["a.xyz", "imu", "splits"]);
}

#[test]
fn field_that_is_not_a_number_is_described_in_words() {
    let folder = Folder::new();
    let run =
        folder.run(&["plot", &testdata("rover.bag"), "/tf.transforms", "-o", "a.svg"]);
    run.assert_status(1, &["`transforms` of /tf is a list, not a number\n"]);
}
