//! `logtool cat`.

use std::{
    io::{Cursor, Read as _},
    process::Stdio,
};

use logtool_core::Timestamp;
use logtool_rosbag::{ConnectionHeader, Writer, WriterOptions};

use crate::{bytes, program::Folder};

const ALL: &str = r#"{"timestamp":1000000,"topic":"att","data":{"x":0.5}}
{"timestamp":1100000,"topic":"logged_strings","data":{"level":"info","tag":null,"message":"ready, \"set\""}}
{"timestamp":1500000,"topic":"att.1","data":{"x":-1.0}}
{"timestamp":2000000,"topic":"att","data":{"x":1.5}}
{"timestamp":2000000,"topic":"parameter_changes","data":{"name":"COUNT","int_value":6,"float_value":null}}
{"timestamp":2100000,"topic":"logged_strings","data":{"level":"warning","tag":null,"message":"low battery"}}
{"timestamp":2500000,"topic":"att","data":{"x":null}}
{"timestamp":3000001,"topic":"att.1","data":{"x":0.1}}
"#;

/// The lines of `ALL` with these indices.
fn lines(indices: &[usize]) -> String {
    let all: Vec<&str> = ALL.lines().collect();
    indices.iter().map(|index| format!("{}\n", all[*index])).collect()
}

#[test]
fn cat_in_a_pipe_prints_json_lines_in_file_order() {
    let folder = Folder::with_log(&bytes::log());
    assert_eq!(folder.run(&["cat", "flight.ulg"]).assert_success().stdout, ALL);
    assert_eq!(
        folder.run(&["cat", "flight.ulg", "--no-mmap"]).assert_success().stdout,
        ALL
    );
}

#[test]
fn topic_name_selects_all_instances_and_a_label_selects_one() {
    let folder = Folder::with_log(&bytes::log());
    let cat = |topic| {
        folder.run(&["cat", "flight.ulg", "--topic", topic]).assert_success().stdout
    };
    assert_eq!(cat("att"), lines(&[0, 2, 3, 6, 7]));
    assert_eq!(cat("att.1"), lines(&[2, 7]));
    assert_eq!(cat("*_strings"), lines(&[1, 5]));
    let none = folder.run(&["cat", "flight.ulg", "--topic", "bat"]);
    assert_eq!(none.stdout, "", "there are no records of it");
    none.assert_status(0, &["no records match"]);
}

#[test]
fn time_range_includes_its_start_and_excludes_its_end() {
    let folder = Folder::with_log(&bytes::log());
    let cat = |args: &[&str]| {
        folder.run(&[&["cat", "flight.ulg"], args].concat()).assert_success().stdout
    };
    assert_eq!(cat(&["--start", "boot:1.5", "--end", "boot:2.1s"]), lines(&[2, 3, 4]));
    assert_eq!(cat(&["--start", "boot:0:02.5"]), lines(&[6, 7]));
    assert_eq!(cat(&["-n", "2"]), lines(&[0, 1]));
    assert_eq!(cat(&["-n", "0"]), "");
    let relative = cat(&["--clock", "relative", "--start", "2", "--topic", "att"]);
    assert_eq!(
        relative,
        r#"{"timestamp":2000001,"topic":"att.1","data":{"x":0.1}}
"#
    );
}

#[test]
fn cat_prints_records_as_text() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder
        .run(&["cat", "flight.ulg", "--format", "text", "-n", "3"])
        .assert_success();
    assert_eq!(
        run.stdout,
        "00:00:01.000  att                x=0.5\n\
         [00:00:01.100] INFO   ready, \"set\"\n\
         00:00:01.500  att.1              x=-1.0\n"
    );
}

#[test]
fn cat_rejects_unusable_arguments_with_a_hint() {
    let folder = Folder::with_log(&bytes::log());
    let cat = |args: &[&str]| folder.run(&[&["cat", "flight.ulg"], args].concat());
    cat(&["--topic", "atd"])
        .assert_status(1, &["flight.ulg", "no topic `atd`", "did you mean `att`"]);
    cat(&["--start", "2", "--end", "1"]).assert_status(2, &["not after its start"]);
    cat(&["--start", "soon"]).assert_status(2, &["12.5, 1m30s"]);
    cat(&["--clock", "utc"]).assert_status(1, &["no UTC reference", "hint:"]);
    cat(&["--start", "2024-05-01T12:00:00Z"]).assert_status(1, &["no UTC reference"]);
}

#[test]
fn truncated_log_is_read_to_its_end_and_the_loss_is_reported() {
    let folder = Folder::with_log(&bytes::cut_log());
    let run = folder.run(&["cat", "flight.ulg"]);
    let start = bytes::log().len() - 17;
    let end = bytes::log().len() - 3;
    let run = run
        .assert_status(3, &["flight.ulg", "damaged", &format!("bytes {start}..{end}")]);
    assert_eq!(run.stdout, lines(&[0, 1, 2, 3, 4, 5, 6]));
    let run = folder.run(&["cat", "flight.ulg", "--quiet"]);
    assert_eq!((run.status, &*run.stderr), (3, ""));
    let run =
        folder.run(&["cat", "flight.ulg", "--strict"]).assert_status(1, &["damaged"]);
    assert_eq!(run.stdout, "");
}

/// The lines of `bytes::mixed_log`.
fn mixed_lines(count: u32) -> Vec<String> {
    let mut lines = Vec::new();
    for row in 0..count {
        let time = format!("{{\"timestamp\":{},\"topic\":", 1_000_000 + row);
        if row % 10_000 == 0 {
            lines.push(format!(
                "{time}\"logged_strings\",\"data\":{{\"level\":\"info\",\"tag\":null,\
                 \"message\":\"now {row}\"}}}}\n"
            ));
        }
        let topic = if row % 2 == 0 { "att" } else { "att.1" };
        lines.push(format!("{time}\"{topic}\",\"data\":{{\"x\":{row}.0}}}}\n"));
    }
    lines
}

/// 3 MB, which is a dozen blocks.
const MANY: u32 = 150_000;

#[test]
fn lines_are_ordered_and_counted_on_any_number_of_threads() {
    let folder = Folder::with_log(&bytes::mixed_log(MANY));
    let lines = mixed_lines(MANY);
    for threads in ["1", "2", "5"] {
        let cat = |args: &[&str]| {
            let all = [&["cat", "flight.ulg", "--threads", threads], args].concat();
            folder.run(&all).assert_success().stdout
        };
        assert!(cat(&[]) == lines.concat(), "{threads} threads");
        assert!(cat(&["--order", "time"]) == lines.concat(), "{threads} threads");
        for count in [1, 7, 77_777, lines.len() - 1, lines.len() + 1] {
            let printed = cat(&["-n", &count.to_string()]);
            let expected = lines[..count.min(lines.len())].concat();
            assert!(printed == expected, "{count} by {threads} threads");
        }
    }
}

#[test]
fn damage_is_reported_and_fails_a_strict_run_on_any_number_of_threads() {
    // 60,000 numbers, each equal to its second, and an incomplete message after 40,000.
    let mut bag =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let header = ConnectionHeader::new("/n", "std_msgs/UInt32", "uint32 data\n");
    let numbers = bag.connect(&header).unwrap();
    for number in 0..60_000_u32 {
        let time = Timestamp::from_nanos(i64::from(number) * 1_000_000_000);
        bag.write(numbers, time, &number.to_le_bytes()).unwrap();
        if number == 39_999 {
            bag.write(numbers, time, &[1, 2]).unwrap();
        }
    }
    let folder = Folder::new();
    folder.write("n.bag", &bag.finish().unwrap().into_inner());
    let line = |number: u32| {
        let nanos = if number == 0 { "" } else { "000000000" };
        format!(
            "{{\"time\":{number}{nanos},\"topic\":\"/n\",\"data\":{{\"data\":{number}}}}}\n"
        )
    };
    let lines: Vec<String> = (0..60_000).map(line).collect();
    // The message that cannot be decoded is shown as its bytes.
    let payload =
        "{\"time\":39999000000000,\"topic\":\"/n\",\"data\":{\"payload\":\"0102\"}}\n";
    let all = [&lines[..40_000].concat(), payload, &lines[40_000..].concat()].concat();
    for threads in ["1", "2", "5"] {
        let cat = |args: &[&str]| {
            folder.run(&[&["cat", "n.bag", "--threads", threads], args].concat())
        };
        let run = cat(&[]).assert_status(3, &["n.bag: damaged: ", "/n", "1 record"]);
        assert!(run.stdout == all, "{threads} threads");
        let run = cat(&["--strict"]).assert_status(1, &["error: n.bag: damaged: "]);
        // The output before the block with the damage.
        assert!(lines[..40_000].concat().starts_with(&run.stdout), "{threads} threads");
        assert!(run.stdout.ends_with("}}\n"), "{threads} threads");
        // A reader that stops before the damage gets no warning.
        let run = cat(&["--strict", "-n", "100"]).assert_success();
        assert!(run.stdout == lines[..100].concat(), "{threads} threads");
    }
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let folder = Folder::with_log(&bytes::long_log(200_000));
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
