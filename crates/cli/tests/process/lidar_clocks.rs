//! The clock and the frame of lidar points in new logs.

use std::fs;

use serde_json::Value;

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

/// The times of the messages of points in `log`, and the stamps of their clouds, in microseconds of
/// Unix time.
fn clouds(folder: &Folder, log: &str) -> Vec<(i64, i64)> {
    let cat = folder.run(&["cat", log, "-t", "/points", "--json"]);
    assert_eq!(cat.status, 0, "{log}");
    let all = cat.json_lines();
    let describe = |cloud: &Value| {
        let time = cloud["time"].as_i64().unwrap() / 1000;
        let data = &cloud["data"];
        let stamp = data["header"]["stamp"].as_i64().or(data["timestamp"].as_i64());
        (time, stamp.unwrap() / 1000)
    };
    all.iter().map(describe).collect()
}

/// The microseconds past the hour of the first data packet in `capture`, whose frames
/// have headers of 16 bytes, and of 42 bytes of Ethernet, IPv4 and UDP. A data packet has 1206
/// bytes.
fn first_stamp(capture: &[u8]) -> i64 {
    let mut at = 24;
    loop {
        let word = |at: usize| {
            u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize
        };
        let payload = at + 16 + 42;
        match word(at + 8) - 42 {
            1206 => return word(payload + 1200) as i64,
            len => at = payload + len,
        }
    }
}

/// The frames of the messages of `topic` in `log`.
fn frames(folder: &Folder, log: &str, topic: &str) -> Vec<String> {
    let cat = folder.run(&["cat", log, "-t", topic, "--json"]);
    assert_eq!(cat.status, 0, "{log}");
    let describe = |message: Value| {
        let data = &message["data"];
        let of_transform = data["child_frame_id"]
            .as_str()
            .or(data["transforms"][0]["child_frame_id"].as_str());
        let own = data["header"]["frame_id"].as_str().or(data["frame_id"].as_str());
        of_transform.or(own).unwrap().to_owned()
    };
    let mut all: Vec<String> = cat.json_lines().into_iter().map(describe).collect();
    all.dedup();
    all
}

#[test]
fn lidars_of_several_logs_have_separate_frames() {
    let (car, puck) = (testdata("car.vel"), testdata("puck.pcap"));
    for (new, more) in [("a.mcap", &["--foxglove"][..]), ("b.bag", &[])] {
        let folder = Folder::new();
        let merge = ["merge", &puck, &car, "-o", new];
        let expected = "renamed, as /car/points, and frames, as car/velodyne";
        folder.run(&[&merge[..], more].concat()).assert_status(0, &[expected]);
        assert_eq!(frames(&folder, new, "/points"), ["velodyne"]);
        assert_eq!(frames(&folder, new, "/car/points"), ["car/velodyne"]);
        assert_eq!(frames(&folder, new, "/tf"), ["car/base_link"]);
        assert_eq!(frames(&folder, new, "/position/fix"), ["gps"]);
    }
    // Captures of two lidars with different addresses, and of one.
    let folder = Folder::new();
    let mut bytes = fs::read(&puck).unwrap();
    fs::write(folder.path().join("same.pcap"), &bytes).unwrap();
    let address = [192, 168, 1, 201];
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == address {
            bytes[at + 3] = 202;
        }
    }
    fs::write(folder.path().join("other.pcap"), bytes).unwrap();
    let expected = "3 renamed, as /other/position, and frames, as other/velodyne";
    folder
        .run(&["merge", &puck, "other.pcap", "-o", "o.bag"])
        .assert_status(0, &[expected]);
    assert_eq!(frames(&folder, "o.bag", "/other/points"), ["other/velodyne"]);
    let same = folder.run(&["merge", &puck, "same.pcap", "-o", "s.bag"]);
    assert!(same.status == 0 && !same.stderr.contains("renamed"), "{}", same.stderr);
}

#[test]
fn points_in_logs_and_tables_are_in_utc() {
    // date -u -d "2016-01-21 08:00" +%s
    let hour = 1_453_363_200_000_000;
    let Some(log) = sample("velodyne/vlp16_mrpt_gps_sample.pcap") else { return };
    let expected = hour + first_stamp(&fs::read(&log).unwrap());
    let folder = Folder::new();
    for (new, more) in
        [("a.bag", &[][..]), ("b.mcap", &["--foxglove"]), ("c.mcap", &["--ros2"])]
    {
        let note = "times are 0.367145 s earlier, as position packets give UTC";
        let convert = ["convert", &log, "-o", new];
        folder.run(&[&convert[..], more].concat()).assert_status(0, &[note]);
        let (_, stamp) = clouds(&folder, new)[0];
        // Some of the first firings have no return.
        assert!((0..100).contains(&(stamp - expected)), "{new}: {stamp} {expected}");
    }
    let merge = ["merge", &log, &testdata("puck.pcap"), "-o", "m.bag"];
    folder.run(&merge).assert_status(0, &[]);
    let (_, stamp) = clouds(&folder, "m.bag")[0];
    assert!((0..100).contains(&(stamp - expected)), "{stamp} {expected}");
}

#[test]
fn points_and_positions_without_a_pulse_state_share_a_clock() {
    // The first data packet is 164.473090 s past the hour, captured at 22:02:45.378121.
    let Some(log) = sample("velodyne/hdl32e_rustlidarutils_example.pcap") else {
        return;
    };
    let folder = Folder::new();
    let times =
        ["--start", "2012-12-11T22:02:44.5Z", "--end", "2012-12-11T22:02:44.6Z"];
    // date -u -d "2012-12-11 22:02:44" +%s
    let second = 1_355_263_364_000_000;
    let range = second + 500_000..second + 600_000;
    for (new, more) in [("a.mcap", &["--foxglove"][..]), ("b.bag", &["--clock", "utc"])]
    {
        let convert = ["convert", &log, "-o", new];
        let run = folder.run(&[&convert[..], &times, more].concat());
        run.assert_status(0, &["times are 0.904753 s earlier, as position packets"]);
        let clouds = clouds(&folder, new);
        // A rotation takes 0.1 s, and the time range starts within one of them.
        assert_eq!(clouds.len(), 3, "{new}");
        for (time, stamp) in clouds {
            assert!(range.contains(&time) && range.contains(&stamp), "{time} {stamp}");
            assert!(stamp <= time, "{time} {stamp}");
        }
        let info = folder.run(&["info", "--json", new]).assert_success().json_lines();
        let topics = info[0]["topics"].as_array().unwrap();
        let position =
            topics.iter().find(|topic| topic["name"] == "/position").unwrap();
        // One position packet for every 9 data packets of 552.96 us.
        assert_eq!(position["records"], 20, "{new}");
    }
    // The clock of the computer can be selected.
    let convert = ["convert", &log, "-o", "c.bag", "--lidar-clock", "log"];
    let stderr = folder.run(&convert).stderr;
    assert!(!stderr.contains("earlier"), "{stderr}");
    let (time, stamp) = clouds(&folder, "c.bag")[0];
    assert!(stamp >= second + 1_378_121 && stamp < time, "{time} {stamp}");
}

#[test]
fn cloud_is_within_the_requested_times() {
    let (folder, log) = (Folder::new(), testdata("car.vel"));
    let times =
        ["--start", "2010-09-30T13:11:07.237Z", "--end", "2010-09-30T13:11:07.637Z"];
    // date -u -d "2010-09-30 13:11:07" +%s
    let second = 1_285_852_267_000_000;
    for new in ["a.mcap", "b.bag"] {
        let convert = ["convert", &log, "-o", new];
        folder.run(&[&convert[..], &times].concat()).assert_status(0, &[]);
        let clouds = clouds(&folder, new);
        assert_eq!(clouds.len(), 1);
        for (time, _) in clouds {
            assert!((second + 237_000..second + 637_000).contains(&time), "{time}");
        }
    }
}

#[test]
fn empty_time_range_error_names_the_clock_of_dates() {
    let Some(log) = sample("velodyne/vlp16_mrpt_gps_sample.pcap") else { return };
    let folder = Folder::new();
    // The capture ends at 08:18:03.096 by its own clock, 0.367 s before that in UTC.
    let from = ["--start", "2016-01-21T08:18:02.85Z"];
    let expected = "dates are UTC; the log's own clock is 0.367145";
    for args in [
        &["convert", &log, "-t", "points", "-o", "z"][..],
        &["filter", &log, "-o", "x.pcap"],
    ] {
        let run = folder.run(&[args, &from].concat());
        run.assert_status(
            0,
            &[
                "no records match the selected topics and time range",
                expected,
                "s ahead)",
            ],
        );
    }
}
