//! Ctrl-C.

#![cfg(unix)]

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{bytes, program::Folder};

/// Starts the program, interrupts it when its first temporary file exists, and returns
/// its exit status.
fn run_and_interrupt(folder: &Folder, args: &[&str], dir: &str) -> Option<i32> {
    let mut command = folder.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    let has_started = || folder.list(dir).iter().any(|name| name.ends_with(".part"));
    while !has_started() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was begun");
        assert!(child.try_wait().unwrap().is_none(), "it was too quick");
        thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[test]
fn interrupted_command_leaves_no_output() {
    // 63 MB: it takes long enough to be interrupted.
    let folder = Folder::with_log(&bytes::long_log(3_000_000));
    for (args, dir) in [
        (&["convert", "flight.ulg", "-o", "deep/out"][..], "deep"),
        (&["filter", "flight.ulg", "-o", "new.ulg"], "."),
        (&["repair", "flight.ulg", "-o", "new.ulg"], "."),
    ] {
        let status = run_and_interrupt(&folder, args, dir);
        assert_eq!(status, Some(130), "{args:?}");
        assert_eq!(folder.list("."), ["flight.ulg"], "{args:?}");
    }
}
