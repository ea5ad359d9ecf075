//! Outputs on a terminal: text is escaped, and data that are not text are refused. A pipe gets the
//! bytes as they are.

use std::{fs::File, io::Read as _, process::Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{
    bytes,
    program::{Folder, Run},
    samples::testdata,
};

/// A text that sets the title of a terminal, turns its own direction and clears the screen.
const TEXT: &str = "a\u{1b}]0;x\u{7}\u{202e}b\u{200b}\u{9b}2Jc\u{2066}é";

/// Runs with a terminal as standard output. The result has the text that the terminal received.
fn run_on_terminal(folder: &Folder, args: &[&str]) -> Run {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let stdout = File::options().read(true).write(true).open(name).unwrap();
    let mut command = folder.command(args);
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // It holds the other end of the terminal.
    drop(command);
    let mut received = Vec::new();
    // On Linux, reading fails when the program has ended.
    let _ = File::from(terminal).read_to_end(&mut received);
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8_lossy(&received).replace("\r\n", "\n"),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A log with the message [`TEXT`].
fn log() -> Vec<u8> {
    let mut log = bytes::log();
    let payload = [&[b'6'][..], &3_100_000_u64.to_le_bytes(), TEXT.as_bytes()];
    log.extend(bytes::message(b'L', &payload.concat()));
    log
}

/// Checks that nothing in `text` acts on a terminal, and that the message is there.
#[track_caller]
fn is_escaped(text: &str) {
    let acts = |c: char| {
        !matches!(c, '\n' | '\t') && c.is_control()
            || matches!(c, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(acts), "{text:?}");
    assert!(text.contains("\\u{202e}b\\u{200b}\\u{9b}2Jc\\u{2066}é"), "{text:?}");
}

#[test]
fn text_of_a_log_is_escaped_on_a_terminal_and_exact_in_a_pipe() {
    let folder = Folder::with_log(&log());
    let plan = ["plan", "flight.ulg", "-t", "logged_strings", "--json"];
    folder.write("splits", folder.run(&plan).assert_success().stdout.as_bytes());
    let convert = ["convert", "-q", "flight.ulg", "-o", "-", "-t", "logged_strings"];
    for args in [
        &convert[..],
        &[&convert[..], &["--format", "jsonl"]].concat(),
        &["read", "--split", "splits", "--format", "csv"],
        &["read", "--split", "splits", "--format", "jsonl"],
        &["cat", "flight.ulg", "--format", "json", "--no-pager"],
        &["messages", "flight.ulg", "--no-pager"],
    ] {
        let run = run_on_terminal(&folder, args);
        assert_eq!(run.status, 0, "{args:?}: {run:?}");
        is_escaped(&run.stdout);
    }
    let piped = folder.run(&convert).assert_success().stdout;
    assert!(piped.contains(TEXT), "{piped:?}");
    // JSON has escapes for some characters, and the others are as they were.
    let piped = folder.run(&[&convert[..], &["--format", "jsonl"]].concat()).stdout;
    assert!(piped.contains("\u{202e}b\u{200b}\u{9b}2Jc\u{2066}é"), "{piped:?}");
}

/// The first table is longer than the buffers between the program and the terminal.
#[test]
fn long_tables_are_the_same_on_a_terminal_and_in_a_pipe() {
    let folder = Folder::with_log(&bytes::long_log(20_000));
    let args = ["convert", "-q", "flight.ulg", "-o", "-", "-t", "att"];
    let piped = folder.run(&args).assert_success().stdout;
    assert!(piped.lines().count() == 20_001);
    assert!(run_on_terminal(&folder, &args).stdout == piped);
}

#[test]
fn data_that_are_not_text_are_refused_on_a_terminal() {
    let folder = Folder::new();
    let [ulog, capture, bag] =
        ["quad_flight.ulg", "puck.pcap", "rover.bag"].map(testdata);
    folder.run(&["convert", &bag, "-q", "-o", "rover.mcap"]).assert_success();
    let plan = ["plan", &bag, "-t", "/gps/fix", "--json"];
    folder.write("splits", folder.run(&plan).assert_success().stdout.as_bytes());
    for (args, name) in [
        (&["filter", &ulog, "-o", "-"][..], "ULog"),
        (&["filter", &capture, "-o", "-"], "capture"),
        (&["filter", "rover.mcap", "-o", "-"], "MCAP file"),
        (&["merge", "rover.mcap", "rover.mcap", "-o", "-"], "MCAP file"),
        (&["convert", &bag, "-o", "-", "-t", "/gps/fix", "--format", "arrow"], "arrow"),
        (&["read", "--split", "splits"], "arrow"),
    ] {
        let run = run_on_terminal(&folder, args);
        assert_eq!(run.stdout, "", "{args:?}");
        run.assert_status(
            2,
            &[&format!("{name} is not text for a terminal"), "a pipe"],
        );
    }
}
