//! Defaults from variables and files, colour, and the pager.

use std::process::Command;

use crate::{
    bytes,
    program::{Folder, Run},
    samples::testdata,
};

/// Runs the program with these variables, and with `home` in the folder as the user's folder.
fn run(folder: &Folder, variables: &[(&str, &str)], args: &[&str]) -> Run {
    let mut command = folder.command(args);
    command.env("XDG_CONFIG_HOME", folder.path().join("home"));
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The user's file, as [`run`] sets it.
const USER_FILE: &str = "home/logtool/logtool.toml";

const CONVERT: [&str; 6] = ["convert", "flight.ulg", "-q", "-f", "-o", "out/"];

/// Returns the extension of the tables that `convert` writes.
fn format(folder: &Folder, variables: &[(&str, &str)], args: &[&str]) -> String {
    let _ = std::fs::remove_dir_all(folder.path().join("out"));
    run(folder, variables, &[&CONVERT[..], args].concat()).assert_success();
    let files = folder.list("out");
    let table = files.iter().find(|name| name.contains("att")).unwrap();
    table.rsplit_once('.').unwrap().1.to_owned()
}

#[test]
fn options_override_variables_and_variables_override_files() {
    let folder = Folder::with_log(&bytes::log());
    assert_eq!(format(&folder, &[], &[]), "csv");
    folder.write("home/logtool/logtool.toml", b"[convert]\nformat = \"jsonl\"\n");
    assert_eq!(format(&folder, &[], &[]), "jsonl");
    folder.write("logtool.toml", b"threads = 1\nformat = \"arrow\"\n");
    assert_eq!(format(&folder, &[], &[]), "arrow");
    let variables = [("LOGTOOL_FORMAT", "npz")];
    assert_eq!(format(&folder, &variables, &[]), "npz");
    let variables = [("LOGTOOL_FORMAT", "npz"), ("LOGTOOL_CONVERT_FORMAT", "parquet")];
    assert_eq!(format(&folder, &variables, &[]), "parquet");
    assert_eq!(format(&folder, &variables, &["--format", "csv"]), "csv");
}

#[test]
fn settings_of_parent_folders_apply_and_are_in_the_provenance() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("logtool.toml", b"[convert]\nformat = \"jsonl\"\nflat = true\n");
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let args = ["convert", "../../flight.ulg", "-q", "-o", "out"];
    let mut command = folder.command(&args);
    assert!(command.current_dir(folder.path().join("a/b")).status().unwrap().success());
    let provenance = folder.read("a/b/out/provenance.json");
    assert!(provenance.contains("convert --format jsonl --flat"), "{provenance}");
}

#[test]
fn wrong_defaults_are_errors_with_their_origin() {
    let folder = Folder::with_log(&bytes::log());
    let variables = [("LOGTOOL_THREADS", "many")];
    run(&folder, &variables, &["info", "flight.ulg"])
        .assert_status(2, &["LOGTOOL_THREADS: invalid value `many` for `threads`"]);
    let variables = [("LOGTOOL_STRICT", "1")];
    run(&folder, &variables, &["info", "flight.ulg"])
        .assert_status(2, &["true or false"]);
    for (file, words) in [
        (&b"treads = 4"[..], &["logtool.toml", "no option `treads`", "`threads`"][..]),
        (b"[convert]\nformat = \"xml\"", &["invalid value `xml`", "csv, jsonl"]),
        (b"[convert]\nfreq = true", &["no option `freq`"]),
        (b"threads = [4]", &["`threads` has no single value"]),
        (b"out = \"x\"", &["no option `out`"]),
        (b"start = 1", &["no option `start`"]),
        (b"threads", &["logtool.toml"]),
    ] {
        folder.write(USER_FILE, file);
        let run = run(&folder, &[], &CONVERT);
        assert!(run.status == 1 || run.status == 2, "{run:?}");
        words.iter().for_each(|word| assert!(run.stderr.contains(word), "{run:?}"));
    }
}

#[test]
fn other_options_in_the_file_of_a_folder_are_reported_and_ignored() {
    let folder = Folder::with_log(&bytes::log());
    let file = b"treads = 4\nquiet = true\n[convert]\nformat = \"jsonl\"\nmsg-dir = \"none\"\n";
    folder.write("logtool.toml", file);
    let args = ["convert", "flight.ulg", "-f", "-o", "out/"];
    let Run { status, stderr, .. } = run(&folder, &[], &args);
    assert_eq!(status, 0, "{stderr}");
    for words in [
        "line 1: `treads` is ignored: there is no such option (did you mean `threads`?)",
        "line 2: `quiet` is ignored: the file of a folder cannot set it",
        "line 5: `msg-dir` is ignored",
    ] {
        assert!(stderr.contains(words), "{stderr}");
    }
    assert_eq!(format(&folder, &[], &[]), "jsonl");
    // The user's own file may set them, also if the command runs in its folder.
    folder.write("logtool.toml", b"");
    folder.write(USER_FILE, b"key-file = \"none.pem\"\n");
    run(&folder, &[], &args).assert_status(1, &["cannot read the key none.pem"]);
    let mut command = folder.command(&["info", "../../flight.ulg"]);
    command.env("XDG_CONFIG_HOME", folder.path().join("home"));
    command.current_dir(folder.path().join("home/logtool"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("ignored"));
}

#[cfg(target_os = "linux")]
#[test]
fn file_of_a_folder_starts_no_program() {
    let folder = Folder::with_log(&bytes::long_log(100));
    folder.write("logtool.toml", b"pager = \"sh -c 'touch RAN; cat'\"\n");
    let commands = "info cat messages params schema check convert plot report flight geotag gps-dump \
                    replay-log filter merge repair record align batch index plan read calibration \
                    formats completions man help";
    for command in commands.split_whitespace() {
        for words in ["flight.ulg", "--help"] {
            let line =
                format!("stty rows 3; PAGER=cat $PATH_OF_LOGTOOL {command} {words}");
            let Some(text) = on_terminal(&folder, &line) else { return };
            assert!(!text.is_empty(), "{command}");
            assert!(!folder.path().join("RAN").exists(), "{command} {words}");
        }
    }
    // The user's own file does start it.
    folder.write("home/logtool/logtool.toml", b"pager = \"sed s/^/paged:/\"\n");
    let line = "XDG_CONFIG_HOME=$PWD/home $PATH_OF_LOGTOOL cat flight.ulg";
    assert!(on_terminal(&folder, line).unwrap().contains("paged:"));
}

#[test]
fn variables_select_no_times() {
    let folder = Folder::with_log(&bytes::log());
    let variables = [("LOGTOOL_START", "1h"), ("LOGTOOL_CAT_END", "0")];
    let run = run(&folder, &variables, &["cat", "flight.ulg", "-n", "1"]);
    assert_eq!(run.assert_success().stdout.lines().count(), 1);
}

#[test]
fn colors_follow_the_option_then_variables() {
    let folder = Folder::new();
    let has_color = |variables: &[(&str, &str)], option: &[&str]| {
        let args = [option, &["info", "none.ulg"]].concat();
        run(&folder, variables, &args).stderr.starts_with("\x1b[1;31merror:")
    };
    assert!(!has_color(&[], &[]), "standard error is not a terminal");
    assert!(has_color(&[], &["--color", "always"]));
    assert!(has_color(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!has_color(&[("CLICOLOR_FORCE", "0")], &[]));
    assert!(!has_color(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!has_color(&[("CLICOLOR_FORCE", "1")], &["--color=never"]));
    assert!(has_color(&[("NO_COLOR", "1")], &["--color=always"]));
    assert!(has_color(&[("LOGTOOL_COLOR", "always")], &[]));
}

/// Runs a command line of a shell on a terminal of 24 rows, and returns the output. `None` if
/// there is no program that makes terminals.
fn on_terminal(folder: &Folder, line: &str) -> Option<String> {
    let line = format!("stty rows 24 cols 80; {line}");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(folder.path());
    command.env("PATH_OF_LOGTOOL", env!("CARGO_BIN_EXE_logtool")).env("TERM", "xterm");
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn text_for_people_fits_on_the_terminal() {
    let folder = Folder::with_log(&bytes::log());
    let (flight, damaged) =
        (testdata("quad_flight.ulg"), testdata("damaged/lost_sector.ulg"));
    for args in [
        "formats",
        "check --codes",
        &format!("check {damaged}"),
        &format!("flight {flight}"),
    ] {
        let line = format!("$PATH_OF_LOGTOOL -q --no-pager --color never {args}");
        let Some(text) = on_terminal(&folder, &line) else { return };
        let mut lines = text.lines();
        // The path of a log may be long.
        let long =
            lines.find(|line| line.chars().count() > 80 && !line.contains(".ulg"));
        assert_eq!(long, None, "{args}");
        assert!(!text.contains("|---|"), "{args}: {text}");
        assert!(text.lines().count() > 4, "{args}: {text}");
    }
    let piped = folder.run(&["check", "--codes"]).assert_success().stdout;
    assert!(
        piped.starts_with("| code | level | meaning |\n|---|---|---|\n"),
        "{piped}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn pager_shows_long_text_on_terminals_only() {
    let folder = Folder::with_log(&bytes::long_log(100));
    let pager = "LOGTOOL_PAGER='sed s/^/paged:/' $PATH_OF_LOGTOOL";
    let Some(long) = on_terminal(&folder, &format!("{pager} cat flight.ulg")) else {
        return;
    };
    assert_eq!(long.matches("paged:").count(), 100, "{long}");
    let is_paged = |args: &str| {
        let printed = on_terminal(&folder, &format!("{pager} {args}")).unwrap();
        assert!(printed.contains("flight.ulg") || printed.contains("att"), "{printed}");
        printed.contains("paged:")
    };
    assert!(!is_paged("cat flight.ulg -n 10"), "short text");
    assert!(!is_paged("cat flight.ulg --no-pager"));
    assert!(!is_paged("cat flight.ulg | cat"), "not a terminal");
    assert!(is_paged("cat --help"), "it names flight.ulg");
    let help =
        on_terminal(&folder, &format!("LOGTOOL_NO_PAGER=true {pager} cat --help"));
    assert!(!help.unwrap().contains("paged:"));
    let line = format!("{pager} --pager 'sed s/^/chosen:/' cat --help");
    let help = on_terminal(&folder, &line).unwrap();
    assert!(help.contains("chosen:") && !help.contains("paged:"), "{help}");
    let quit = on_terminal(
        &folder,
        "LOGTOOL_PAGER='head -n 1' $PATH_OF_LOGTOOL cat flight.ulg",
    );
    assert_eq!(quit.unwrap().lines().count(), 1, "a pager that ends is not an error");
}
