//! The contents of catalogs.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use parquet::{file::reader::SerializedFileReader, record::Row};
use serde_json::Value;

use crate::{program::Folder, report::with_stray, samples::testdata};

/// The rows of the catalog `name`.
fn rows(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.read(name);
    text.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// The cells of the catalog `name`, which is Parquet, by their columns.
fn cells(folder: &Folder, name: &str) -> Vec<BTreeMap<String, String>> {
    let file = fs::File::open(folder.path().join(name)).unwrap();
    let rows = SerializedFileReader::new(file).unwrap().into_iter().map(Result::unwrap);
    let cells = |row: Row| {
        let cells = row.get_column_iter();
        cells.map(|(name, cell)| (name.clone(), cell.to_string())).collect()
    };
    rows.map(cells).collect()
}

/// Writes the log `name` with a modification time that is old enough to be trusted.
fn write_old_log(folder: &Folder, name: &str, bytes: &[u8]) -> PathBuf {
    let log = folder.write(name, bytes);
    let old = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&log).unwrap().set_modified(old).unwrap();
    log
}

const OF_TOPICS: [&str; 6] = [
    "topic",
    "topic_records",
    "topic_start_ns",
    "topic_end_ns",
    "rate_hz",
    "topic_bytes",
];

/// Returns the properties of the topics that are not derived.
fn of_topics(rows: &[Value]) -> Vec<Vec<Value>> {
    let own = rows.iter().filter(|row| row["origin"] != "derived");
    let row = |row: &Value| OF_TOPICS.map(|name| row[name].clone()).to_vec();
    let mut rows: Vec<_> = own.map(row).collect();
    rows.sort_by_key(|row| row[0].to_string());
    rows
}

#[test]
fn catalog_of_a_batch_has_topic_columns_that_an_index_lacks() {
    let folder = Folder::new();
    folder
        .run(&["convert", "-q", &testdata("rover.bag"), "-o", "y.mcap"])
        .assert_success();
    folder.run(&["index", "-q", "y.mcap", "-o", "index.jsonl"]).assert_success();
    folder
        .run(&["batch", "-q", "y.mcap", "-o", "ds", "--catalog", "jsonl"])
        .assert_success();
    let (index, batch) =
        (rows(&folder, "index.jsonl"), rows(&folder, "ds/_catalog.jsonl"));
    assert!(
        index.iter().all(|row| row["rate_hz"].is_null() && row["damages"].is_null())
    );
    // Without its summary, the whole file is read.
    let whole = fs::read(folder.path().join("y.mcap")).unwrap();
    let magic = whole.len() - 8;
    folder.write("cut/y.mcap", &whole[..magic - 20]);
    folder.run(&["index", "-q", "cut", "-o", "cut.jsonl"]).assert_status(3, &[]);
    let cut = rows(&folder, "cut.jsonl");
    assert_eq!(of_topics(&batch), of_topics(&cut));
    assert!(batch.iter().all(|row| row["damages"] == 0));
    // 250 messages of /imu/data in ten seconds (testdata/README.md).
    let imu = batch.iter().find(|row| row["topic"] == "/imu/data").unwrap();
    assert!((imu["rate_hz"].as_f64().unwrap() - 25.0).abs() < 0.2, "{imu}");
    // With a time selection, there are no values about the whole log.
    let part =
        ["batch", "-q", "y.mcap", "-o", "part", "--catalog", "jsonl", "--end", "5s"];
    folder.run(&part).assert_success();
    assert!(
        rows(&folder, "part/_catalog.jsonl").iter().all(|row| row["rate_hz"].is_null())
    );
}

#[cfg(unix)]
#[test]
fn catalog_keeps_the_row_of_an_unreadable_log() {
    let folder = Folder::new();
    let log = folder.write("logs/x.ulg", &fs::read(testdata("pasta.ulg")).unwrap());
    let index = |status: i32| {
        let run = folder.run(&["index", "-q", "logs", "-o", "all.parquet", "--json"]);
        run.assert_status(status, &[])
    };
    index(0);
    let read = || cells(&folder, "all.parquet");
    let is_error = |row: &BTreeMap<String, String>| row["error"] != "null";
    let of_topics = |rows: &[BTreeMap<String, String>]| {
        let row =
            |row: &BTreeMap<String, String>| OF_TOPICS.map(|name| row[name].clone());
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let before = read();
    // The start of the file is destroyed, so the file is no longer recognized as a log.
    fs::write(&log, b"gone").unwrap();
    index(1);
    let after = read();
    assert_eq!(of_topics(&before), of_topics(&after));
    assert!(after.iter().all(is_error), "{after:?}");
    fs::copy(testdata("pasta.ulg"), &log).unwrap();
    index(0);
    assert!(!read().iter().any(is_error));
}

#[test]
fn logs_are_indexed_again_with_other_options() {
    let folder = Folder::new();
    write_old_log(&folder, "x.pcap", &fs::read(testdata("puck.pcap")).unwrap());
    let became = |args: &[&str]| {
        let index = ["index", "-q", "x.pcap", "-o", "all.parquet", "--json"];
        let run = folder.run(&[&index[..], args].concat()).assert_success();
        run.json_lines()[1]["outcome"].as_str().unwrap().to_owned()
    };
    for args in [&[][..], &["--model", "hdl-32e"], &["--record-limit", "128"]] {
        assert_eq!(became(args), "indexed", "{args:?}");
        assert_eq!(became(args), "known", "{args:?}");
    }
    // The same applies if the file has other contents now.
    for key in [1, 2] {
        folder.write("key", &[key; 16]);
        assert_eq!(became(&["--key-file", "key"]), "indexed");
        assert_eq!(became(&["--key-file", "key"]), "known");
    }
}

#[test]
fn returned_log_is_indexed_with_the_current_options() {
    let folder = Folder::new();
    let puck = fs::read(testdata("puck.pcap")).unwrap();
    for name in ["a/x.pcap", "b/y.pcap"] {
        write_old_log(&folder, name, &puck);
    }
    let index = |out: &str, status: i32, args: &[&str]| {
        let index = ["index", "-q", "a", "b", "-o", out, "--json"];
        let run = folder.run(&[&index[..], args].concat()).assert_status(status, &[]);
        let lines = run.json_lines().into_iter();
        let logs = lines.filter(|line| line["event"] == "log");
        let mut outcomes: Vec<String> = logs
            .map(|line| format!("{} {}", line["log"], line["outcome"]))
            .map(|text| text.replace('"', ""))
            .collect();
        outcomes.sort();
        outcomes
    };
    let errors = |name: &str| {
        let rows = cells(&folder, name).into_iter();
        let of_log = rows.map(|row| (row["log"].clone(), row["error"] != "null"));
        of_log.collect::<BTreeMap<_, _>>()
    };
    index("all.parquet", 0, &["--model", "hdl-32e"]);
    let (original, away) = (folder.path().join("a"), folder.path().join("away"));
    fs::rename(&original, &away).unwrap();
    assert_eq!(index("all.parquet", 1, &[]), ["y indexed"]);
    assert_eq!(index("all.parquet", 1, &[]), ["y known"]);
    assert!(errors("all.parquet")["\"x\""], "{:?}", errors("all.parquet"));
    fs::rename(&away, &original).unwrap();
    assert_eq!(index("all.parquet", 0, &[]), ["x indexed", "y known"]);
    index("fresh.parquet", 0, &[]);
    assert_eq!(cells(&folder, "all.parquet"), cells(&folder, "fresh.parquet"));
}

#[test]
fn strict_index_reads_damaged_logs_again() {
    let folder = Folder::new();
    let log = fs::read(testdata("pasta.ulg")).unwrap();
    write_old_log(&folder, "x.ulg", &log[..log.len() - 5]);
    let index = ["index", "x.ulg", "-o", "all.parquet"];
    folder.run(&index).assert_status(3, &["1 log indexed"]);
    folder.run(&index).assert_status(3, &["0 logs indexed, 1 before"]);
    folder.run(&[&index[..], &["--strict"]].concat()).assert_status(1, &["1 failed"]);
    folder.run(&index).assert_status(3, &["1 log indexed"]);
}

/// How many rows each log has in all catalogs of the dataset `set`.
fn rows_of_logs(folder: &Folder, ends: &str) -> BTreeMap<String, usize> {
    let names = folder.list("set").into_iter();
    let catalogs =
        names.filter(|name| name.starts_with("_catalog") && name.ends_with(ends));
    let mut logs = BTreeMap::new();
    for catalog in catalogs {
        for row in rows(folder, &format!("set/{catalog}")) {
            *logs.entry(row["log"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    logs
}

#[test]
fn each_log_is_in_one_catalog_after_the_shard_count_changes() {
    let folder = Folder::new();
    let flight = fs::read(testdata("quad_flight.ulg")).unwrap();
    for name in ["a.ulg", "b.ulg", "c.ulg", "d.ulg", "e.ulg"] {
        folder.write(&format!("logs/{name}"), &flight);
    }
    let batch = |args: &[&str]| {
        let batch = ["batch", "-o", "set", "--catalog", "jsonl"];
        folder.run(&[&batch[..], args].concat()).assert_status(0, &[]);
        let catalogs = folder.list("set").into_iter();
        let parquet = catalogs.filter(|name| name.ends_with(".parquet"));
        parquet.filter(|name| name.starts_with("_catalog")).collect::<Vec<_>>()
    };
    assert_eq!(batch(&["logs"]), ["_catalog.parquet"]);
    let all = rows_of_logs(&folder, ".jsonl");
    assert_eq!(all.len(), 5);
    let of_two = ["_catalog-0-of-2.parquet", "_catalog-1-of-2.parquet"];
    assert_eq!(batch(&["logs", "--shard", "1/2"]), of_two);
    assert_eq!(rows_of_logs(&folder, ".jsonl"), all);
    // Rows of logs that are no longer inputs are kept too.
    fs::remove_file(folder.path().join("logs/c.ulg")).unwrap();
    for shard in ["2/3", "0/2", "1/2", "0/3", "1/3"] {
        batch(&["logs", "--shard", shard]);
        assert_eq!(rows_of_logs(&folder, ".jsonl"), all, "{shard}");
    }
    assert_eq!(batch(&["logs/a.ulg"]), ["_catalog.parquet"]);
    assert_eq!(rows_of_logs(&folder, ".jsonl"), all);
}

#[cfg(unix)]
#[test]
fn unusable_temporary_folder_is_named_if_it_is_needed() {
    let folder = Folder::new();
    let log = fs::read(testdata("pasta.ulg")).unwrap();
    write_old_log(&folder, "plain/x.ulg", &log);
    let index = |input: &str| {
        let mut index = folder.command(&["index", input, "-o", "all.parquet"]);
        let run = index.env("TMPDIR", "/not/there").output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (status, stderr) = index("plain");
    assert_eq!(status, Some(0), "{stderr}");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&log).unwrap();
    write_old_log(&folder, "packed/x.ulg.gz", &gzip.finish().unwrap());
    let (status, stderr) = index("packed");
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("in /not/there (TMPDIR)"), "{stderr}");
}

#[test]
fn outputs_are_not_searched_for_logs() {
    let folder = Folder::new();
    write_old_log(&folder, "logs/x.ulg", &fs::read(testdata("pasta.ulg")).unwrap());
    let index = |out: &str| folder.run(&["index", "logs", "-o", out]);
    index("logs").assert_status(2, &["the name logs does not state a format"]);
    for _ in 0..2 {
        let run = index("logs/all.parquet").assert_status(0, &["before"]);
        assert!(!run.stderr.contains("no log"), "{}", run.stderr);
    }
    // A shell that expands `*` passes such arguments.
    folder
        .run(&["index", "logs/all.parquet", "logs/x.ulg", "-o", "logs/all.parquet"])
        .assert_status(0, &["1 before"]);
    let hint = ["there are no logs in the inputs", "the output (-o) is not searched"];
    folder.run(&["batch", "logs", "-o", "logs"]).assert_status(1, &hint);
    folder.write("list", b"@other\n");
    let list = ["index", "@list", "-o", "all.jsonl"];
    folder
        .run(&list)
        .assert_status(2, &["@other is in a list: lists cannot contain lists"]);
}

#[test]
fn records_with_impossible_times_are_not_in_rates() {
    let folder = Folder::new();
    let sound = std::fs::read(testdata("quad_flight.ulg")).unwrap();
    // At time 0, which PX4 writes if the time was never set.
    let log = (0..3).fold(sound, |log, _| with_stray(&log, b"vehicle_status", 0));
    folder.write("odd.ulg", &log);
    folder.run(&["index", "odd.ulg", "-o", "c.jsonl"]).assert_status(0, &[]);
    let catalog = rows(&folder, "c.jsonl");
    let row = catalog.iter().find(|row| row["topic"] == "vehicle_status").unwrap();
    let report = folder.run(&["info", "--json", "odd.ulg"]).json_lines();
    let topics = report[0]["topics"].as_array().unwrap();
    let topic = topics.iter().find(|topic| topic["topic"] == "vehicle_status").unwrap();
    assert_eq!((&row["topic_records"], &topic["records"]), (&63.into(), &63.into()));
    // The number of records that pyulog finds, out of 60 in the intact log.
    for rate in [&row["rate_hz"], &topic["rate_hz"]] {
        assert!((rate.as_f64().unwrap() - 1.991_900_5).abs() < 1e-6, "{rate}");
    }
    assert_eq!(
        row["topic_start_ns"],
        topic_start(&testdata("quad_flight.ulg"), &folder)
    );
}

/// The time of the first record of the topic, in the catalog of the intact log.
fn topic_start(log: &str, folder: &Folder) -> Value {
    folder.run(&["index", log, "-o", "sound.jsonl"]).assert_status(0, &[]);
    let catalog = rows(folder, "sound.jsonl");
    let row = catalog.iter().find(|row| row["topic"] == "vehicle_status");
    row.unwrap()["topic_start_ns"].clone()
}
