//! `logtool plan` and `logtool read`.

use std::fs;

use crate::{program::Folder, samples::testdata};

/// Returns the lines of all tables of `log`, as `convert` writes them, sorted by topic.
fn convert_to_lines(
    folder: &Folder,
    log: &str,
    topic: &str,
    options: &[&str],
) -> String {
    let args = ["convert", log, "-o", "-", "--format", "jsonl", "--topic", topic];
    folder.run(&[&args[..], options].concat()).stdout
}

#[test]
fn splits_read_by_other_processes_equal_the_converted_table() {
    let folder = Folder::new();
    for (log, topic, options) in [
        ("quad_flight.ulg", "vehicle_attitude", &[][..]),
        ("rover.bag", "/imu/data", &["--start", "2", "--end", "5.5"]),
        ("car.vel", "points", &[]),
        ("puck.pcap", "points", &["--field", "x", "--field", "scan"]),
    ] {
        let log = testdata(log);
        let plan = ["plan", &log, "--topic", topic, "--json", "--target-bytes", "1M"];
        let run = folder.run(&[&plan[..], options].concat()).assert_success();
        let read = |split: &str| {
            let split = format!("{split}\n");
            let args = ["read", "--split", "-", "--format", "jsonl"];
            folder.run_with(&args, split.as_bytes()).assert_success().stdout
        };
        let rows: String = run.stdout.lines().map(read).collect();
        assert!(!rows.is_empty());
        assert_eq!(rows, convert_to_lines(&folder, &log, topic, options), "{log}");
    }
}

#[test]
fn csv_of_splits_with_nested_columns_has_a_column_for_each_number() {
    let (folder, log) = (Folder::new(), testdata("rover.bag"));
    for fields in [&[][..], &["--field", "orientation", "--field", "header"]] {
        let plan = ["plan", &log, "--topic", "/imu/data", "--json"];
        let plan = folder.run(&[&plan[..], fields].concat()).assert_success().stdout;
        let args = ["read", "--split", "-", "--format", "csv"];
        let read = folder.run_with(&args, plan.as_bytes()).assert_success().stdout;
        let args = ["convert", &log, "-q", "-o", "-", "--format", "csv"];
        let args = [&args[..], &["-t", "/imu/data"]].concat();
        let want = folder.run(&[&args[..], fields].concat()).assert_success().stdout;
        assert!(read.lines().count() > 10 && read.contains("orientation.x"), "{read}");
        assert_eq!(read, want);
    }
}

#[test]
fn messages_of_splits_have_the_times_of_their_records() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let topic = ["--topic", "vehicle_attitude"];
    for options in [&["--messages", "mcap"][..], &["--messages", "bag"]] {
        let plan = ["plan", &log, "--json", "--clock", "utc"];
        let plan = [&plan[..], &topic, options].concat();
        let plan = folder.run(&plan).assert_success().stdout;
        // A bag also has the attitudes as `sensor_msgs/Imu`.
        let split = plan.lines().next().unwrap_or_default();
        let read = ["read", "--split", "-", "--format", "jsonl"];
        let rows = folder.run_with(&read, split.as_bytes()).assert_success().stdout;
        let want = convert_to_lines(&folder, &log, topic[1], &["--clock", "utc"]);
        let times = |rows: &str| -> Vec<String> {
            let times = rows.lines().filter_map(|row| row.split('"').nth(3));
            times.map(|time| time.trim_end_matches(['0', 'Z']).to_owned()).collect()
        };
        assert!(rows.contains("\"payload\":") && times(&rows).len() > 100, "{rows}");
        assert_eq!(times(&rows), times(&want));
    }
    let plan = folder.run(&["plan", &log, "--messages", "vel"]);
    plan.assert_status(1, &["not translated"]);
    folder.run(&["plan", &log, "--foxglove"]).assert_status(2, &["--messages"]);
}

/// A ULog of a topic whose type is not defined: message id 0 is `a`, with one record.
const UNDEFINED: &[u8] = b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0\
    \x28\0B\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \x04\0A\0\0\0a\x0a\0D\0\0\x01\0\0\0\0\0\0\0\x04\0A\0\0\0a";

#[test]
fn definition_that_cannot_be_used_is_reported_by_read() {
    let folder = Folder::new();
    folder.write("undefined.ulg", UNDEFINED);
    let run = folder.run(&["convert", "undefined.ulg", "--format", "jsonl", "-o", "x"]);
    assert_eq!(run.status, 3, "{run:?}");
    let plan = folder.run(&["plan", "undefined.ulg", "--topic", "a", "--json"]);
    assert_eq!(plan.status, 3, "{plan:?}");
    let args = ["read", "--split", "-", "--format", "jsonl"];
    let read = folder.run_with(&args, plan.stdout.as_bytes());
    read.assert_status(3, &["the definition of a cannot be used"]);
    let strict = [&args[..], &["--strict"]].concat();
    assert_eq!(folder.run_with(&strict, plan.stdout.as_bytes()).status, 1);
}

#[test]
fn several_splits_are_read_to_one_file() {
    let (folder, log) = (Folder::new(), testdata("rover.bag"));
    let plan =
        folder.run(&["plan", &log, "--topic", "/gps/fix", "--json"]).assert_success();
    folder.write("splits.jsonl", plan.stdout.as_bytes());
    let args = ["read", "--split", "splits.jsonl", "-o", "gps.parquet", "-q"];
    folder.run(&args).assert_success();
    assert!(fs::read(folder.path().join("gps.parquet")).unwrap().starts_with(b"PAR1"));
    folder.run(&args).assert_status(1, &["gps.parquet", "--force"]);
    let all = folder.run(&["plan", &log, "--json"]).assert_success().stdout;
    let run =
        folder.run_with(&["read", "--split", "-", "-o", "x.arrow"], all.as_bytes());
    run.assert_status(2, &["other columns"]);
    assert!(!folder.path().join("x.arrow").exists());
    let run = folder.run_with(&["read", "--split", "-"], b"{\"path\":\"x\"}\n");
    run.assert_status(2, &["line 1 is not a split"]);
}

#[test]
fn table_of_splits_names_the_logs_and_topics() {
    let (folder, log) = (Folder::new(), testdata("rover.bag"));
    let text = folder.run(&["plan", &log, "-t", "/gps/fix"]).assert_success().stdout;
    assert!(
        text.contains("rover.bag  ROS bag, ") && text.contains("/gps/fix  "),
        "{text}"
    );
    folder
        .run(&["plan", &log, "-t", "nothing"])
        .assert_status(1, &["no topic `nothing`"]);
    let run = folder.run(&["plan", &log, "missing.bag", "-t", "/gps/fix", "--json"]);
    assert_eq!((run.status, run.stdout.lines().count() > 0), (1, true), "{run:?}");
    assert!(run.stderr.contains("missing.bag"), "{run:?}");
}

#[test]
fn damage_in_a_split_is_reported_like_by_cat() {
    let (folder, log) = (Folder::new(), testdata("damaged/lost_sector.ulg"));
    let topic = "vehicle_attitude";
    let plan = folder.run(&["plan", &log, "--topic", topic, "--json"]);
    assert_eq!(plan.status, 3, "{plan:?}");
    assert!(plan.stderr.contains("bytes 48668..49175"), "{plan:?}");
    let args = ["read", "--split", "-", "--format", "jsonl"];
    let read = folder.run_with(&args, plan.stdout.as_bytes());
    assert_eq!(read.status, 3, "{read:?}");
    assert!(read.stderr.contains("bytes 48668..49175"), "{read:?}");
    assert_eq!(read.stdout, convert_to_lines(&folder, &log, topic, &[]));
    let strict = [&args[..], &["--strict"]].concat();
    assert_eq!(folder.run_with(&strict, plan.stdout.as_bytes()).status, 1);
}
