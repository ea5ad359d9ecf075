//! `cat --follow` and `messages --follow`: logs that are being written.

use std::{
    fs::{self, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::{
    bytes,
    program::{Folder, Run},
};

/// A program that follows `flight.ulg`.
struct Follower {
    child: Child,
    stdout: BufReader<ChildStdout>,
    lines: String,
}

impl Follower {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut command = folder.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout, lines: String::new() }
    }

    /// Waits until this number of lines is printed in all.
    fn wait_for_lines(&mut self, count: usize) {
        while self.lines.lines().count() < count {
            let read = self.stdout.read_line(&mut self.lines).unwrap();
            assert!(read > 0, "it ended after {:?}", self.lines);
        }
    }

    /// Interrupts the program.
    fn interrupt(self) -> Run {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.end()
    }

    /// Waits for the end of the program.
    fn end(mut self) -> Run {
        self.stdout.read_to_string(&mut self.lines).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap().code().unwrap();
        Run { status, stdout: self.lines, stderr }
    }
}

fn append(folder: &Folder, bytes: &[u8]) {
    let path = folder.path().join("flight.ulg");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn records_are_printed_when_they_are_complete() {
    let log = bytes::log();
    // Within the definitions: no topic is declared yet.
    let folder = Folder::with_log(&log[..120]);
    let mut follower =
        Follower::start(&folder, &["cat", "flight.ulg", "--follow", "-t", "att"]);
    let first = bytes::definitions().len() + bytes::att(0, 0, 0.0).len();
    append(&folder, &log[120..first + 5]);
    follower.wait_for_lines(1);
    append(&folder, &log[first + 5..log.len() - 1]);
    follower.wait_for_lines(4);
    append(&folder, &log[log.len() - 1..]);
    follower.wait_for_lines(5);
    let run = follower.interrupt().assert_success();
    let whole = folder.run(&["cat", "flight.ulg", "-t", "att"]).assert_success();
    assert_eq!(run.stdout, whole.stdout);
}

#[test]
fn flight_that_grows_in_pieces_has_the_records_of_the_whole() {
    const LOG: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/quad_flight.ulg");
    let log = std::fs::read(LOG).unwrap();
    let mut pieces = log.chunks(20_001);
    let folder = Folder::with_log(pieces.next().unwrap());
    let mut follower = Follower::start(&folder, &["cat", "flight.ulg", "--follow"]);
    let whole = loop {
        let so_far = folder.run(&["cat", "flight.ulg"]);
        follower.wait_for_lines(so_far.stdout.lines().count());
        match pieces.next() {
            Some(piece) => append(&folder, piece),
            None => break so_far,
        }
    };
    assert!(
        whole.stdout.lines().count() > 2_000,
        "{} lines",
        whole.stdout.lines().count()
    );
    assert_eq!(follower.interrupt().assert_success().stdout, whole.stdout);
}

#[test]
fn messages_are_printed_when_they_are_complete() {
    let log = bytes::log();
    let folder = Folder::with_log(&bytes::definitions());
    let follow = ["messages", "flight.ulg", "--follow", "--clock", "relative"];
    let mut follower = Follower::start(&folder, &follow);
    append(&folder, &log[bytes::definitions().len()..]);
    follower.wait_for_lines(2);
    let run = follower.interrupt().assert_success();
    let text =
        "[00:00:00.100] INFO   ready, \"set\"\n[00:00:01.100] WARN   low battery\n";
    assert_eq!(run.stdout, text);
}

#[test]
fn damage_has_its_offset_in_the_file_and_the_status_is_3() {
    let folder = Folder::with_log(&bytes::log());
    let mut follower = Follower::start(&folder, &["cat", "flight.ulg", "--follow"]);
    follower.wait_for_lines(8);
    let place = bytes::log().len() + bytes::att(0, 0, 0.0).len();
    let more = [
        bytes::att(0, 4_000_000, 1.0),
        vec![0xff; 40],
        bytes::att(0, 4_100_000, 1.0),
        bytes::att(0, 4_200_000, 1.0),
        bytes::att(0, 4_300_000, 1.0),
        bytes::att(0, 4_400_000, 1.0),
    ];
    append(&folder, &more.concat());
    follower.wait_for_lines(13);
    let want = format!("bytes {place}..{}", place + 40);
    follower.interrupt().assert_status(3, &[&want]);
}

#[test]
fn damage_at_the_start_of_what_is_appended_is_reported() {
    let folder = Folder::with_log(&bytes::log());
    for (command, lines) in [("cat", 12), ("messages", 3)] {
        folder.write("flight.ulg", &bytes::log());
        let follow = [command, "flight.ulg", "--follow"];
        let mut follower = Follower::start(&folder, &follow);
        follower.wait_for_lines(2);
        let place = bytes::log().len();
        let records = [4, 5, 6].map(|time| bytes::att(0, time * 1_000_000, 1.0));
        let text = [&[b'4'][..], &7_000_000_u64.to_le_bytes(), b"late"].concat();
        let more = [vec![0xff; 40], records.concat(), bytes::message(b'L', &text)];
        append(&folder, &more.concat());
        follower.wait_for_lines(lines);
        let want = format!("bytes {place}..{}: ", place + 40);
        let run = follower.interrupt();
        assert_eq!(run.stderr.matches(&want).count(), 1, "{run:?}");
        run.assert_status(3, &[&want]);
    }
}

#[test]
fn log_that_gets_shorter_is_an_error() {
    let folder = Folder::with_log(&bytes::log());
    let mut follower = Follower::start(&folder, &["cat", "flight.ulg", "--follow"]);
    follower.wait_for_lines(8);
    folder.write("flight.ulg", &bytes::definitions());
    follower
        .end()
        .assert_status(1, &["flight.ulg: it got shorter while it was followed"]);
}

#[test]
fn count_ends_the_program() {
    let folder = Folder::with_log(&bytes::log());
    let run =
        folder.run(&["cat", "flight.ulg", "--follow", "-n", "2"]).assert_success();
    assert_eq!(run.stdout.lines().count(), 2);
}

#[test]
fn only_files_of_ulogs_are_followed() {
    let folder = Folder::new();
    let bag =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rover.bag"));
    folder.write("rover.bag", &bag.unwrap());
    let hint = "--follow reads ULogs in local files, without compression or encryption";
    for command in ["cat", "messages"] {
        let run = folder.run(&[command, "rover.bag", "--follow"]);
        run.assert_status(1, &["it is a ROS bag, and only ULogs can be followed"]);
        let run = folder.run_with(&[command, "-", "--follow"], &bytes::log());
        run.assert_status(1, &["only files can be followed", hint]);
    }
    folder.write("flight.ulg", &bytes::log());
    let by_time = ["cat", "flight.ulg", "--follow", "--order", "time"];
    folder.run(&by_time).assert_status(2, &["in the order of the file"]);
}

#[cfg(unix)]
#[test]
fn deleted_log_is_an_error_and_a_renamed_one_is_not() {
    let folder = Folder::with_log(&bytes::log());
    let mut follower = Follower::start(&folder, &["cat", "flight.ulg", "--follow"]);
    follower.wait_for_lines(8);
    let [old, new] = ["flight.ulg", "renamed.ulg"].map(|name| folder.path().join(name));
    fs::rename(&old, &new).unwrap();
    let mut renamed = OpenOptions::new().append(true).open(&new).unwrap();
    renamed.write_all(&bytes::att(0, 9_000_000, 1.0)).unwrap();
    follower.wait_for_lines(9);
    fs::remove_file(&new).unwrap();
    let message = "flight.ulg: it was deleted or replaced while it was followed";
    follower.end().assert_status(1, &[message]);
}
