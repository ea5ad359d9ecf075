//! Tests that printed text does not act on the terminal: names of files, topics and fields,
//! messages, and arguments.

use std::fs;

use crate::{
    bytes,
    program::{Folder, Run},
};

/// A name that clears the screen, starts a line and turns the direction of text.
const NAME: &str = "a\u{1b}[2J\nb\u{202e}c\u{9b}1m.ulg";

/// The escaped form of the name.
const SHOWN: &str = "a\\u{1b}[2J\\nb\\u{202e}c\\u{9b}1m.ulg";

/// Checks that the printed text does not act on a terminal, apart from line ends.
#[track_caller]
fn is_plain(run: &Run) {
    let acts =
        |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}".contains(c));
    assert!(!run.stdout.contains(acts) && !run.stderr.contains(acts), "{run:?}");
}

#[test]
fn names_of_files_are_escaped() {
    let folder = Folder::new();
    folder.write(NAME, &bytes::cut_log());
    for args in [
        &["info", NAME][..],
        &["check", NAME],
        &["cat", NAME, "--format", "text"],
        &["convert", NAME, "-o", "tables"],
        &["filter", NAME, "-o", "x\u{1b}.ulg"],
        &["repair", NAME, "-o", "y\u{1b}.ulg"],
        &["plot", NAME, "att.x", "-o", "x.svg"],
        &["report", NAME, "-o", "x.html"],
        &["messages", NAME],
        &["batch", NAME, "-o", "set"],
        &["index", NAME, "-o", "index.jsonl"],
    ] {
        let run = folder.run(args);
        is_plain(&run);
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(printed.contains("\\u{1b}"), "{args:?}: {run:?}");
    }
    let run = folder.run(&["info", "no\u{1b}]0;x\u{7}.ulg"]);
    is_plain(&run);
    run.assert_status(1, &["no\\u{1b}]0;x\\u{7}.ulg"]);
    let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(page.contains("\\u{1b}[2J"), "{SHOWN}");
}

/// A file name that is turned around or partly invisible would be read as another one.
#[test]
fn titles_of_pages_and_plots_have_no_invisible_characters() {
    let folder = Folder::new();
    let hidden =
        ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{200b}', '\u{200e}']
            .into_iter()
            .chain([
                '\u{200f}',
                '\u{61c}',
                '\u{2060}',
                '\u{feff}',
                '\u{ad}',
                '\u{e0041}',
            ]);
    for c in hidden {
        let (name, shown) =
            (format!("a{c}b.ulg"), format!("a{}b.ulg", c.escape_default()));
        folder.write(&name, &bytes::log());
        folder
            .run(&["report", &name, "-o", "x.html", "--force", "-q"])
            .assert_success();
        let plot =
            ["plot", &name, "att.x", "-o", "x.svg", "--force", "-q", "--title", &name];
        folder.run(&plot).assert_success();
        let svg = folder.read("x.svg");
        assert!(svg.contains(&shown) && !svg.contains(c), "{shown}: {svg}");
        let page = folder.read("x.html");
        assert!(page.contains(&format!("<title>{shown}</title>")), "{shown}");
        assert!(page.contains(&format!("<h1>{shown}</h1>")), "{shown}");
        assert!(!page.contains(c), "{shown}");
        let info = folder.run(&["info", &name]);
        assert!(info.stdout.contains(&shown) && !info.stdout.contains(c), "{info:?}");
    }
}

#[test]
fn arguments_in_messages_are_escaped() {
    let folder = Folder::with_log(&bytes::log());
    for args in [
        &["fly\u{1b}[2J"][..],
        &["info", "--\u{1b}[2J"],
        &["cat", "flight.ulg", "-t", "\u{1b}[2J"],
        &["cat", "flight.ulg", "--start", "\u{1b}[2J"],
        &["params", "flight.ulg", "\u{1b}[2J"],
        &["convert", "flight.ulg", "-o", "x.x\u{1b}[2J"],
        &["man", "\u{1b}[2J"],
    ] {
        let run = folder.run(args);
        is_plain(&run);
        assert!(run.status != 0, "{run:?}");
        // The argument parser removes characters that act on a terminal.
        let is_shown = run.stderr.contains("\\u{1b}[2J");
        assert!(is_shown || run.stderr.contains("--help"), "{run:?}");
    }
}

#[test]
fn names_and_strings_from_logs_are_escaped() {
    let folder = Folder::with_log(&bytes::log_of_field("x\u{1b}[2J\u{202e}"));
    for args in [
        &["cat", "flight.ulg", "--format", "text"][..],
        &["schema", "flight.ulg"],
        &["info", "flight.ulg"],
        &["check", "flight.ulg"],
        &["convert", "flight.ulg", "-o", "x", "--field", "y"],
    ] {
        is_plain(&folder.run(args));
    }
}

#[test]
fn report_names_the_file_without_its_folder() {
    let folder = Folder::new();
    let path = folder.write("secret-folder/flight.ulg", &bytes::cut_log());
    let path = path.to_str().unwrap();
    folder.run(&["report", path, "-o", "x.html"]).assert_status(3, &["secret-folder"]);
    let page = folder.read("x.html");
    assert!(page.contains("flight.ulg") && !page.contains("secret-folder"));
}

#[test]
fn csv_for_spreadsheets_has_no_formulas() {
    let mut log = bytes::log();
    let payload = [&[b'6'][..], &3_100_000_u64.to_le_bytes(), b"=cmd|'/c calc'!A1"];
    log.extend(bytes::message(b'L', &payload.concat()));
    let folder = Folder::with_log(&log);
    let rows = |args: &[&str]| {
        let convert =
            ["convert", "-q", "flight.ulg", "-o", "-", "-t", "logged_strings"];
        folder.run(&[&convert[..], args].concat()).assert_success().stdout
    };
    assert!(rows(&[]).contains(",=cmd|"));
    assert!(rows(&["--csv-safe"]).contains(",'=cmd|"));
}

/// The name of a parameter may start like a formula too, in all three tables of `params`.
#[test]
fn csv_of_parameters_for_spreadsheets_has_no_formulas() {
    let name = |value: f32| {
        // 14 is the length of the type and the name.
        let parameter = [&[14][..], b"float =1+2,\"x\"", &value.to_le_bytes()];
        bytes::message(b'P', &parameter.concat())
    };
    let folder = Folder::new();
    for (log, first) in [("a.ulg", 1.0), ("b.ulg", -2.0)] {
        // The first parameter is after the header of 16 bytes and the flags of 43 bytes.
        let whole = bytes::log();
        let (head, rest) = whole.split_at(16 + 43);
        folder.write(log, &[head, &name(first), rest, &name(3.0)].concat());
    }
    for (args, plain, safe) in [
        (&["params", "a.ulg"][..], "\n\"=1+2,", "\n\"'=1+2,\"\"x\"\"\",float,3.0,,\n"),
        (
            &["params", "a.ulg", "--history"],
            ",\"=1+2,",
            ",\"'=1+2,\"\"x\"\"\",1.0,3.0\n",
        ),
        (
            &["params", "diff", "a.ulg", "b.ulg", "--format", "csv", "--initial"],
            "\n\"=1+2,",
            "\n\"'=1+2,\"\"x\"\"\",1.0,-2.0\n",
        ),
    ] {
        let run = |more: &[&str]| folder.run(&[args, more].concat()).stdout;
        assert!(run(&[]).contains(plain), "{args:?}: {}", run(&[]));
        let marked = run(&["--csv-safe"]);
        assert!(marked.contains(safe), "{args:?}: {marked}");
    }
}

#[test]
fn options_of_other_formats_are_refused() {
    let folder = Folder::with_log(&bytes::log());
    let convert = ["convert", "flight.ulg", "-o", "out", "--format"];
    for (args, reason) in [
        (&[&convert[..], &["parquet", "--csv-safe"]].concat()[..], "parquet has no"),
        (&[&convert[..], &["kml", "--csv-safe"]].concat(), "kml has no"),
        (&[&convert[..], &["csv", "--keep-infinities"]].concat(), "csv is not"),
        (
            &["cat", "flight.ulg", "--format", "text", "--keep-infinities"],
            "text has no",
        ),
        (&["params", "flight.ulg", "--format", "json", "--csv-safe"], "json has no"),
        (
            &["params", "diff", "flight.ulg", "flight.ulg", "--json", "--csv-safe"],
            "json has no",
        ),
    ] {
        folder.run(args).assert_status(2, &[reason]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}
