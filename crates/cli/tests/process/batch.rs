//! `logtool batch` and `logtool index`.

use std::fs::{self, File};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// A folder of logs: two with the same name in two folders, one of another format, a broken
/// one, and a file that is not a log.
fn logs() -> Folder {
    let folder = Folder::new();
    let flight = fs::read(testdata("quad_flight.ulg")).unwrap();
    folder.write("logs/monday/flight.ulg", &flight);
    folder.write("logs/tuesday/flight.ulg", &flight);
    folder.write("logs/rover", &fs::read(testdata("rover.bag")).unwrap());
    folder.write("logs/notes.txt", b"no log");
    folder
}

/// Returns the outcome of each log by its name, and the last event.
fn batch(
    folder: &Folder,
    status: i32,
    args: &[&str],
) -> (Vec<(String, String)>, Value) {
    let all = [&["batch", "-q", "--json"], args].concat();
    let run = folder.run(&all).assert_status(status, &[]);
    let events = run.json_lines();
    let logs = events.iter().filter(|event| event["event"] == "log");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut logs: Vec<_> =
        logs.map(|event| (text(&event["log"]), text(&event["outcome"]))).collect();
    logs.sort();
    (logs, events.last().unwrap().clone())
}

fn outcomes(names: &[(&str, &str)]) -> Vec<(String, String)> {
    names.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect()
}

#[test]
fn batch_writes_partitions_of_tables_for_all_formats() {
    let folder = logs();
    let (results, end) = batch(&folder, 0, &["logs", "-o", "set"]);
    let all = ["monday_flight", "rover", "tuesday_flight"];
    assert_eq!(results, outcomes(&all.map(|name| (name, "converted"))));
    assert_eq!(end["no_logs"], 1);
    assert_eq!(
        folder.list("set/battery_status"),
        ["log=monday_flight", "log=tuesday_flight"]
    );
    assert_eq!(folder.list("set/imu_data/log=rover"), ["part-0.parquet"]);
    assert_eq!(folder.list("set/_logtool"), ["journal.jsonl", "lock"]);
    assert!(folder.path().join("set/_catalog.parquet").is_file());

    let (results, end) = batch(&folder, 0, &["logs", "-o", "set"]);
    assert_eq!(
        (results.len(), &end["converted"]),
        (3, &0.into()),
        "all was done before"
    );
    let (results, _) =
        batch(&folder, 0, &["logs/rover", "-o", "set", "--topic", "/imu/*"]);
    assert_eq!(results, outcomes(&[("rover", "converted")]), "other options");
    assert!(
        !folder.path().join("set/gps_fix").exists(),
        "what is no longer wanted goes"
    );
    assert_eq!(folder.list("set/imu_data/log=rover"), ["part-0.parquet"]);
}

#[test]
fn broken_log_does_not_stop_a_batch_and_sets_the_exit_status() {
    let folder = logs();
    folder.write("logs/broken.ulg", b"no log at all");
    let (results, end) = batch(&folder, 1, &["logs", "-o", "set", "--format", "csv"]);
    let failed = results.iter().filter(|(_, outcome)| outcome == "failed");
    assert_eq!(failed.map(|(name, _)| &**name).collect::<Vec<_>>(), ["broken"]);
    assert_eq!(end["converted"], 3);
    folder
        .run(&["batch", "-q", "logs", "-o", "set"])
        .assert_status(1, &["failed: 1 log", "broken.ulg"]);
    fs::remove_file(folder.path().join("logs/broken.ulg")).unwrap();
    folder.write(
        "logs/lost.ulg",
        &fs::read(testdata("damaged/lost_sector.ulg")).unwrap(),
    );
    let run = folder.run(&["batch", "logs", "-o", "set"]);
    run.assert_status(3, &["damaged: 1 log", "lost.ulg: 507 bytes"]);
    let run = folder.run(&["batch", "logs", "-o", "set"]);
    run.assert_status(3, &["damaged: 1 log"]);
}

#[test]
fn foreign_folder_and_locked_dataset_are_rejected() {
    let folder = logs();
    folder
        .run(&["batch", "logs", "-o", "logs/monday"])
        .assert_status(2, &["is not a dataset", "flight.ulg"]);
    folder.run(&["batch", "-q", "logs", "-o", "set"]).assert_success();
    let lock = File::options()
        .write(true)
        .open(folder.path().join("set/_logtool/lock"))
        .unwrap();
    lock.lock().unwrap();
    let run = folder.run(&["batch", "-q", "logs", "-o", "set", "--force"]);
    run.assert_status(1, &["another run is writing the dataset"]);
    drop(lock);
    folder.run(&["batch", "-q", "logs", "-o", "set", "--force"]).assert_success();
    folder
        .run(&["batch", "-q", "nowhere", "-o", "set"])
        .assert_status(1, &["nowhere: there is no such file"]);
    folder
        .run(&["batch", "logs", "-o", "x", "--merge", "asof", "--rate", "10"])
        .assert_status(2, &["--merge is not possible for a dataset"]);
}

#[test]
fn batch_converts_listed_logs_to_mcap() {
    let folder = logs();
    let list = b"# two of three\nlogs/monday/flight.ulg\n\nlogs/rover\n";
    let run =
        folder.run_with(&["batch", "-q", "-", "-o", "mcaps", "--format", "mcap"], list);
    run.assert_success();
    let files = ["_catalog.parquet", "_logtool", "flight.mcap", "rover.mcap"];
    assert_eq!(folder.list("mcaps"), files);
    let info = folder.run(&["info", "--json", "mcaps/rover.mcap"]).assert_success();
    assert_eq!(info.json_lines()[0]["records"], 491);
}

#[test]
fn batch_writes_a_matlab_file_for_each_log() {
    let folder = logs();
    let (results, _) = batch(&folder, 0, &["logs", "-o", "set", "--format", "mat"]);
    assert_eq!(results.len(), 3);
    let files = ["_catalog.parquet", "_logtool", "monday_flight.mat", "rover.mat"];
    let files = [&files[..], &["tuesday_flight.mat"]].concat();
    assert_eq!(folder.list("set"), files);
    let convert = ["-q", "convert", "logs/rover", "-o", "one.mat"];
    folder.run(&convert).assert_success();
    let read = |path: &str| fs::read(folder.path().join(path)).unwrap();
    // The text at the start of the log states when it was written.
    assert!(read("set/rover.mat").len().abs_diff(read("one.mat").len()) < 1024);
    let (_, end) = batch(&folder, 0, &["logs", "-o", "set", "--format", "mat"]);
    assert_eq!(end["done_before"], 3);
}

#[test]
fn batch_writes_a_flight_review_folder_for_each_flight() {
    let folder = logs();
    let px4 = ["logs/monday", "-o", "set", "--format", "parquet", "--layout", "px4"];
    batch(&folder, 0, &px4);
    let log = "logs/monday/flight.ulg";
    let convert =
        ["-q", "convert", log, "-o", "one", "--format", "parquet", "--layout", "px4"];
    folder.run(&convert).assert_success();
    assert_eq!(folder.list("set"), ["_catalog.parquet", "_logtool", "log=flight"]);
    let files = folder.list("set/log=flight");
    assert_eq!(files, folder.list("one"));
    assert!(files.len() > 3, "{files:?}");
    batch(&folder, 0, &["logs/monday", "-o", "set"]);
    assert!(!folder.list("set").contains(&"log=flight".to_owned()));
    let px4 = ["logs/rover", "-o", "other", "--format", "parquet", "--layout", "px4"];
    batch(&folder, 1, &px4);
}

#[test]
fn shards_split_a_batch_and_are_read_from_job_variables() {
    let folder = logs();
    let args = ["batch", "logs", "-o", "set", "--catalog", "jsonl"];
    let mut command = folder.command(&args);
    command.env("AWS_BATCH_JOB_ARRAY_INDEX", "0").env("AWS_BATCH_JOB_ARRAY_SIZE", "2");
    let first = command.output().unwrap();
    let stderr = String::from_utf8(first.stderr).unwrap();
    assert!(stderr.contains("part 0 of 2") && stderr.contains("AWS_BATCH"), "{stderr}");
    folder.run(&[&args[..], &["-q", "--shard", "1/2"]].concat()).assert_success();
    let catalogs = ["_catalog-0-of-2.jsonl", "_catalog-1-of-2.jsonl"];
    let logs = catalogs.map(|name| {
        let text = folder.read(&format!("set/{name}"));
        let logs = text.lines().map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            row["log"].as_str().unwrap().to_owned()
        });
        logs.collect::<std::collections::BTreeSet<_>>()
    });
    assert!(
        logs[0].is_disjoint(&logs[1]) && logs[0].len() + logs[1].len() == 3,
        "{logs:?}"
    );
    let mut lost = folder.command(&args);
    let lost = lost.env("JOB_COMPLETION_INDEX", "1").output().unwrap();
    assert_eq!(lost.status.code(), Some(2), "of how many?");
}

#[test]
fn index_describes_logs_and_is_refreshed() {
    let folder = logs();
    let index = |args: &[&str]| {
        let all = [&["index", "-q", "--json", "logs"], args].concat();
        folder.run(&all).assert_success().json_lines().pop().unwrap()
    };
    assert_eq!(index(&["-o", "all.jsonl"])["converted"], 3);
    let rows = folder.read("all.jsonl");
    let rows: Vec<Value> =
        rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let imu = rows.iter().find(|row| row["topic"] == "/imu/data").unwrap();
    // The output of `logtool info` in the README.
    assert_eq!(
        (&imu["topic_records"], &imu["type"]),
        (&250.into(), &"sensor_msgs/Imu".into())
    );
    assert_eq!((&imu["format"], &imu["log"]), (&"rosbag".into(), &"rover".into()));
    assert_eq!(index(&["-o", "all.parquet"])["converted"], 3);
    folder.write("logs/new.ulg", &fs::read(testdata("pasta.ulg")).unwrap());
    fs::remove_file(folder.path().join("logs/rover")).unwrap();
    assert_eq!(index(&["-o", "all.parquet", "--force"])["converted"], 3);
    assert_eq!(index(&["-o", "all.jsonl"])["converted"], 3, "always anew");
    for name in ["mine.parquet", "mine.jsonl"] {
        folder.write(name, b"{\"log\": \"something else\"}\n");
        folder
            .run(&["index", "logs", "-o", name])
            .assert_status(1, &["is not a catalog"]);
        assert_eq!(folder.read(name), "{\"log\": \"something else\"}\n");
        assert_eq!(index(&["-o", name, "--force"])["converted"], 3);
    }
}

#[test]
fn catalog_keeps_the_rows_of_a_missing_disk() {
    let folder = logs();
    let index = |status: i32, args: &[&str]| {
        let all = [&["index", "-q", "--json", "logs/monday", "logs/tuesday"], args];
        folder.run(&all.concat()).assert_status(status, &[])
    };
    let rows = |name: &str| {
        let file = File::open(folder.path().join(name)).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        file.metadata().file_metadata().num_rows()
    };
    index(0, &["-o", "all.parquet"]);
    index(0, &["-o", "all.jsonl"]);
    let (before, lines) = (rows("all.parquet"), folder.read("all.jsonl"));
    let [disk, away] = ["logs/tuesday", "away"].map(|name| folder.path().join(name));
    fs::rename(&disk, &away).unwrap();
    for args in [&["-o", "all.parquet"][..], &["-o", "all.parquet", "--force"]] {
        index(1, args).assert_status(1, &["logs/tuesday: there is no such file"]);
        assert_eq!(rows("all.parquet"), before, "{args:?}");
    }
    index(1, &["-o", "all.jsonl"]).assert_status(1, &["all.jsonl is unchanged"]);
    assert_eq!(folder.read("all.jsonl"), lines);
    fs::rename(&away, &disk).unwrap();
    let end = index(0, &["-o", "all.parquet"]).json_lines().pop().unwrap();
    assert_eq!(end["failed"], Value::Object(Default::default()));
    // A folder that was named as an input, and exists but is empty, has no logs any more.
    fs::remove_file(disk.join("flight.ulg")).unwrap();
    index(0, &["-o", "all.parquet"]);
    assert!(rows("all.parquet") < before);
}

#[test]
fn datasets_and_catalogs_reject_unsupported_urls() {
    let folder = logs();
    folder.write("list.txt", b"logs/rover\nftp://host/x.bag\n");
    let to = ["a catalog must be a local file, not s3://", "hint: write it"];
    let web = ["a web server cannot be written to", "hint: s3://, gs:// and az:// can"];
    let from = ["unknown scheme ftp://", "ftp://"];
    for (args, expected) in [
        (&["batch", "logs", "-o", "http://host/set"][..], &web),
        (&["batch", "logs", "-o", "ftp://host/set"], &from),
        (&["index", "logs", "-o", "s3://bucket/all.parquet"], &to),
        (&["batch", "logs/rover", "ftp://host/x.bag", "-o", "set"], &from),
        (&["batch", "@list.txt", "-o", "set"], &from),
    ] {
        folder.run(args).assert_status(2, expected);
        assert_eq!(folder.list("."), ["list.txt", "logs"], "{args:?}");
    }
}

#[test]
fn batch_failure_names_its_log_once() {
    let folder = Folder::new();
    folder.write("broken.ulg", b"no log at all");
    let run =
        folder.run(&["batch", "-q", "broken.ulg", "-o", "set"]).assert_status(1, &[]);
    assert_eq!(run.stderr.matches("broken.ulg").count(), 1, "{run:?}");
    let help = folder.run(&["batch", "--help"]).assert_success().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" "); // lines are wrapped
    assert!(help.contains("[default: parquet]") && !help.contains("[default: csv]"));
}

#[test]
fn too_small_memory_limit_is_raised_and_reported() {
    let folder = logs();
    let run = |memory: &str, out: &str| {
        folder
            .run(&["batch", "logs", "-o", out, "--memory", memory])
            .assert_status(0, &[])
    };
    // A log takes 8 MiB, and six times its length.
    let least = 8.0 + 6.0 * 98_073.0 / f64::from(1 << 20);
    let expected = format!("warning: --memory is raised to {}M, which", least.ceil());
    assert!(run("1M", "a").stderr.contains(&expected));
    assert!(!run("9M", "b").stderr.contains("--memory"));
}
