//! Tests of outputs: single files, folders as inputs, names that are not UTF-8, few open
//! files, modes, and the files that a killed run leaves.

use std::fs;

use crate::{
    bytes::{self, att, message},
    program::Folder,
    samples::testdata,
};

/// A log of `count` topics with a record each.
fn log_of_topics(count: u16) -> Vec<u8> {
    let mut log = bytes::definitions();
    let names: Vec<String> = (0..count).map(|i| format!("topic_{i}")).collect();
    for name in &names {
        log.extend(message(
            b'F',
            format!("{name}:uint64_t timestamp;float x;").as_bytes(),
        ));
    }
    for (i, name) in names.iter().enumerate() {
        let id = (10 + i as u16).to_le_bytes();
        log.extend(message(b'A', &[&[0, id[0], id[1]][..], name.as_bytes()].concat()));
    }
    for i in 0..count {
        let mut record = att(0, 1_000_000 + u64::from(i), f32::from(i));
        record[3..5].copy_from_slice(&(10 + i).to_le_bytes());
        log.extend(record);
    }
    log
}

#[test]
fn single_topic_is_written_to_the_named_file() {
    let folder = Folder::with_log(&bytes::log());
    let convert = |out: &str, more: &[&str]| {
        let args = ["convert", "flight.ulg", "-q", "-t", "att.0", "-o", out];
        folder.run(&[&args[..], more].concat()).assert_success();
    };
    convert("gps.csv", &[]);
    let want = "timestamp,x\n1000000,0.5\n2000000,1.5\n2500000,NaN\n";
    assert_eq!(folder.read("gps.csv"), want);
    for name in ["a.jsonl", "a.parquet", "a.arrow", "a.npz", "new/b.csv"] {
        convert(name, &[]);
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    convert("none.csv", &["--start", "1h"]);
    assert_eq!(folder.read("none.csv"), "timestamp,x\n");
    assert_eq!(folder.list("new"), ["b.csv"], "no provenance.json beside it");
    let second_args = ["convert", "flight.ulg", "-t", "att.0", "-o", "gps.csv"];
    folder.run(&second_args).assert_status(1, &["gps.csv exists already", "--force"]);
    let several = ["convert", "flight.ulg", "-o", "x.csv"];
    folder
        .run(&several)
        .assert_status(2, &["x.csv is one file", "--topic names one: att"]);
    let merged = ["--merge", "asof", "--rate", "10", "-o", "merged.csv", "-q"];
    folder.run(&[&["convert", "flight.ulg"], &merged[..]].concat()).assert_success();
    assert!(folder.read("merged.csv").starts_with("timestamp"));
}

#[test]
fn points_of_a_single_topic_are_written_to_the_named_file() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let topic = "/velodyne_points";
    for (name, start) in [("x.pcd", "# .PCD"), ("x.ply", "ply"), ("x.las", "LASF")] {
        let run = folder.run(&["convert", &bag, "-t", topic, "-o", name]);
        if run.stderr.contains("has no topic") {
            return; // a bag without points
        }
        run.assert_status(0, &[]);
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(bytes.starts_with(start.as_bytes()), "{name}");
    }
    let scans = ["convert", &bag, "-t", topic, "-o", "y.pcd", "--per", "scan"];
    folder.run(&scans).assert_status(2, &["OUT is one"]);
}

#[test]
fn folders_are_searched_for_logs() {
    let folder = Folder::new();
    folder.write("logs/a.ulg", &bytes::log());
    folder.write("logs/deep/b.ulg", &bytes::log());
    folder.write("logs/readme.txt", b"nothing");
    let info = folder.run(&["info", "logs", "--json"]).assert_success();
    let files: Vec<_> =
        info.json_lines().into_iter().map(|l| l["file"].clone()).collect();
    assert_eq!(files, ["logs/a.ulg", "logs/deep/b.ulg"]);
    let check = folder.run(&["check", "logs", "--json"]);
    assert_eq!(check.json_lines().len(), 2);
    folder.run(&["convert", "logs", "-o", "out", "-q"]).assert_success();
    assert_eq!(folder.list("out"), ["a", "b"]);
    folder.write("empty/readme.txt", b"nothing");
    folder.run(&["info", "empty"]).assert_status(1, &["empty"]);
}

#[test]
fn new_folder_appears_when_it_is_complete() {
    let folder = Folder::with_log(&bytes::log());
    folder.run(&["convert", "flight.ulg", "-o", "x/tables", "-q"]).assert_success();
    assert_eq!(folder.list("."), ["flight.ulg", "x"]);
    assert_eq!(folder.list("x"), ["tables"]);
    assert!(folder.list("x/tables").contains(&"provenance.json".to_owned()));
}

#[cfg(target_os = "linux")]
#[test]
fn next_run_removes_files_of_a_killed_run() {
    use std::{process::Stdio, thread, time::Duration};
    let folder = Folder::with_log(&bytes::long_log(3_000_000));
    let is_part = |name: &String| name.ends_with(".part");
    for args in [
        &["convert", "flight.ulg", "-o", "tables", "-f"][..],
        &["convert", "flight.ulg", "-o", ".", "-f"],
        &["convert", "flight.ulg", "-o", "x.mat", "-f"],
        &["filter", "flight.ulg", "-o", "x.ulg", "-f"],
    ] {
        let mut command = folder.command(args);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        while !folder.list(".").iter().any(is_part) {
            assert!(child.try_wait().unwrap().is_none(), "it was too quick");
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(folder.list(".").iter().any(is_part), "{args:?}");
        folder.run(args).assert_status(0, &[]);
        assert!(!folder.list(".").iter().any(is_part), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn many_tables_are_written_with_few_open_files() {
    let folder = Folder::with_log(&log_of_topics(100));
    let program = env!("CARGO_BIN_EXE_logtool");
    for to in ["csv", "jsonl", "parquet", "arrow", "npz", "mat"] {
        let script = format!(
            "ulimit -n 64 && exec '{program}' convert -q flight.ulg --format {to} -o {to}"
        );
        let mut shell = std::process::Command::new("sh");
        let output =
            shell.args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{to}");
        let count = if to == "mat" { 1 } else { 100 };
        assert!(folder.list(to).len() >= count, "{to}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_names_may_be_invalid_utf8() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = Folder::with_log(&bytes::log());
    for (args, name) in [
        (&["filter", "flight.ulg"][..], &b"a\xff.ulg"[..]),
        (&["repair", "flight.ulg"], b"b\xff.ulg"),
        (&["convert", "flight.ulg"], b"d\xff.mcap"),
        (&["convert", "flight.ulg", "-t", "att.0"], b"e\xff.csv"),
        (&["convert", "flight.ulg"], b"f\xff.mat"),
        (&["convert", "flight.ulg"], b"g\xff"),
        (&["plot", "flight.ulg", "att.x"], b"h\xff.svg"),
        (&["report", "flight.ulg"], b"i\xff.html"),
        (&["batch", "flight.ulg"], b"j\xff"),
        (&["index", "flight.ulg"], b"k\xff.jsonl"),
    ] {
        let out = OsStr::from_bytes(name);
        let mut command = folder.command(args);
        let output = command.arg("-q").arg("-o").arg(out).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(folder.path().join(out).exists(), "{args:?}");
    }
    // The name of the log itself is not UTF-8.
    let log = folder.path().join(OsStr::from_bytes(b"l\xff.ulg"));
    fs::write(&log, bytes::log()).unwrap();
    let output = folder.command(&["convert", "-q"]).arg(&log).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(unix)]
#[test]
fn replaced_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with_log(&bytes::log());
    let path = folder.write("x.ulg", b"old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    folder
        .run(&["filter", "flight.ulg", "-o", "x.ulg", "--force", "-q"])
        .assert_success();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Returns a library whose `close` or `fsync` (named by `$FAIL`) fails for temporary outputs,
/// as on a full server or a broken disk. Returns `None` if there is no C compiler.
#[cfg(target_os = "linux")]
fn failing_library(folder: &Folder) -> Option<std::path::PathBuf> {
    let source = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fails(int fd, const char *call) {
    char link[64], path[4096];
    const char *fail = getenv("FAIL");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0 || !fail || strcmp(fail, call)) return 0;
    path[len] = 0;
    return strstr(path, ".part") != NULL;
}
int close(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    int bad = fails(fd, "close"), done = real(fd);
    if (bad) { errno = EIO; return -1; }
    return done;
}
int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (fails(fd, "fsync")) { errno = EIO; return -1; }
    return real(fd);
}
"#;
    let (source, library) = (folder.write("c/fail.c", source.as_bytes()), "c/fail.so");
    let library = folder.path().join(library);
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    let is_compiled = compiler.status().is_ok_and(|status| status.success());
    if !is_compiled {
        eprintln!("no C compiler: errors of close and fsync are not tried");
    }
    is_compiled.then_some(library)
}

#[cfg(target_os = "linux")]
#[test]
fn errors_of_close_and_fsync_are_reported() {
    let folder = Folder::with_log(&bytes::log());
    let Some(library) = failing_library(&folder) else { return };
    let bag = testdata("rover.bag");
    for (call, args) in [
        ("close", &["convert", "flight.ulg", "-o", "new"][..]),
        ("close", &["convert", "flight.ulg", "-o", "new.csv", "-t", "att.0"]),
        ("close", &["filter", "flight.ulg", "-o", "new.ulg"]),
        ("close", &["plot", "flight.ulg", "att.x", "-o", "new.svg"]),
        ("fsync", &["filter", "flight.ulg", "-o", "new.ulg"]),
        ("fsync", &["repair", "flight.ulg", "-o", "new.ulg"]),
        ("fsync", &["merge", &bag, &bag, "-o", "new.bag"]),
        ("fsync", &["convert", "flight.ulg", "-o", "new.mcap"]),
    ] {
        let mut command = folder.command(args);
        command.env("LD_PRELOAD", &library).env("FAIL", call);
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{call} {args:?}: {stderr}");
        assert!(stderr.contains("cannot write"), "{call} {args:?}: {stderr}");
        assert_eq!(folder.list("."), ["c", "flight.ulg"], "{call} {args:?}");
    }
}
