//! `logtool cat`.

use std::{io::Read as _, process::Stdio};

use crate::{bytes, program::Folder};

const ALL: &str = r#"{"time":1.000000,"topic":"att","data":{"x":0.5}}
{"time":1.100000,"topic":"logged_strings","data":{"level":"info","tag":null,"message":"ready, \"set\""}}
{"time":1.500000,"topic":"att.1","data":{"x":-1.0}}
{"time":2.000000,"topic":"att","data":{"x":1.5}}
{"time":2.000000,"topic":"parameter_changes","data":{"name":"COUNT","int_value":6,"float_value":null}}
{"time":2.100000,"topic":"logged_strings","data":{"level":"warning","tag":null,"message":"low battery"}}
{"time":2.500000,"topic":"att","data":{"x":null}}
{"time":3.000001,"topic":"att.1","data":{"x":0.1}}
"#;

/// The lines of `ALL` with these indices.
fn lines(indices: &[usize]) -> String {
    let all: Vec<&str> = ALL.lines().collect();
    indices.iter().map(|index| format!("{}\n", all[*index])).collect()
}

#[test]
fn in_a_pipe_every_record_is_a_line_of_json_in_the_order_of_the_file() {
    let folder = Folder::with(&bytes::log());
    assert_eq!(folder.run(&["cat", "flight.ulg"]).succeeded().stdout, ALL);
    assert_eq!(folder.run(&["cat", "flight.ulg", "--no-mmap"]).succeeded().stdout, ALL);
}

#[test]
fn a_name_means_all_instances_and_a_label_one() {
    let folder = Folder::with(&bytes::log());
    let cat =
        |topic| folder.run(&["cat", "flight.ulg", "--topic", topic]).succeeded().stdout;
    assert_eq!(cat("att"), lines(&[0, 2, 3, 6, 7]));
    assert_eq!(cat("att.1"), lines(&[2, 7]));
    assert_eq!(cat("*_strings"), lines(&[1, 5]));
    assert_eq!(cat("bat"), "", "there are no records of it");
}

#[test]
fn times_choose_what_is_at_the_start_and_before_the_end() {
    let folder = Folder::with(&bytes::log());
    let cat = |args: &[&str]| {
        folder.run(&[&["cat", "flight.ulg"], args].concat()).succeeded().stdout
    };
    assert_eq!(cat(&["--from", "1.5", "--to", "2.1s"]), lines(&[2, 3, 4]));
    assert_eq!(cat(&["--from", "0:02.5"]), lines(&[6, 7]));
    assert_eq!(cat(&["-n", "2"]), lines(&[0, 1]));
    assert_eq!(cat(&["-n", "0"]), "");
    let relative = cat(&["--time", "relative", "--from", "2", "--topic", "att"]);
    assert_eq!(
        relative,
        r#"{"time":2.000001,"topic":"att.1","data":{"x":0.1}}
"#
    );
}

#[test]
fn text_is_for_people() {
    let folder = Folder::with(&bytes::log());
    let run =
        folder.run(&["cat", "flight.ulg", "--format", "text", "-n", "3"]).succeeded();
    assert_eq!(
        run.stdout,
        "00:00:01.000  att                x=0.5\n\
         [00:00:01.100] INFO   ready, \"set\"\n\
         00:00:01.500  att.1              x=-1.0\n"
    );
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_hint() {
    let folder = Folder::with(&bytes::log());
    let cat = |args: &[&str]| folder.run(&[&["cat", "flight.ulg"], args].concat());
    cat(&["--topic", "atd"])
        .ended(1, &["flight.ulg", "no topic `atd`", "did you mean `att`"]);
    cat(&["--from", "2", "--to", "1"]).ended(2, &["no time between", "hint:"]);
    cat(&["--from", "soon"]).ended(2, &["12m30s"]);
    cat(&["--time", "utc"]).ended(1, &["does not say when", "--time boot"]);
    cat(&["--from", "2024-05-01T12:00:00Z"]).ended(1, &["does not say when"]);
}

#[test]
fn a_cut_log_is_read_to_the_cut_and_the_loss_is_told() {
    let folder = Folder::with(&bytes::cut_log());
    let run = folder.run(&["cat", "flight.ulg"]);
    let start = bytes::log().len() - 17;
    let end = bytes::log().len() - 3;
    let run =
        run.ended(3, &["flight.ulg", "damaged", &format!("bytes {start}..{end}")]);
    assert_eq!(run.stdout, lines(&[0, 1, 2, 3, 4, 5, 6]));
    let run = folder.run(&["cat", "flight.ulg", "--quiet"]);
    assert_eq!((run.status, &*run.stderr), (3, ""));
    let run = folder.run(&["cat", "flight.ulg", "--strict"]).ended(1, &["damaged"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with(&bytes::long_log(200_000));
    let mut command = folder.command(&["cat", "flight.ulg"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*stderr), (Some(0), ""));
}
