//! The start and the duration of a log are the same in every command, also if `--utc-start`
//! sets the start.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    program::Folder,
    samples,
    ulog_bytes::{SECOND, head, record, ten},
};

const UTC_START: [&str; 2] = ["--utc-start", "2024-06-01T10:00:00Z"];

fn json_rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the first row of a catalog of each log, by the name of the log.
fn catalog_rows(text: &str) -> Vec<(String, Value)> {
    let mut rows: Vec<(String, Value)> = Vec::new();
    for row in json_rows(text) {
        let source = Path::new(row["source"].as_str().unwrap());
        let name = source.file_name().unwrap().to_str().unwrap().to_owned();
        if rows.iter().all(|(known, _)| *known != name) {
            rows.push((name, row));
        }
    }
    rows
}

/// A log with the header timestamp 500 s, a latched record of 400 s earlier, and records
/// from 500.5 s to 509.5 s.
fn stale_log() -> Vec<u8> {
    let mut log = head(500 * SECOND, &["uint64_t", "uint64_t"]);
    log.extend(record(1, 100 * SECOND, 8, 1.0));
    log.extend(ten(500 * SECOND + SECOND / 2));
    log
}

#[test]
fn catalogs_have_the_start_and_the_duration_of_the_header() {
    let folder = Folder::new();
    folder.write("logs/stale.ulg", &stale_log());
    for (name, start) in [("sound", 500), ("after_the_end", 900), ("not_set", 0)] {
        let log = [head(start * SECOND, &["uint64_t"]), ten(500 * SECOND)].concat();
        folder.write(&format!("logs/{name}.ulg"), &log);
    }
    folder.run(&["index", "logs", "-o", "index.jsonl"]).assert_status(0, &[]);
    folder
        .run(&["batch", "logs", "--catalog", "jsonl", "-o", "set"])
        .assert_status(0, &[]);
    for catalog in ["index.jsonl", "set/_catalog.jsonl"] {
        let rows = catalog_rows(&folder.read(catalog));
        assert_eq!(rows.len(), 4, "{catalog}");
        for (name, row) in rows {
            let duration = if name == "stale.ulg" { 9.5 } else { 9.0 };
            assert_eq!(row["start_ns"], 500_000_000_000_i64, "{catalog} {name}");
            assert_eq!(row["duration_s"], duration, "{catalog} {name}");
        }
    }
}

/// If the header is in the file, the start is the time in bytes 8 to 16.
#[test]
fn catalogs_and_info_report_the_same_starts() {
    let Some(any) = samples::sample("ulog/pyulog_sample.ulg") else { return };
    let logs = Path::new(&any).parent().unwrap();
    let folder = Folder::new();
    let logs_text = logs.to_str().unwrap();
    let index = folder.run(&["index", logs_text, "-o", "index.jsonl"]);
    assert_eq!(index.status, 1, "some edge cases cannot be read: {index:?}");
    let rows = catalog_rows(&folder.read("index.jsonl"));
    let mut compared = 0;
    for (name, row) in &rows {
        let path = logs.join(name);
        if !path.is_file() {
            continue; // an edge case, in another folder
        }
        let info = folder.run(&["info", "--json", path.to_str().unwrap()]).json_lines();
        assert_eq!(row["duration_s"], info[0]["duration_s"], "{name}");
        let start =
            u64::from_le_bytes(fs::read(&path).unwrap()[8..16].try_into().unwrap());
        let remarks = info[0]["remarks"].to_string();
        if start > 0 && !remarks.contains("the header declares that logging started") {
            assert_eq!(row["start_ns"], start * 1_000, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

/// A log of few records that are far from the start in the header still has a duration.
#[test]
fn few_records_far_from_the_header_start_at_the_first_record() {
    let mut log = head(1_000, &["uint64_t"]);
    (0..6).for_each(|i| log.extend(record(0, (4_000 + i) * SECOND, 8, 0.0)));
    let folder = Folder::with_log(&log);
    let info = folder.run(&["info", "--json", "flight.ulg"]).json_lines().remove(0);
    assert_eq!((&info["start_s"], &info["duration_s"]), (&4_000.0.into(), &5.0.into()));
    let Some(log) = samples::sample("ulog/edge/30_ts_u32.ulg") else { return };
    // Six records, 10 µs apart, and the counter wraps around between them.
    let info = folder.run(&["info", "--json", &log]).json_lines().remove(0);
    assert_eq!(info["duration_s"], 0.000_05);
}

/// For a ULog, `--utc-start` sets the time of the header, even if a latched record is older.
/// For a bag and an MCAP file, it sets the time of the first message.
#[test]
fn stated_utc_start_is_the_same_in_all_commands() {
    let folder = Folder::with_log(&stale_log());
    let plain = [head(500 * SECOND, &["uint64_t"]), ten(500 * SECOND)].concat();
    folder.write("plain.ulg", &plain);
    for out in ["a.mcap", "a.bag"] {
        folder.run(&["convert", "plain.ulg", "-o", out]).assert_status(0, &[]);
    }
    for (log, first, duration) in [
        ("flight.ulg", "10:00:00.500", 9.5),
        ("a.mcap", "10:00:00.000", 9.0),
        ("a.bag", "10:00:00.000", 9.0),
    ] {
        let run = |args: &[&str]| {
            let run = folder.run(&[args, &UTC_START, &[log]].concat());
            let warnings: &[&str] = match log {
                "flight.ulg" => &[],
                _ => &["the log itself starts at 1970-01-01T00:08:20"],
            };
            let is_quiet = ["index", "batch"].contains(&args[0]);
            run.assert_status(0, if is_quiet { &[] } else { warnings })
        };
        let info = run(&["info", "--json"]).json_lines().remove(0);
        assert_eq!(info["start_utc"], "2024-06-01T10:00:00.000000Z", "{log}");
        assert_eq!(info["duration_s"], duration);
        let rows = run(&["cat", "--clock", "utc"]).json_lines();
        let time = |row: &Value| {
            let time = row.get("timestamp").filter(|time| time.is_string());
            time.unwrap_or(&row["time"]).as_str().unwrap().to_owned()
        };
        let of_t0 =
            rows.iter().find(|row| row["topic"].as_str().unwrap().ends_with("t0"));
        let expected = format!("2024-06-01T{first}");
        assert!(time(of_t0.unwrap()).starts_with(&expected), "{log}: {rows:?}");
        if log == "flight.ulg" {
            assert!(time(&rows[0]).starts_with("2024-06-01T09:53:20.000"), "{rows:?}");
        }
        run(&[
            "convert", "-t", "*t0", "--clock", "utc", "--format", "csv", "-f", "-o",
            "t",
        ]);
        let table = folder.read(&format!("t/{}", folder.list("t").remove(0)));
        let row = table.lines().nth(1).unwrap();
        assert!(row.starts_with(&expected), "{log}: {row}");
        run(&["report", "-f", "-o", "r.html"]);
        assert!(
            folder
                .read("r.html")
                .contains("2024-06-01 10:00:00.000 UTC (given UTC start")
        );
        run(&["index", "-f", "-o", "i.jsonl"]);
        run(&["batch", "-f", "--catalog", "jsonl", "-o", &format!("set_{log}")]);
        for catalog in ["i.jsonl", &format!("set_{log}/_catalog.jsonl")] {
            let row = catalog_rows(&folder.read(catalog)).remove(0).1;
            let start = row["start_utc"].as_str().unwrap();
            assert!(start.starts_with("2024-06-01T10:00:00"), "{log}: {start}");
            assert_eq!(row["duration_s"], duration, "{log}");
        }
        for entry in folder.list("t") {
            fs::remove_file(folder.path().join("t").join(entry)).unwrap();
        }
    }
}

/// A new ULog keeps the start, both in a complete copy and in a cut.
#[test]
fn new_log_keeps_the_stated_utc_start() {
    let folder = Folder::with_log(&stale_log());
    for (cut, start) in [(&[][..], "10:00:00"), (&["--start", "boot:502"], "10:00:02")]
    {
        let args = ["filter", "flight.ulg", "-f", "-o", "new.ulg"];
        folder.run(&[&args[..], &UTC_START, cut].concat()).assert_status(0, &[]);
        let info = folder.run(&["info", "--json", "new.ulg"]).json_lines().remove(0);
        let expected = format!("2024-06-01T{start}.000000Z");
        assert_eq!(info["start_utc"], expected.as_str(), "{cut:?}");
    }
}
