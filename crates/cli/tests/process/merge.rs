//! `logtool merge`.

#[cfg(unix)]
use std::{fs, process::Command};

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn merged_bags_are_in_time_order() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).assert_success();
    }
    folder.run(&["merge", "a.bag", "b.bag", "-o", "new.bag", "-q"]).assert_success();
    let lines = folder.run(&["cat", "--json", "new.bag"]).assert_success().json_lines();
    let topics = ["/imu/data", "/gps/fix"];
    let count = |name: &str| lines.iter().filter(|line| line["topic"] == name).count();
    let old_count = |name: &str| {
        folder.run(&["cat", "--json", &bag, "-t", name]).stdout.lines().count()
    };
    assert_eq!(topics.map(count), topics.map(old_count));
    let times: Vec<i64> =
        lines.iter().map(|line| line["time"].as_i64().unwrap()).collect();
    assert!(times.is_sorted());
}

#[test]
#[cfg(unix)]
fn more_logs_are_merged_than_files_may_be_open() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["filter", &bag, "-o", "0.bag", "-t", "/map", "-q"]).assert_success();
    let few = fs::read(folder.path().join("0.bag")).unwrap();
    (1..100).for_each(|number| drop(folder.write(&format!("{number}.bag"), &few)));
    // The system lets a program raise its limit of open files.
    let program = env!("CARGO_BIN_EXE_logtool");
    let line = format!("ulimit -S -n 64 && '{program}' merge *.bag -o new.bag -q");
    let merged =
        Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output();
    let merged = merged.unwrap();
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    let count =
        |name: &str| folder.run(&["cat", "--json", name]).stdout.lines().count();
    assert!(count("0.bag") > 0);
    assert_eq!(count("new.bag"), 100 * count("0.bag"));
}

#[test]
fn clock_drift_is_corrected() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).assert_success();
    }
    let merge = |drift: &str, out: &str| {
        folder.run(&["merge", "a.bag", "b.bag", "-o", out, "--drift", drift])
    };
    // A drift of 100 ppm since the start of the recording.
    merge("2=100@1717236000", "new.bag").assert_status(0, &["drift of its clock"]);
    let old_times = times(&folder, &bag, "/gps/fix");
    let elapsed = |nanos: i64| nanos - 1_717_236_000_000_000_000;
    let want: Vec<i64> =
        old_times.iter().map(|at| at + elapsed(*at) / 10_000).collect();
    assert_eq!(times(&folder, "new.bag", "/gps/fix"), want);
    assert_eq!(
        times(&folder, "new.bag", "/imu/data"),
        times(&folder, &bag, "/imu/data")
    );
    merge("3=100", "x.bag").assert_status(2, &["none of the files"]);
    merge("b.bag=fast", "x.bag").assert_status(2, &["a drift is like"]);
    let one = folder.run(&["merge", "a.bag", "-o", "x.bag"]);
    one.assert_status(2, &["at least two logs", "hint: name two"]);
    // The offset between two logs, as `align --json` prints it.
    let fit = |known: bool| {
        format!(
            r#"{{"a":{{"file":"a.bag"}},"b":{{"file":"b.bag"}},"aligned":true,
            "offset_ns":-5,"reference_ns":1717236000000000000,"drift_ppm":100.0,
            "drift_known":{known}}}"#
        )
    };
    for (known, word) in [(true, "is corrected"), (false, "not determined well enough")]
    {
        folder.write("fit.json", fit(known).as_bytes());
        let args =
            ["merge", "a.bag", "b.bag", "-f", "-o", "fit.bag", "--align", "fit.json"];
        folder.run(&args).assert_status(0, &[word]);
        let drift = |at: i64| if known { elapsed(at) / 10_000 } else { 0 };
        let want: Vec<i64> = old_times.iter().map(|at| at + drift(*at) - 5).collect();
        assert_eq!(times(&folder, "fit.bag", "/gps/fix"), want);
    }
}

#[test]
fn ulogs_are_merged_only_with_same_clock() {
    let folder = Folder::with_log(&bytes::log());
    folder.write("other.ulg", &bytes::log());
    let args = ["merge", "flight.ulg", "other.ulg", "-o", "new.ulg"];
    folder
        .run(&args)
        .assert_status(1, &["count from the same instant", "--same-clock"]);
    assert_eq!(folder.list("."), ["flight.ulg", "other.ulg"]);
    folder.run(&[&args[..], &["--same-clock", "-q"]].concat()).assert_success();
    let report =
        folder.run(&["info", "--json", "new.ulg"]).assert_success().json_lines();
    // Five records in two topics, and two strings, of each: see bytes.rs.
    let topics = report[0]["topics"].as_array().unwrap();
    let counts = ["att", "att.1", "logged_strings", "parameter_changes"].map(|name| {
        let topic = topics.iter().find(|topic| topic["topic"] == name).unwrap();
        topic["records"].as_u64().unwrap()
    });
    assert_eq!(counts, [6, 4, 4, 2]);
}

#[test]
fn logs_of_different_formats_are_rejected() {
    let folder = Folder::with_log(&bytes::log());
    let args = ["merge", "flight.ulg", &testdata("rover.bag"), "-o", "new.ulg"];
    folder.run(&args).assert_status(2, &["is a ULog", "is a ROS bag", "one MCAP file"]);
}

/// The times of a topic in the order of the file, in nanoseconds.
fn times(folder: &Folder, log: &str, topic: &str) -> Vec<i64> {
    // The missing calibration of a lidar is reported with its messages.
    let cat = folder.run(&["cat", "--json", log, "-t", topic]);
    assert_eq!(cat.status, 0, "{cat:?}");
    let nanos = |line: &str| {
        let (key, rest) = line.split_once(':').unwrap();
        let time: i64 = rest.split_once(',').unwrap().0.parse().unwrap();
        if key.contains("timestamp") { time * 1_000 } else { time }
    };
    cat.stdout.lines().map(nanos).collect()
}

#[test]
fn logs_of_two_formats_are_merged_on_one_clock() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    let args = ["merge", "flight.ulg", &bag, "-o", "all.mcap"];
    folder
        .run(&args)
        .assert_status(1, &["no common clock", "to flight.ulg", "logtool align"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
    let wrong = [&args[..], &["--offset", "other.ulg=1"]].concat();
    folder.run(&wrong).assert_status(2, &["none of the files has the name other.ulg"]);

    // The bag is the first log without an offset, so its clock is used.
    let offset = ["--offset", "flight.ulg=1700000000.25"];
    let run = folder.run(&[&args[..], &offset].concat());
    run.assert_status(
        0,
        &["flight.ulg: times are 1700000000.250000 s later, to Unix time"],
    );
    let second = 1_000_000_000_i64;
    let later: Vec<i64> = times(&folder, "flight.ulg", "att")
        .into_iter()
        .map(|time| time + 1_700_000_000 * second + second / 4)
        .collect();
    assert_eq!(times(&folder, "all.mcap", "/att*"), later);
    let of_bag = times(&folder, &bag, "/imu/data");
    assert_eq!(times(&folder, "all.mcap", "/imu/data"), of_bag);
    let all = times(&folder, "all.mcap", "*");
    assert!(all.len() > later.len() + of_bag.len());
    assert!(all.is_sorted());

    // On the clock of the ULog, whose zero is unknown.
    let number = [&args[..4], &["new.mcap", "-q", "--offset", "2=-5"]].concat();
    folder.run(&number).assert_success();
    assert_eq!(
        times(&folder, "new.mcap", "/att*"),
        times(&folder, "flight.ulg", "att")
    );
    let earlier: Vec<i64> = of_bag.iter().map(|time| time - 5 * second).collect();
    assert_eq!(times(&folder, "new.mcap", "/imu/data"), earlier);
}

#[test]
fn bags_accept_a_clock_offset_and_ulogs_reject_it() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    folder
        .run(&["filter", &bag, "-o", "a.bag", "-t", "/gps/fix", "-q"])
        .assert_success();
    let args =
        ["merge", &bag, "a.bag", "-o", "new.bag", "-q", "--offset", "a.bag=2.345"];
    folder.run(&args).assert_success();
    let old_times = times(&folder, "a.bag", "/gps/fix");
    let mut all_times: Vec<i64> =
        old_times.iter().map(|time| time + 2_345_000_000).collect();
    all_times.extend(&old_times);
    all_times.sort_unstable();
    assert_eq!(times(&folder, "new.bag", "/gps/fix"), all_times);

    folder.write("other.ulg", &bytes::log());
    let args = ["merge", "flight.ulg", "other.ulg", "--offset", "2=1.5", "-o"];
    let refused = folder.run(&[&args[..], &["new.ulg"]].concat());
    refused.assert_status(2, &["in its records", ".mcap"]);
    // Nothing indicates that they are from the same vehicle.
    let run = folder.run(&[&args[..], &["new.mcap"]].concat());
    run.assert_status(
        0,
        &["other.ulg: an earlier log has topics of these names", "/other/"],
    );
    let own = times(&folder, "flight.ulg", "att");
    assert_eq!(times(&folder, "new.mcap", "/att*"), own);
    let later: Vec<i64> = own.iter().map(|time| time + 1_500_000_000).collect();
    assert_eq!(times(&folder, "new.mcap", "/other/att*"), later);
}

#[test]
fn ulog_lidar_log_and_bag_are_merged() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let (vel, bag) = (testdata("car.vel"), testdata("rover.bag"));
    for (out, more) in
        [("all.mcap", None), ("ros2.mcap", Some("--ros2")), ("all.bag", None)]
    {
        let args = ["merge", &log, &vel, &bag, "-o", out, "--offset", "2=0"];
        let args = [&args[..], &["--offset", "1=1700000000"], more.as_slice()].concat();
        folder.run(&args).assert_status(0, &["3 logs", out]);
        assert!(times(&folder, out, "*").is_sorted());
        let count = |log: &str, topic: &str| times(&folder, log, topic).len();
        assert!(count(out, "/points") > 0);
        assert_eq!(count(out, "/vehicle_attitude"), count(&log, "vehicle_attitude"));
        assert_eq!(count(out, "/imu/data"), count(&bag, "/imu/data"));
    }
}

#[test]
fn logs_with_negative_times_are_shifted_to_unix_time() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    let second = 1_000_000_000_i64;
    let own = times(&folder, "flight.ulg", "att");
    let of_bag = times(&folder, &bag, "/imu/data");
    // The bag starts at 1717236000. With this offset, it starts five seconds before the zero
    // of the ULog's clock.
    for out in ["all.mcap", "all.bag"] {
        let offset = ["--offset", "2=-1717236005"];
        let args = [&["merge", "flight.ulg", &bag, "-o", out][..], &offset].concat();
        let expected = "flight.ulg: times are 1717236005.000000 s later, to Unix time";
        folder.run(&args).assert_status(0, &[expected]);
        assert_eq!(times(&folder, out, "/imu/data"), of_bag);
        let later: Vec<i64> =
            own.iter().map(|at| at + 1_717_236_005 * second).collect();
        let att = if out.ends_with("bag") { "/att" } else { "/att*" };
        let new_times = times(&folder, out, att);
        assert_eq!(new_times[0], later[0], "{out}");
    }
    // The result of `align` shifts all logs to Unix time, whichever log is the first.
    let fit = format!(
        r#"{{"a":{{"file":"flight.ulg"}},"b":{{"file":{bag:?}}},"aligned":true,
        "offset_ns":-1717235000000000000,"reference_ns":1717236000000000000,
        "drift_ppm":0.0,"drift_known":false}}"#
    );
    folder.write("fit.json", fit.as_bytes());
    let args =
        ["merge", "flight.ulg", &bag, "-q", "-o", "fit.mcap", "--align", "fit.json"];
    folder.run(&args).assert_success();
    assert_eq!(times(&folder, "fit.mcap", "/imu/data"), of_bag);
    // No log has Unix time.
    folder.write("other.ulg", &bytes::log());
    let args = ["merge", "flight.ulg", "other.ulg", "-o", "new.mcap", "--offset"];
    folder
        .run(&[&args[..], &["2=-100.5"]].concat())
        .assert_status(0, &["flight.ulg: times are"]);
    let (new_times, other) =
        (times(&folder, "new.mcap", "/att"), times(&folder, "new.mcap", "/other/att"));
    let by = new_times[0] - own[0];
    assert!(by % second == 0 && by > 90 * second, "{by}");
    assert_eq!(new_times[0] - other[0], 100 * second + second / 2);
    let all = times(&folder, "new.mcap", "*");
    assert!((0..second).contains(&all[0]), "{all:?}");
    // Each log has an offset.
    let wrong = ["--offset", "1=-50", "--offset", "2=-100", "-o", "x.mcap"];
    let wrong = folder.run(&[&args[..3], &wrong].concat());
    wrong.assert_status(2, &["before 1970", "to each --offset"]);
    // A log with Unix time is not shifted.
    let (two, offset) =
        ([&*bag, &*bag], ["--offset", "2=-1717236000.5", "-o", "x.mcap"]);
    let wrong = folder.run(&[&["merge"], &two[..], &offset[..]].concat());
    wrong.assert_status(2, &["before 1970", "add 1 or more to its --offset"]);
    assert!(!folder.list(".").contains(&"x.mcap".to_owned()));
}

#[test]
fn alignment_applies_to_its_files_by_any_spelling_of_their_paths() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, topic) in
        [("a.bag", "/imu*"), ("b.bag", "/gps/*"), ("sub/b.bag", "/tf*")]
    {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).assert_success();
    }
    let b = folder.path().join("b.bag");
    let fit = format!(
        r#"{{"a":{{"file":"./a.bag"}},"b":{{"file":{b:?}}},"aligned":true,
        "offset_ns":-5,"reference_ns":0,"drift_ppm":0.0,"drift_known":false}}"#
    );
    folder.write("fit.json", fit.as_bytes());
    let args = ["merge", "a.bag", "sub/../b.bag", "sub/b.bag", "-o", "new.bag"];
    folder.run(&[&args[..], &["-q", "--align", "fit.json"]].concat()).assert_success();
    let old_times = times(&folder, &bag, "/gps/fix");
    let want: Vec<i64> = old_times.iter().map(|at| at - 5).collect();
    assert_eq!(times(&folder, "new.bag", "/gps/fix"), want);
    let tf = times(&folder, &bag, "/tf");
    assert_eq!(times(&folder, "new.bag", "/tf"), tf);
}

#[test]
fn unreadable_log_is_named() {
    let Some(other) = sample("rosbag/edge/comp_unknown_zstd.bag") else { return };
    let folder = Folder::new();
    let args = ["merge", &testdata("rover.bag"), &other, "-o", "new.bag"];
    let message = "compressed with \"zstd\", which is not supported";
    folder.run(&args).assert_status(1, &["error:", "comp_unknown_zstd.bag: ", message]);
    assert!(folder.list(".").is_empty());
}
