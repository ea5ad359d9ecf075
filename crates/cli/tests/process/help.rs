//! What the program says of itself.

use crate::program::Folder;

const COMMANDS: [&str; 17] = [
    "align",
    "batch",
    "index",
    "info",
    "cat",
    "convert",
    "filter",
    "plot",
    "merge",
    "repair",
    "check",
    "messages",
    "schema",
    "params",
    "formats",
    "completions",
    "man",
];

#[test]
fn help_names_every_command_and_the_exit_statuses() {
    let help = Folder::new().run(&["--help"]).succeeded().stdout;
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command}")), "{command}: {help}");
    }
    for status in ["0  done", "1  failed", "2  misused", "3  done, and some"] {
        assert!(help.contains(status), "{help}");
    }
}

#[test]
fn help_of_every_command_has_an_example() {
    for command in COMMANDS {
        let help = Folder::new().run(&[command, "--help"]).succeeded().stdout;
        assert!(help.contains("Example"), "{help}");
        assert!(help.contains(&format!("logtool {command}")), "{help}");
    }
}

#[test]
fn what_is_no_command_is_misuse() {
    for args in [&["frobnicate"][..], &[], &["info"], &["info", "--frobnicate", "x"]] {
        let run = Folder::new().run(args);
        assert_eq!((run.status, &*run.stdout), (2, ""), "{args:?}: {run:?}");
        assert!(run.stderr.contains("Usage"), "{run:?}");
    }
}

#[test]
fn shells_are_given_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Folder::new().run(&["completions", shell]).succeeded().stdout;
        assert!(script.contains("logtool") && script.contains("convert"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = Folder::new();
    folder.run(&["man", "-o", "man1"]).succeeded();
    let pages = folder.list("man1");
    for command in COMMANDS {
        assert!(pages.contains(&format!("logtool-{command}.1")), "{pages:?}");
    }
    assert!(folder.run(&["man"]).succeeded().stdout.contains(".TH logtool 1"));
}
