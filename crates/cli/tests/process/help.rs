//! Help, completions and manual pages.

use std::{fs, process::Command};

use logtool::convert::OutputFormat;

use crate::{bytes, program::Folder};

const COMMANDS: [&str; 27] = [
    "align",
    "batch",
    "calibration",
    "cat",
    "check",
    "completions",
    "convert",
    "filter",
    "flight",
    "formats",
    "geotag",
    "gps-dump",
    "help",
    "index",
    "info",
    "man",
    "merge",
    "messages",
    "params",
    "plan",
    "plot",
    "read",
    "record",
    "repair",
    "replay-log",
    "report",
    "schema",
];

/// The height of a screen.
const SCREEN_LINES: usize = 40;

/// Runs the program for a terminal of 80 columns.
fn help(args: &[&str]) -> String {
    let folder = Folder::new();
    let mut command = folder.command(args);
    let output = command.env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn short_help_fits_on_one_screen_and_full_help_on_three() {
    let mut calls: Vec<Vec<&str>> = COMMANDS.iter().map(|name| vec![*name]).collect();
    calls.extend([vec![], vec!["params", "diff"]]);
    for call in calls {
        for (flag, limit) in [("-h", SCREEN_LINES), ("--help", 3 * SCREEN_LINES)] {
            let help = help(&[&call[..], &[flag]].concat());
            let lines = help.lines().count();
            assert!(lines <= limit, "{call:?} {flag}: {lines} lines\n{help}");
            let wide = help.lines().find(|line| line.chars().count() > 100);
            assert!(wide.is_none(), "{call:?} {flag}: {wide:?}");
        }
    }
    for topic in ["outputs", "clocks", "lidars", "config", "expressions"] {
        let text = help(&["help", topic]);
        // Expressions have a list of all functions.
        let is_short = text.lines().count() <= 3 * SCREEN_LINES;
        assert!(is_short || topic == "expressions", "{topic}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{topic}");
    }
}

#[test]
fn full_help_has_the_options_that_short_help_leaves_out() {
    let (short, full) = (help(&["convert", "-h"]), help(&["convert", "--help"]));
    for option in ["--lidar-clock", "--csv-safe", "--max-age"] {
        assert!(!short.contains(option) && full.contains(option), "{option}");
    }
    assert_eq!(help(&["help", "convert"]), full);
    assert!(help(&["help", "params", "diff"]).contains("logtool params diff"));
    let run = Folder::new().run(&["help", "output"]);
    run.assert_status(2, &["no command or topic `output`", "`outputs`"]);
}

#[test]
fn old_and_foreign_options_lead_to_a_suggestion() {
    for (option, hint) in [
        ("--from", "--start"),
        ("--to", "--format"),
        ("--time", "--clock"),
        ("--output", "--out"),
    ] {
        let run = Folder::new().run(&["convert", "x.ulg", option, "1"]);
        run.assert_status(2, &["hint: ", option, hint]);
    }
}

#[test]
fn log_without_a_command_leads_to_a_suggestion() {
    let folder = Folder::with_log(&bytes::log());
    folder.run(&["flight.ulg"]).assert_status(2, &["'info'"]);
    folder.run(&["record", "flight.ulg"]).assert_status(2, &["'mavlink'"]);
}

#[test]
fn help_names_every_command_and_the_exit_statuses() {
    let help = help(&["--help"]);
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command}")), "{command}: {help}");
    }
    for status in ["0  done", "1  failed", "2  wrong usage", "3  done, but some"] {
        assert!(help.contains(status), "{help}");
    }
}

#[test]
fn help_of_every_command_has_an_example() {
    for command in COMMANDS {
        let help = help(&[command, "--help"]);
        let examples = help.split_once("Examples:").map(|(_, examples)| examples);
        let example = format!("logtool {command}");
        assert!(examples.is_some_and(|text| text.contains(&example)), "{help}");
    }
}

#[test]
fn unknown_commands_and_options_are_wrong_usage() {
    for args in [&["frobnicate"][..], &[], &["info"], &["info", "--frobnicate", "x"]] {
        let run = Folder::new().run(args);
        assert_eq!((run.status, &*run.stdout), (2, ""), "{args:?}: {run:?}");
        assert!(run.stderr.contains("Usage"), "{run:?}");
    }
}

/// Runs the program as the completion script of bash does.
fn complete(folder: &Folder, words: &[&str]) -> String {
    let mut command = folder.command(&["--", "logtool"]);
    command.args(words).env("LOGTOOL_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_have_commands_options_formats_topics_and_files() {
    let folder = Folder::with_log(&bytes::log());
    let suggests = |words: &[&str], word: &str| {
        let completions = complete(&folder, words);
        assert!(
            completions.lines().any(|line| line == word),
            "{words:?}: {completions}"
        );
    };
    suggests(&["conv"], "convert");
    suggests(&["convert", "--form"], "--format");
    suggests(&["convert", "--format", "par"], "parquet");
    suggests(&["filter", "--format", "mc"], "mcap");
    suggests(&["plot", "--format", "s"], "svg");
    suggests(&["params", "diff", "--format", "j"], "json");
    suggests(&["cat", "--clock", "r"], "relative");
    suggests(&["cat", "fli"], "flight.ulg");
    suggests(&["cat", "flight.ulg", "--topic", "a"], "att.1");
    suggests(&["cat", "flight.ulg", "-t", ""], "att");
    suggests(&["filter", "flight.ulg", "-x", "a"], "att");
    suggests(&["schema", "flight.ulg", "a"], "att");
    suggests(&["plot", "flight.ulg", "a"], "att.");
    suggests(&["align", "flight.ulg", "flight.ulg", "--signal", "a"], "att.");
    suggests(&["params", "flight.ulg", "G"], "GAIN");
    suggests(&["params", "diff", "flight.ulg", "flight.ulg", "G"], "GAIN");
    suggests(&["info", "flight.ulg", "--show", "s"], "sys_name");
    suggests(&["help", "conv"], "convert");
    suggests(&["help", "cl"], "clocks");
    suggests(&["man", "conv"], "convert");
    suggests(&["convert", "--model", "hdl-64e"], "hdl-64e-s2");
    suggests(&["convert", "--formula", "manual+"], "manual+two-point");
    assert_eq!(complete(&folder, &["cat", "none.ulg", "-t", "a"]), "");
}

#[test]
#[cfg(target_os = "linux")]
fn completions_that_cannot_be_written_are_an_error() {
    let folder = Folder::with_log(&bytes::log());
    for typed in ["inf", ""] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = folder.command(&["--", "logtool", typed]);
        command.env("LOGTOOL_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "1");
        let output = command.env("_CLAP_IFS", "\n").stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{typed}: {output:?}");
    }
}

#[test]
fn completion_scripts_call_the_program() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&["completions", shell]).assert_success().stdout;
        assert!(script.contains("LOGTOOL_COMPLETE"), "{shell}: {script}");
        folder.write(shell, script.as_bytes());
    }
    // Shells that are not installed cannot check their script.
    for (shell, option) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let path = folder.path().join(shell);
        if let Ok(output) = Command::new(shell).arg(option).arg(path).output() {
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.run(&["man", "-o", "man1"]).assert_success();
    let pages = folder.list("man1");
    for command in COMMANDS {
        assert!(pages.contains(&format!("logtool-{command}.1")), "{pages:?}");
    }
    assert!(folder.run(&["man"]).assert_success().stdout.contains(".TH logtool 1"));
    let page = folder.write("man1/logtool-cat.1", b"mine");
    folder.run(&["man", "-o", "man1"]).assert_status(1, &["exists already", "--force"]);
    assert_eq!(fs::read(&page).unwrap(), b"mine");
    folder.run(&["man", "-o", "man1", "--force"]).assert_success();
    assert!(fs::read_to_string(page).unwrap().contains(".TH logtool-cat 1"));
    assert_eq!(folder.list("man1"), pages);
}

/// The names of all output formats, in the words of a help text.
fn all_formats() -> String {
    let names: Vec<&str> =
        OutputFormat::ALL.iter().map(|format| format.name()).collect();
    let (last, others) = names.split_last().unwrap();
    format!("{} or {last}", others.join(", "))
}

/// Returns `text` with single blanks and without line breaks.
fn join_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn help_lists_each_output_format_in_order() {
    for command in ["convert", "batch"] {
        let help = join_lines(&help(&[command, "--help"]));
        let list = format!("Output format: {} [default", all_formats());
        assert!(help.contains(&list), "{command}: {list}\n{help}");
    }
    let text = help(&["help", "outputs"]);
    let headings = text.lines().filter(|line| {
        ["Tables:", "Arrays:", "Images:", "Points:", "Tracks:", "Logs:"]
            .iter()
            .any(|heading| line.starts_with(heading))
    });
    let words = headings.flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
    let listed: Vec<&str> = words
        .filter(|word| OutputFormat::ALL.iter().any(|format| format.name() == *word))
        .collect();
    let mut expected: Vec<&str> =
        OutputFormat::ALL.iter().map(|format| format.name()).collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    sorted.dedup(); // PNG files are "images of scans from above"
    expected.sort_unstable();
    assert_eq!(sorted, expected, "{listed:?}");
}
