//! Outputs that are longer than the limit of the size of files (`ulimit -f`), and standard output on
//! a full device.

#![cfg(unix)]

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::{
    program::{Folder, Run},
    samples::testdata,
};

/// Runs the program with `args` in `folder`, where files may have 512 bytes.
fn run_with_limit(folder: &Folder, args: &[&str]) -> Run {
    let mut command = Command::new("sh");
    // The unit is 512 bytes (POSIX, `ulimit`).
    command.args(["-c", "ulimit -f 1 && exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_logtool")).args(args).current_dir(folder.path());
    command.env("TMPDIR", folder.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let status = output.status;
    Run {
        status: status.code().unwrap_or_else(|| panic!("{args:?}: {status}")),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn output_longer_than_the_limit_is_an_error_and_leaves_nothing() {
    let (flight, rover) = (testdata("quad_flight.ulg"), testdata("rover.bag"));
    let (puck, car) = (testdata("puck.pcap"), testdata("car.vel"));
    let mut jobs: Vec<Vec<&str>> = Vec::new();
    for to in ["csv", "jsonl", "parquet", "arrow", "npz", "mat"] {
        jobs.push(vec!["convert", &flight, "-o", "out", "--format", to]);
    }
    for to in ["las", "laz", "ply", "pcd", "kitti"] {
        jobs.push(vec!["convert", &puck, "-o", "out", "--format", to]);
    }
    for out in ["x.kml", "x.gpx", "x.geojson", "x.mcap", "x.bag"] {
        jobs.push(vec!["convert", &flight, "-q", "-o", out]);
    }
    let battery = "battery_status.voltage_v";
    for out in ["x.svg", "x.png", "x.pdf"] {
        jobs.push(vec!["plot", &flight, battery, "-o", out]);
    }
    for out in ["x.parquet", "x.csv", "x.jsonl"] {
        jobs.push(vec!["index", &flight, "-q", "-o", out]);
    }
    jobs.push(vec!["report", &flight, "-o", "x.html"]);
    jobs.push(vec!["filter", &flight, "-o", "x.ulg"]);
    jobs.push(vec!["replay-log", &flight, "-o", "x.ulg"]);
    jobs.push(vec!["repair", &car, "-o", "x.vel"]);
    jobs.push(vec!["merge", &rover, &rover, "-o", "x.bag"]);
    jobs.push(vec!["calibration", &puck, "-o", "x.yaml"]);
    jobs.push(vec!["man", "-o", "out"]);
    for args in jobs {
        let folder = Folder::new();
        let run = run_with_limit(&folder, &args);
        let out = args.iter().skip_while(|arg| **arg != "-o").nth(1).unwrap();
        run.assert_status(1, &["error: ", "cannot write ", out, "`ulimit -f`"]);
        assert!(folder.list(".").is_empty(), "{args:?}: {:?}", folder.list("."));
    }
}

#[test]
fn input_that_is_stored_and_longer_than_the_limit_is_an_error() {
    let folder = Folder::new();
    let script = format!("cat {} | \"$0\" info - 2>&1", testdata("rover.bag"));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f 1; {script}")]);
    command.arg(env!("CARGO_BIN_EXE_logtool")).env("TMPDIR", folder.path());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let folder_name = folder.path().display().to_string();
    for word in ["standard input", &folder_name, "(TMPDIR)", "`ulimit -f`"] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(folder.list(".").is_empty());
}

#[test]
fn batch_that_exceeds_the_limit_has_no_tables() {
    let folder = Folder::new();
    let run = run_with_limit(&folder, &["batch", &testdata("rover.bag"), "-o", "set"]);
    run.assert_status(1, &["failed", "`ulimit -f`"]);
    assert_eq!(folder.list("."), ["set"]);
    assert_eq!(folder.list("set"), ["_logtool"]);
    for name in folder.list("set/_logtool") {
        assert!(["lock", "journal.jsonl"].contains(&name.as_str()), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn standard_output_on_a_full_device_is_an_error() {
    let folder = Folder::new();
    let (flight, rover) = (testdata("quad_flight.ulg"), testdata("rover.bag"));
    for args in [
        &["info", &flight][..],
        &["info", "--json", &flight, &rover],
        &["cat", &flight],
        &["cat", "--format", "json", "-t", "battery_status", &flight],
        &["messages", &flight],
        &["params", &flight],
        &["params", "diff", &flight, &flight, "--json"],
        &["schema", &flight],
        &["check", &flight],
        &["check", "--json", &flight],
        &["flight", &flight],
        &["plan", &flight],
        &["formats"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["man"],
        &["man", "convert"],
        &["help"],
        &["help", "convert"],
        &["help", "clocks"],
        &["--help"],
        &["-h"],
        &["convert", "--help"],
        &["--version"],
        &["filter", &flight, "-o", "-"],
        &["convert", &flight, "-t", "sensor_combined", "--format", "csv", "-o", "-"],
    ] {
        let mut command = folder.command(args);
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        let told = "cannot write standard output: no space left on the disk";
        assert!(stderr.contains(told), "{args:?}: {stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{args:?}: {stderr}");
    }
}
