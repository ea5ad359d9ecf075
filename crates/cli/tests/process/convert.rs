//! `logtool convert`.

use std::fs;

use crate::{bytes, program::Folder, samples::testdata};

#[test]
fn csv_files_have_the_names_of_ulog2csv() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder
        .run(&["convert", "flight.ulg"])
        .assert_status(0, &["flight.ulg → flight/: 5 tables"]);
    assert_eq!(run.stdout, "", "standard output is for data");
    assert_eq!(
        folder.list("flight"),
        [
            "flight_att_0.csv",
            "flight_att_1.csv",
            "flight_logged_strings_0.csv",
            "flight_messages_0.csv",
            "flight_parameter_changes_0.csv",
            "provenance.json",
        ]
    );
    let att = "timestamp,x\n1000000,0.5\n2000000,1.5\n2500000,NaN\n";
    assert_eq!(folder.read("flight/flight_att_0.csv"), att);
    let strings = "timestamp,level,tag,message\n\
                   1100000,info,,\"ready, \"\"set\"\"\"\n\
                   2100000,warning,,low battery\n";
    assert_eq!(folder.read("flight/flight_logged_strings_0.csv"), strings);
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("out/flight_att_1.csv", b"mine");
    let run = folder.run(&["convert", "flight.ulg", "-o", "out"]);
    run.assert_status(1, &["flight_att_1.csv exists already", "hint: --force"]);
    assert_eq!(folder.list("out"), ["flight_att_1.csv"], "nothing else appeared");
    assert_eq!(folder.read("out/flight_att_1.csv"), "mine");
    folder
        .run(&["convert", "flight.ulg", "-o", "out", "--force", "-q"])
        .assert_success();
    assert_eq!(
        folder.read("out/flight_att_1.csv"),
        "timestamp,x\n1500000,-1.0\n3000001,0.1\n"
    );
}

#[test]
fn failed_conversion_leaves_no_output() {
    let folder = Folder::with_log(&bytes::cut_log());
    let convert = |args: &[&str]| {
        folder.run(&[&["convert", "flight.ulg", "-o", "a/b"], args].concat())
    };
    convert(&["--strict"]).assert_status(1, &["damaged"]);
    convert(&["--field", "nosuch"])
        .assert_status(1, &["no selected topic has a field"]);
    convert(&["--topic", "nosuch"]).assert_status(1, &["no topic `nosuch`"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
    convert(&[]).assert_status(3, &["ends inside a record"]);
    let rows = folder.read("a/b/flight_att_1.csv");
    assert_eq!(rows, "timestamp,x\n1500000,-1.0\n", "all but the cut row");
}

#[test]
fn several_logs_have_separate_folders() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("other.ulg", &bytes::cut_log());
    folder.write("bad.ulg", b"nothing");
    let args = ["convert", "bad.ulg", "flight.ulg", "other.ulg", "-o", "out", "-q"];
    folder.run(&args).assert_status(1, &["cannot open bad.ulg: not a known log"]);
    assert_eq!(folder.list("out"), ["flight", "other"]);
    folder.write("elsewhere/flight.ulg", &bytes::log());
    let args = ["convert", "flight.ulg", "elsewhere/flight.ulg", "-o", "x"];
    folder.run(&args).assert_status(2, &["would both be in x/flight"]);
    assert_eq!(folder.list("x"), [""; 0]);
}

#[test]
fn tables_contain_the_selected_topics_fields_and_times() {
    let folder = Folder::with_log(&bytes::log());
    let args = [
        "--topic", "att", "--start", "boot:2", "--end", "boot:3s", "--format", "jsonl",
    ];
    folder
        .run(&[&["convert", "flight.ulg", "-o", "a", "-q"], &args[..]].concat())
        .assert_success();
    let files = ["att_0.jsonl", "provenance.json"];
    assert_eq!(folder.list("a"), files, "the other has nothing in that time");
    let rows =
        "{\"timestamp\":2000000,\"x\":1.5}\n{\"timestamp\":2500000,\"x\":null}\n";
    assert_eq!(folder.read("a/att_0.jsonl"), rows);
    let args =
        ["convert", "flight.ulg", "-o", "b", "-q", "--field", "logged_strings.mess*"];
    folder.run(&args).assert_success();
    let rows =
        "timestamp,message\n1100000,\"ready, \"\"set\"\"\"\n2100000,low battery\n";
    assert_eq!(folder.read("b/flight_logged_strings_0.csv"), rows);
    assert_eq!(folder.list("b").len(), 2);
}

#[test]
fn each_format_and_layout_writes_valid_files() {
    let folder = Folder::with_log(&bytes::log());
    let convert = |out: &str, args: &[&str]| {
        let args = [&["convert", "flight.ulg", "-q", "-o", out], args].concat();
        folder.run(&args).assert_success();
        folder.list(out)
    };
    let files = convert("parquet", &["--format", "parquet"]);
    assert!(files.contains(&"att_1.parquet".to_owned()), "{files:?}");
    let bytes = fs::read(folder.path().join("parquet/att_1.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    convert("arrow", &["--format", "arrow"]);
    let bytes = fs::read(folder.path().join("arrow/att_0.arrow")).unwrap();
    assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1"));
    let files = convert("px4", &["--format", "parquet", "--layout", "px4"]);
    let expected = ["att.parquet", "att_1.parquet", "manifest.json", "metadata.json"];
    assert_eq!(files, expected);
}

#[test]
fn merged_table_has_the_last_value_of_each_field() {
    let folder = Folder::with_log(&bytes::log());
    let args =
        ["convert", "flight.ulg", "-o", "m", "-q", "--merge", "asof", "--rate", "2"];
    folder.run(&args).assert_success();
    assert_eq!(folder.list("m"), ["merged.csv", "provenance.json"]);
    assert_eq!(
        folder.read("m/merged.csv"),
        "timestamp,att.x,att.1.x\n\
         1000000,0.5,\n1500000,0.5,-1.0\n2000000,1.5,-1.0\n2500000,NaN,-1.0\n3000000,NaN,-1.0\n"
    );
}

#[test]
fn outlying_time_does_not_extend_the_merged_table() {
    let folder = Folder::new();
    let mut capture = std::fs::read(testdata("puck.pcap")).unwrap();
    let word = |bytes: &[u8], at| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    folder.write("good.pcap", &capture);
    // The time of the second frame is 72 days later.
    let at = 24 + 16 + word(&capture, 24 + 8) as usize;
    let seconds = word(&capture, at) + 72 * 86_400;
    capture[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
    folder.write("stray.pcap", &capture);
    let merge = |log: &str, out: &str| {
        let args = ["convert", log, "-o", out, "--merge", "asof", "--rate", "100"];
        folder.run(&args)
    };
    merge("good.pcap", "good").assert_status(0, &[]);
    let run = merge("stray.pcap", "stray");
    run.assert_status(0, &["others are over an hour away, as 2024-08-12T10:00:00"]);
    let lines = |out: &str| folder.read(&format!("{out}/merged.csv")).lines().count();
    // The frames are from 10:00:00.000200 to 10:00:00.054611: one row per hundredth of a
    // second.
    assert_eq!([lines("good"), lines("stray")], [1 + 5, 1 + 5]);
}

#[test]
fn contradictory_options_are_wrong_usage() {
    let folder = Folder::with_log(&bytes::log());
    let convert =
        |args: &[&str]| folder.run(&[&["convert", "flight.ulg"], args].concat());
    convert(&["-o", "flight.csv"])
        .assert_status(2, &["flight.csv is one file", "hint:"]);
    convert(&["--format", "xml"]).assert_status(
        2,
        &["possible values: csv, jsonl, parquet, arrow, npz, mat, images, pcd"],
    );
    convert(&["--format", "csv", "--format", "arrow"])
        .assert_status(2, &["cannot be used multiple times"]);
    convert(&["--layout", "flat"])
        .assert_status(2, &["--layout is for --format parquet"]);
    convert(&["--merge", "asof"]).assert_status(2, &["--rate"]);
    folder
        .run_with(&["convert", "-"], &bytes::log())
        .assert_status(2, &["name a folder"]);
    folder.run_with(&["convert", "-", "-o", "in", "-q", "-t", "att"], &bytes::log());
    assert!(folder.list("in").contains(&"stdin_att_0.csv".to_owned()));
    assert_eq!(folder.list("."), ["flight.ulg", "in"]);
}

#[test]
fn output_with_an_extension_is_a_file_or_rejected() {
    let folder = Folder::with_log(&bytes::log());
    let convert = |out: &str, more: &[&str]| {
        folder.run(&[&["convert", "flight.ulg", "-o", out], more].concat())
    };
    for (out, hint) in [
        ("x.parquet", "-o x --format parquet"),
        ("x.csv", "-o x --format csv"),
        ("x.PNG", "-o x --format png"),
        ("x.feather", "-o x --format arrow"),
        ("x.xlsx", "-o x.xlsx/"),
        ("x.mcap.zst", "-o x.mcap.zst/"),
    ] {
        convert(out, &[]).assert_status(2, &[out, hint]);
    }
    convert("x.csv", &["--format", "csv"]).assert_status(2, &["x.csv is one file"]);
    convert("x.csv", &["--format", "jsonl"]).assert_status(2, &["looks like a file"]);
    convert("x.las", &[]).assert_status(1, &["no points"]);
    convert("x.bag", &["--format", "mcap"])
        .assert_status(2, &["x.bag", "--format is mcap"]);
    convert("x.mcap/", &[]).assert_status(2, &["x.mcap/ is a folder", "--format mcap"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
    convert("x.mcap/", &["--format", "mcap", "-q"]).assert_success();
    assert_eq!(folder.list("x.mcap"), ["flight.mcap"]);
    convert("x.mcap", &[]).assert_status(2, &["x.mcap is a folder"]);
    convert("y.las/", &["-q"]).assert_status(2, &["y.las/ is a folder"]);
    convert("y.z/", &["-q"]).assert_success();
    convert("v1.2", &["-q"]).assert_success();
    convert("z.xlsx", &["-q", "--format", "jsonl"]).assert_success();
    assert_eq!(folder.list("."), ["flight.ulg", "v1.2", "x.mcap", "y.z", "z.xlsx"]);
}

#[test]
fn options_of_tables_are_rejected_for_new_logs() {
    let folder = Folder::with_log(&bytes::log());
    let convert = |more: &[&str]| {
        let args = ["convert", "flight.ulg", "-f", "-q", "-o", "x.mcap"];
        folder.run(&[&args[..], more].concat())
    };
    convert(&["--clock", "boot"])
        .assert_status(2, &["no other clock", "--clock is for tables"]);
    convert(&["--clock", "relative"]).assert_status(2, &["no other clock"]);
    convert(&["--labels"]).assert_status(2, &["for tables"]);
    convert(&["--start", "1"]).assert_status(0, &[]);
}

#[test]
fn empty_table_has_its_columns_and_empty_folder_is_not_written() {
    let folder = Folder::with_log(&bytes::log());
    let late = |to: &str| {
        let args = ["convert", "flight.ulg", "--format", to, "-t", "att.1"];
        let late = ["--start", "1h", "-o", "-"];
        folder.command(&[&args[..], &late].concat()).output().unwrap().stdout
    };
    assert_eq!(String::from_utf8(late("csv")).unwrap(), "timestamp,x\n");
    // A message in an Arrow stream begins with four bytes of ones; a message of length 0 is
    // the end.
    let arrow = late("arrow");
    assert!(
        arrow.starts_with(&[0xff; 4]) && arrow.windows(9).any(|b| b == b"timestamp")
    );
    assert!(arrow.ends_with(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]));
    for out in ["x.mat", "x"] {
        let args = ["convert", "flight.ulg", "-o", out, "--start", "1h"];
        folder.run(&args).assert_status(0, &["nothing is written"]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn tables_are_equal_on_any_number_of_threads() {
    let folder = Folder::with_log(&bytes::long_log(300_000));
    folder
        .run(&["convert", "flight.ulg", "-o", "one", "-q", "--threads", "1"])
        .assert_success();
    folder
        .run(&["convert", "flight.ulg", "-o", "four", "-q", "--threads", "4"])
        .assert_success();
    let one = folder.read("one/flight_att_0.csv");
    assert_eq!(one.lines().count(), 300_001);
    assert!(one == folder.read("four/flight_att_0.csv"));
}

#[test]
fn single_table_is_written_to_standard_output() {
    let folder = Folder::with_log(&bytes::log());
    let to_stdout = |args: &[&str]| {
        folder.run(&[&["convert", "flight.ulg", "-o", "-"], args].concat())
    };
    let run = to_stdout(&["--topic", "att.1"])
        .assert_status(0, &["flight.ulg → -: 1 table, 2 rows"]);
    assert_eq!(run.stdout, "timestamp,x\n1500000,-1.0\n3000001,0.1\n");
    let run =
        to_stdout(&[]).assert_status(2, &["5 tables, and one standard output", "att"]);
    assert_eq!(run.stdout, "", "nothing is written of what is refused");
    to_stdout(&["--format", "parquet"])
        .assert_status(2, &["cannot be written to standard output"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn numpy_has_a_file_for_each_topic_and_matlab_has_one() {
    let folder = Folder::with_log(&bytes::log());
    folder
        .run(&["convert", "flight.ulg", "-q", "-o", "np", "--format", "npz"])
        .assert_success();
    assert_eq!(folder.list("np")[..2], ["att_0.npz", "att_1.npz"]);
    folder.run(&["convert", "flight.ulg", "-q", "-o", "x.mat"]).assert_success();
    folder.run(&["convert", "flight.ulg", "-q", "--format", "mat"]).assert_success();
    assert_eq!(folder.list("."), ["flight", "flight.ulg", "np", "x.mat"]);
    assert_eq!(folder.list("flight"), ["flight.mat"]);
    let run = folder.run(&["convert", "flight.ulg", "-o", "x.mat"]);
    run.assert_status(1, &["x.mat exists already"]);
}
