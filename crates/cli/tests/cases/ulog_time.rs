//! The cases of times in ULogs: when a log starts, narrow timestamps, and records
//! without a usable time.

use serde_json::{Value, json};

use crate::{
    program::{Folder, Run},
    samples,
    ulog_bytes::{SECOND, head, message, record, ten},
};

fn info(folder: &Folder, log: &str) -> Value {
    let run = folder.run(&["info", "--json", log]);
    run.json_lines().remove(0)
}

fn start_and_duration(info: &Value) -> (f64, f64) {
    let second = |key: &str| info[key].as_f64().unwrap();
    (second("start_s"), second("duration_s"))
}

fn remarks(info: &Value) -> String {
    info["remarks"].to_string()
}

/// The times and the topics of all records, in microseconds.
fn times(run: &Run) -> Vec<(i64, String)> {
    let time_of = |line: &Value| {
        let time = line.get("timestamp").or(line.get("time")).unwrap();
        (time.as_i64().unwrap(), line["topic"].as_str().unwrap().to_owned())
    };
    run.json_lines().iter().map(time_of).collect()
}

#[test]
fn log_starts_at_the_time_in_its_header() {
    // Start and duration by pyulog, and the remark about older records.
    for (name, start, duration, older) in [
        ("01_stale_first_records", 120.0, 10.0, "1 record is older"),
        ("stale_first_value", 100.0, 10.0, "1 record is older"),
        ("02_param_before_first", 6.464, 2.436, ""),
        ("33_ts16_dropout", 1.0, 2.48, ""),
        ("33b_ts32_pause", 1.0, 2940.0, ""),
        ("19_ts_uint8_t", 1.0, 9.9, ""),
        ("19_ts_uint16_t", 1.0, 9.9, ""),
        ("19_ts_uint32_t", 1.0, 9.9, ""),
        ("42_boot_time", 10.0, 0.4, ""),
        ("07_other_clock", 10.0, 19.9, ""),
        // The header timestamp is 0: not set.
        ("15_non_monotonic", 4.0, 2.0, ""),
    ] {
        let path = format!("cases/ulog/{name}.ulg");
        let Some(log) = samples::sample(&path) else { return };
        let info = info(&Folder::new(), &log);
        assert_eq!(start_and_duration(&info), (start, duration), "{name}");
        let remarks = remarks(&info);
        assert_eq!(
            remarks.contains("older than the start of logging"),
            !older.is_empty()
        );
        assert!(remarks.contains(older), "{name}: {remarks}");
    }
}

#[test]
fn relative_times_and_plots_begin_at_the_start_of_logging() {
    let Some(log) = samples::sample("cases/ulog/01_stale_first_records.ulg") else {
        return;
    };
    let folder = Folder::new();
    let cut = ["--start", "0", "--end", "5"];
    folder
        .run(&[&["filter", &log, "-o", "cut.ulg"], &cut[..]].concat())
        .assert_status(0, &[]);
    let all = times(&folder.run(&["cat", "cut.ulg", "--json"]).assert_success());
    assert_eq!((all.len(), all[0].0, all[49].0), (50, 120_000_000, 124_900_000));
    let old =
        times(&folder.run(&["cat", &log, "-t", "vehicle_status"]).assert_success());
    assert_eq!(old, [(30_000_000, "vehicle_status".to_owned())]);
    folder.run(&["plot", &log, "att.x", "-o", "x.svg"]).assert_status(0, &[]);
    let plot = folder.read("x.svg");
    assert!(plot.contains("time since the start (s)"));
    assert!(!plot.contains(">90<") && !plot.contains(">-90<"), "no old time");
    let stdout = folder.run(&["check", &log]).assert_success().stdout;
    assert!(!stdout.contains("time."), "{stdout}");
}

#[test]
fn change_before_the_first_record_is_at_the_start() {
    let Some(log) = samples::sample("cases/ulog/02_param_before_first.ulg") else {
        return;
    };
    let run = Folder::new().run(&["params", "--history", &log]).assert_success();
    assert_eq!(run.stdout, "time,name,old,new\n6.464000,A,1,2\n8.400000,A,2,3\n");
}

/// Latched records do not set the clock, even if many topics have them at about the same time.
/// Records from shortly before the start do not set it either.
#[test]
fn many_old_records_are_kept_but_do_not_set_the_start() {
    let start = 500 * SECOND;
    let mut log = head(start, &["uint64_t"; 14]);
    for id in 1..13 {
        log.extend(record(id, 100 * SECOND + u64::from(id), 8, 1.0));
    }
    log.extend(record(13, start - SECOND, 8, 2.0));
    log.extend(ten(start + SECOND / 2));
    let folder = Folder::with_log(&log);
    let report = info(&folder, "flight.ulg");
    assert_eq!(start_and_duration(&report), (500.0, 9.5));
    assert_eq!(
        remarks(&report),
        r#"["13 records are older than the start of logging"]"#
    );
    // They are the last known values in the first row.
    let args = ["convert", "flight.ulg", "--merge", "asof", "--rate", "1"];
    let args =
        [&args[..], &["--format", "csv", "-o", "t", "-t", "t0", "-t", "t3"]].concat();
    folder.run(&args).assert_status(0, &[]);
    let name = format!("t/{}", folder.list("t").remove(0));
    let table = folder.read(&name);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[..2], ["timestamp,t0.x,t3.x", "500000000,,1.0"]);
}

#[test]
fn header_outside_of_the_log_is_reported() {
    // After the last record, in Unix time, and long before the first record.
    for start in [900 * SECOND, 1_700_000_000 * SECOND, 5 * SECOND] {
        let log = [head(start, &["uint64_t"]), ten(500 * SECOND)].concat();
        let report = info(&Folder::with_log(&log), "flight.ulg");
        assert_eq!(start_and_duration(&report), (500.0, 9.0), "{start}");
        assert!(remarks(&report).contains("the header declares that logging started"));
    }
    let log = [head(0, &["uint64_t"]), ten(500 * SECOND)].concat();
    let report = info(&Folder::with_log(&log), "flight.ulg");
    assert_eq!(
        (start_and_duration(&report), remarks(&report).as_str()),
        ((500.0, 9.0), "[]")
    );
}

#[test]
fn cut_log_starts_at_its_own_time_and_keeps_utc() {
    let utc = 1_700_000_000 * SECOND;
    let mut log = head(10 * SECOND, &["uint64_t"]);
    let gps = "sensor_gps:uint64_t timestamp;uint64_t time_utc_usec;";
    log.extend(message(b'F', &[gps.as_bytes()]));
    log.extend(message(b'A', &[&[0, 1, 0], b"sensor_gps"]));
    for i in 10..20 {
        log.extend(record(0, i * SECOND, 8, i as f32));
        let (time, utc) =
            ((i * SECOND).to_le_bytes(), (utc + i * SECOND).to_le_bytes());
        log.extend(message(b'D', &[&[1, 0], &time, &utc]));
    }
    let folder = Folder::with_log(&log);
    let offset = info(&folder, "flight.ulg")["clock"]["to_unix"]["offset_ns"].clone();
    assert_eq!(offset, json!(utc * 1_000));
    let args =
        ["filter", "flight.ulg", "-o", "cut.ulg", "-t", "t0", "--start", "boot:14.5"];
    folder.run(&args).assert_status(0, &[]);
    let cut = info(&folder, "cut.ulg");
    assert_eq!(start_and_duration(&cut), (14.5, 4.5));
    assert_eq!(cut["clock"]["to_unix"]["offset_ns"], offset);
    let bytes = std::fs::read(folder.path().join("cut.ulg")).unwrap();
    assert_eq!(bytes[8..16], (14 * SECOND + SECOND / 2).to_le_bytes());
    // A copy without a selection keeps the header and adds no information.
    folder.run(&["filter", "flight.ulg", "-o", "all.ulg"]).assert_status(0, &[]);
    let bytes = std::fs::read(folder.path().join("all.ulg")).unwrap();
    assert_eq!(bytes[8..16], (10 * SECOND).to_le_bytes());
    assert!(!bytes.windows(9).any(|bytes| bytes == b"boot_time"));
}

#[test]
fn narrow_timestamps_are_right_after_a_dropout() {
    let Some(log) = samples::sample("cases/ulog/33_ts16_dropout.ulg") else { return };
    let all = times(&Folder::new().run(&["cat", &log, "-t", "t"]).assert_success());
    assert_eq!((all[49].0, all[50].0, all[99].0), (1_980_000, 2_500_000, 3_480_000));
}

/// The topic with 64-bit timestamps comes before or after the narrow one. Only the wide topic
/// continues during a pause of two and a half hours.
#[test]
fn narrow_timestamps_follow_the_other_topics() {
    for (timestamp, bytes, unit, step, pause) in [
        ("uint8_t", 1, 1_000, 20_000, 1_337_000),
        ("uint16_t", 2, 1, 10_000, 730_000),
        ("uint32_t", 4, 1, 60_000_000, 9_000_000_000),
    ] {
        for is_after in [false, true] {
            let mut log = head(SECOND, &["uint64_t", timestamp]);
            let (mut time, mut expected) = (SECOND, Vec::new());
            for i in 0..40 {
                if i == 20 && bytes == 4 {
                    let times = (1..=pause / step).map(|i| time + i * step);
                    times.for_each(|time| log.extend(record(0, time, 8, 0.0)));
                    time += pause;
                } else if i == 20 {
                    let millis = (pause / 1_000) as u16;
                    log.extend(message(b'O', &[&millis.to_le_bytes()]));
                    time += pause;
                }
                time += step;
                let wide = record(0, time, 8, 0.0);
                let narrow = record(1, time / unit, bytes, 0.0);
                let topics = if is_after { [narrow, wide] } else { [wide, narrow] };
                log.extend(topics.concat());
                expected.push(time as i64);
            }
            let run = Folder::with_log(&log).run(&["cat", "flight.ulg", "-t", "t1"]);
            let actual: Vec<i64> =
                times(&run).into_iter().map(|(time, _)| time).collect();
            assert_eq!(actual, expected, "{timestamp}, {is_after}");
        }
    }
}

/// Records at 0 and at an impossible time: the first, one between others, and the last.
#[test]
fn record_without_a_usable_time_is_written_at_the_time_of_its_neighbour() {
    let mut log = head(1_000 * SECOND, &["uint64_t", "uint64_t"]);
    log.extend(record(1, 0, 8, 1.0));
    for i in 0..10 {
        log.extend(record(0, (1_000 + i) * SECOND, 8, i as f32));
        if i % 3 == 0 {
            log.extend(record(1, 0, 8, 2.0));
        }
    }
    log.extend(record(1, 1 << 60, 8, 3.0));
    let folder = Folder::with_log(&log);
    for out in ["a.mcap", "a.bag"] {
        let run = folder.run(&["convert", "flight.ulg", "-o", out]);
        run.assert_status(0, &["6 records have an impossible time"]);
        let all = times(&folder.run(&["cat", out, "-t", "/t1"]).assert_success());
        let seconds: Vec<i64> =
            all.iter().map(|(time, _)| time / 1_000_000_000).collect();
        assert_eq!(seconds, [1_000, 1_000, 1_003, 1_006, 1_009, 1_009], "{out}");
        let duration = start_and_duration(&info(&folder, out));
        assert_eq!(duration, (1_000.0, 9.0));
        let lines = folder.run(&["cat", out, "-t", "/t1"]).json_lines();
        let stamp = lines[0]["data"]["timestamp"].clone();
        assert!(stamp == json!(0) || stamp == json!("0"), "{stamp}");
    }
}

#[test]
fn merge_selects_the_requested_times() {
    let folder = Folder::new();
    for (name, start) in [("a.ulg", 100), ("b.ulg", 105)] {
        let log = [head(start * SECOND, &["uint64_t"]), ten(start * SECOND)].concat();
        folder.write(name, &log);
    }
    let merge = |out: &str, more: &[&str]| {
        let args = ["merge", "a.ulg", "b.ulg", "-o", out, "--same-clock", "--force"];
        folder.run(&[&args[..], more].concat())
    };
    let seconds = |out: &str| -> Vec<i64> {
        let unit = if out.ends_with("ulg") { 1_000_000 } else { 1_000_000_000 };
        let all = times(&folder.run(&["cat", out, "--order", "time"]).assert_success());
        all.iter().map(|(time, _)| time / unit).collect()
    };
    for out in ["m.ulg", "m.mcap"] {
        merge(out, &["--start", "boot:104", "--end", "boot:107"]).assert_status(0, &[]);
        assert_eq!(seconds(out), [104, 105, 105, 106, 106], "{out}");
        merge(out, &["--end", "2s"]).assert_status(0, &[]);
        assert_eq!(seconds(out), [100, 101], "{out}");
    }
    merge("m.ulg", &["--start", "900"])
        .assert_status(0, &["no records match the selected"]);
    merge("m.ulg", &["--start", "9", "--end", "8"])
        .assert_status(2, &["not after its start"]);
}

/// The lines of `cat` and the rows of the table have the time under the same name, in the same
/// unit.
#[test]
fn cat_and_tables_have_equal_times() {
    let folder = Folder::with_log(&[head(SECOND, &["uint64_t"]), ten(SECOND)].concat());
    folder
        .run(&["convert", "flight.ulg", "--format", "jsonl", "-o", "t"])
        .assert_status(0, &[]);
    let rows = folder.read("t/t0_0.jsonl");
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = folder.run(&["cat", "flight.ulg"]).json_lines();
    let cat_times = lines.iter().map(|line| line["timestamp"].clone());
    assert!(rows.map(|row| row["timestamp"].clone()).eq(cat_times));
}
