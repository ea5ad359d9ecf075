//! Faults of machines: files that are truncated while they are read, full disks, and inputs
//! that are not files. docs/RELIABILITY.md has a line for each.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    bytes,
    program::{Folder, Run},
    samples::{sample, testdata},
};

/// Runs the program, and truncates the log `name`, whose age is `age`, as soon as the first
/// temporary file exists.
fn cut_while_it_runs(folder: &Folder, name: &str, args: &[&str], age: Duration) -> Run {
    let log = fs::File::options().write(true).open(folder.path().join(name));
    let log = log.unwrap();
    log.set_modified(SystemTime::now() - age).unwrap();
    let mut command = folder.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while !folder.list(".").iter().any(|name| name.ends_with(".part")) {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was begun");
        assert!(child.try_wait().unwrap().is_none(), "it was too quick");
        thread::sleep(Duration::from_millis(1));
    }
    log.set_len(1000).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code().unwrap_or_else(|| panic!("{}", output.status)),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn log_truncated_while_read_is_reported_and_leaves_no_output() {
    for args in [
        &["convert", "flight.ulg", "-o", "."][..],
        &["convert", "flight.ulg", "-o", ".", "--format", "parquet"],
        &["filter", "flight.ulg", "-o", "new.ulg"],
    ] {
        // 63 MB: reading takes long enough for the file to be truncated.
        let folder = Folder::with_log(&bytes::long_log(3_000_000));
        let run = cut_while_it_runs(&folder, "flight.ulg", args, Duration::ZERO);
        run.assert_status(1, &["flight.ulg: ", "got shorter while it was read"]);
        assert_eq!(folder.list("."), ["flight.ulg"], "{args:?}");
    }
    // An old bag is mapped; a new bag may still be being written, and is read without a
    // mapping.
    let folder = Folder::with_log(&bytes::long_log(2_000_000));
    folder.run(&["convert", "flight.ulg", "-o", "whole.bag"]).assert_status(0, &[]);
    fs::remove_file(folder.path().join("flight.ulg")).unwrap();
    for age in [Duration::from_secs(3600), Duration::ZERO] {
        for to in ["csv", "parquet"] {
            let bag = folder.path().join("flight.bag");
            fs::copy(folder.path().join("whole.bag"), bag).unwrap();
            let args = ["convert", "flight.bag", "-o", ".", "--format", to];
            let run = cut_while_it_runs(&folder, "flight.bag", &args, age);
            run.assert_status(1, &["flight.bag: ", "got shorter while it was read"]);
            assert_eq!(folder.list("."), ["flight.bag", "whole.bag"], "{to}, {age:?}");
        }
    }
}

/// How many bytes the process `id` has read so far.
#[cfg(target_os = "linux")]
fn bytes_read(id: u32) -> u64 {
    let counters = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.map_or(0, |read| read.parse().unwrap())
}

/// Runs the program with `args`, and truncates `flight.ulg` while it is read; returns its output.
#[cfg(target_os = "linux")]
fn cut_while_it_is_open(folder: &Folder, args: &[&str]) -> String {
    let log = fs::File::options().write(true).open(folder.path().join("flight.ulg"));
    let log = log.unwrap();
    log.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let mut command = folder.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // When the program has read this much, it already has the length of the log.
    while bytes_read(child.id()) < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it was too quick");
        thread::sleep(Duration::from_millis(1));
    }
    log.set_len(1000).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("flight.ulg") && stderr.contains("got shorter"),
        "{stderr}"
    );
    stderr
}

#[test]
#[cfg(target_os = "linux")]
fn log_truncated_while_read_does_not_stop_a_batch() {
    let folder = Folder::with_log(&bytes::long_log(3_000_000));
    folder.write("short.ulg", &bytes::log());
    cut_while_it_is_open(
        &folder,
        &["batch", "-q", "flight.ulg", "short.ulg", "-o", "set"],
    );
    let tables: Vec<String> =
        folder.list("set").into_iter().filter(|name| !name.starts_with('_')).collect();
    assert!(!tables.is_empty());
    for table in tables {
        assert_eq!(folder.list(&format!("set/{table}")), ["log=short"], "{table}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn log_truncated_while_read_does_not_stop_an_index() {
    let folder = Folder::with_log(&bytes::long_log(3_000_000));
    folder.write("short.ulg", &bytes::log());
    let args = ["index", "flight.ulg", "short.ulg", "-o", "all.jsonl"];
    let stderr = cut_while_it_is_open(&folder, &args);
    assert!(stderr.contains("1 log indexed"), "{stderr}");
    assert!(folder.read("all.jsonl").contains("\"log\":\"short\""));
}

#[test]
#[cfg(target_os = "linux")]
fn unwritable_progress_events_are_a_failure() {
    let folder = Folder::with_log(&bytes::log());
    for command in [
        &["batch", "flight.ulg", "-o", "set"][..],
        &["index", "flight.ulg", "-o", "x.jsonl"],
    ] {
        let mut command = folder.command(&[command, &["-q", "--json"]].concat());
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("--json") && stderr.contains("o space left"),
            "{stderr}"
        );
    }
    assert!(!folder.list("set/flight_att").is_empty() || folder.list("set").len() > 2);
}

/// A small file system. The constructors return `None` without the permission to mount one.
struct Disk(Folder);

impl Disk {
    /// Mounts a tmpfs of `size` bytes.
    fn with_size(size: u64) -> Option<Self> {
        Self::with_options(&format!("size={size}"))
    }

    /// Mounts a tmpfs with these `options`, e.g. `nr_inodes`, which limits the number of files and
    /// folders.
    fn with_options(options: &str) -> Option<Self> {
        let folder = Folder::new();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "logtool"]).arg(folder.path());
        command.stderr(Stdio::null());
        let is_mounted = command.status().is_ok_and(|status| status.success());
        if !is_mounted {
            eprintln!("no file system can be mounted here: full disks are not tested");
        }
        is_mounted.then_some(Self(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn full_disk_is_reported_and_leaves_no_output() {
    let Some(disk) = Disk::with_size(64 << 10) else { return };
    // Each kind of log is converted to more bytes than the disk has free.
    let fill = vec![7; 48 << 10];
    fs::write(disk.0.path().join("fill"), fill).unwrap();
    let (flight, rover) = (testdata("quad_flight.ulg"), testdata("rover.bag"));
    let (puck, car) = (testdata("puck.pcap"), testdata("car.vel"));
    let mut jobs: Vec<Vec<&str>> = Vec::new();
    for to in ["csv", "jsonl", "parquet", "arrow", "npz", "mat"] {
        jobs.push(vec!["convert", &flight, "-o", "out", "--format", to]);
    }
    for to in ["las", "ply", "pcd"] {
        jobs.push(vec!["convert", &puck, "-o", "out", "--format", to]);
    }
    jobs.push(vec!["convert", &rover, "-o", "new.mcap"]);
    jobs.push(vec!["filter", &flight, "-o", "new.ulg"]);
    jobs.push(vec!["filter", &rover, "-o", "new.bag"]);
    jobs.push(vec!["repair", &car, "-o", "new.vel"]);
    jobs.push(vec!["merge", &rover, &rover, "-o", "new.bag"]);
    for args in jobs {
        let run = disk.0.run(&args).assert_status(1, &["o space left"]);
        let out = args.iter().skip_while(|arg| **arg != "-o").nth(1).unwrap();
        let rest = run.stderr.split_once("cannot write ").map(|(_, rest)| rest);
        assert!(rest.is_some_and(|rest| rest.contains(out)), "{args:?}: {run:?}");
        assert_eq!(disk.0.list("."), ["fill"], "{args:?}");
    }
}

/// The names of all files in `dir` and below it.
fn files_in(dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.append(&mut files_in(&path)),
            false => files.push(path.display().to_string()),
        }
    }
    files
}

#[test]
fn log_too_large_for_the_disk_leaves_nothing_in_a_dataset() {
    let rover = testdata("rover.bag");
    // Too little space for the files; or too few inodes for the folders, after some files
    // got their final names.
    for options in ["size=24k", "nr_inodes=12", "nr_inodes=17", "nr_inodes=20"] {
        let Some(disk) = Disk::with_options(options) else { return };
        let run = disk.0.run(&["batch", "--json", &rover, "-o", "set"]);
        let expected = "failed: 1 log";
        let run = run.assert_status(1, &["0 logs converted", expected, "o space left"]);
        assert!(!run.stderr.contains("not supported"), "{options}: {run:?}");
        assert_eq!(run.json_lines().last().unwrap()["event"], "end", "{options}");
        let files = files_in(&disk.0.path().join("set"));
        assert!(
            !files.iter().any(|name| name.contains("/log=")),
            "{options}: {files:?}"
        );
    }
}

#[test]
fn catalog_too_large_for_the_disk_does_not_hide_the_summary() {
    let Some(disk) = Disk::with_size(64 << 10) else { return };
    let rover = testdata("rover.bag");
    let topic = ["--topic", "/gps/fix", "-o", "set"];
    let args = [&["batch", &rover][..], &topic].concat();
    disk.0.run(&args).assert_status(0, &["1 log converted"]);
    // Fill the free space. The table exists already, and the catalog is written again.
    let mut fill = fs::File::create(disk.0.path().join("fill")).unwrap();
    while std::io::Write::write_all(&mut fill, &[7; 512]).is_ok() {}
    let run = disk.0.run(&args);
    run.assert_status(
        1,
        &["0 logs converted, 1 before", "the catalog", "o space left"],
    );
    assert_eq!(disk.0.list("set/gps_fix/log=rover"), ["part-0.parquet"]);
    let run = disk.0.run(&["index", &rover, "-o", "all.parquet"]);
    run.assert_status(1, &["1 log opened", "no catalog was written"]);
}

#[test]
fn pipe_is_read_like_a_file() {
    let folder = Folder::with_log(&bytes::log());
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feeder = thread::spawn(move || fs::write(pipe, bytes::log()));
    let piped = folder.run(&["cat", "pipe"]).assert_success();
    feeder.join().unwrap().unwrap();
    assert!(!piped.stdout.is_empty());
    assert_eq!(
        piped.stdout,
        folder.run(&["cat", "flight.ulg"]).assert_success().stdout
    );
}

#[test]
fn pipe_at_the_output_path_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let (flight, rover) = (testdata("quad_flight.ulg"), testdata("rover.bag"));
    for (name, mut args) in [
        ("new.bag", vec!["filter", &rover, "-o", "new.bag"]),
        ("new.bag", vec!["repair", &rover, "-o", "new.bag"]),
        ("new.bag", vec!["merge", &rover, &rover, "-o", "new.bag"]),
        ("new.mcap", vec!["convert", &rover, "-o", "new.mcap"]),
        ("quad_flight_battery_status_0.csv", vec!["convert", &flight, "-o", "."]),
        (
            "plot.svg",
            vec!["plot", &flight, "battery_status.voltage_v", "-o", "plot.svg"],
        ),
        ("report.html", vec!["report", &flight, "-o", "report.html"]),
    ] {
        let folder = Folder::new();
        let pipe = folder.path().join(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for force in [false, true] {
            args.extend(force.then_some("--force"));
            let expected = format!("{name} is a device, a pipe or a socket");
            folder.run(&args).assert_status(1, &[&expected]);
            assert_eq!(folder.list("."), [name], "{args:?}");
            assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "{args:?}");
        }
    }
}

#[test]
fn folder_and_missing_file_are_not_logs() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("logs")).unwrap();
    folder
        .run(&["info", "logs"])
        .assert_status(1, &["cannot open logs: it is a folder", "hint: it is empty"]);
    folder.write("logs/notes.txt", b"no log");
    folder
        .run(&["info", "logs"])
        .assert_status(1, &["cannot open logs: it is a folder", "logs/*"]);
    folder
        .run(&["info", "none.ulg"])
        .assert_status(1, &["cannot open none.ulg: there is no such file"]);
}

#[test]
fn unreadable_file_does_not_stop_the_others() {
    let folder = Folder::with_log(&bytes::log());
    let secret = folder.write("secret.ulg", &bytes::log());
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(&secret).is_ok() {
        eprintln!("this user may read all files: permissions are not tested");
        return;
    }
    let args = ["convert", "secret.ulg", "flight.ulg", "-o", "out"];
    folder.run(&args).assert_status(1, &["cannot open secret.ulg: permission denied"]);
    assert!(Path::new(&folder.path().join("out")).read_dir().unwrap().count() > 0);
}

#[test]
fn only_one_of_two_writers_of_an_output_succeeds() {
    let folder = Folder::with_log(&bytes::long_log(100_000));
    let start = || {
        let mut command = folder.command(&["convert", "flight.ulg", "-o", "out"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let outputs = [start(), start()].map(|child| child.wait_with_output().unwrap());
    let [first, second] = outputs.map(|output| {
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    });
    let mut status = [first.0, second.0];
    status.sort_unstable();
    assert_eq!(status, [0, 1], "{first:?} {second:?}");
    let stderr = if first.0 == 1 { first.1 } else { second.1 };
    assert!(stderr.contains("--force"), "{stderr}");
    let whole = Folder::with_log(&bytes::long_log(100_000));
    whole.run(&["convert", "flight.ulg", "-o", "out"]);
    assert_eq!(folder.list("out"), whole.list("out"));
    for name in whole.list("out") {
        assert!(
            folder.read(&format!("out/{name}")) == whole.read(&format!("out/{name}"))
        );
    }
}

#[test]
fn damage_found_while_writing_fails_a_strict_run_without_output() {
    let Some(bag) = sample("rosbag/edge/short_payload.bag") else { return };
    let folder = Folder::new();
    for (command, more) in [
        ("filter", &["-o", "new.mcap", "--ros2"][..]),
        ("convert", &["-o", "new.mcap", "--ros2"]),
        ("merge", &[&*testdata("rover.bag"), "-o", "new.mcap", "--ros2"]),
    ] {
        let args = [&[command, &bag, "-q"], more].concat();
        let strict = [&args[..], &["--strict"]].concat();
        folder.run(&strict).assert_status(1, &["damaged", "without --strict"]);
        assert!(folder.list(".").is_empty(), "{command}");
        folder.run(&args).assert_status(3, &[]);
        fs::remove_file(folder.path().join("new.mcap")).unwrap();
    }
}
