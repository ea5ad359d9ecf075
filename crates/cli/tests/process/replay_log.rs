//! `replay-log`: selections, warnings and errors. Values are compared with pyulog in `conformance/`.

use logtool_ulog::write::{Subscription, Writer};

use crate::{program::Folder, samples::testdata};

/// A log in which EKF2 used more records of the magnetometer than were logged.
fn log() -> Vec<u8> {
    let mut log = Writer::new(Vec::new(), 1_000_000);
    let times = "uint64_t timestamp;int16_t vehicle_magnetometer_timestamp_rel;\
                 int16_t airspeed_timestamp_rel;";
    log.format("ekf2_timestamps", times).unwrap();
    let topics = ["sensor_combined", "vehicle_magnetometer", "cpuload"];
    for name in topics {
        log.format(name, "uint64_t timestamp;float x;").unwrap();
    }
    log.parameter("SDLOG_MODE", 0).unwrap();
    let mut subscribe = |name, instance| {
        log.subscribe(Subscription::new(name).instance(instance)).unwrap()
    };
    let used = subscribe("ekf2_timestamps", 0);
    let [imu, magnetometer, other] = topics.map(|name| subscribe(name, 0));
    let second = subscribe("vehicle_magnetometer", 1);
    for index in 0..100_u64 {
        let micros = 1_000_000 + index * 10_000;
        let time = micros.to_le_bytes();
        let offsets = [(-2_i16).to_le_bytes(), 32_767_i16.to_le_bytes()].concat();
        log.data(used, micros, &[&time[..], &offsets].concat()).unwrap();
        let row = [&time[..], &[0; 4]].concat();
        for topic in [imu, other, second] {
            log.data(topic, micros, &row).unwrap();
        }
        if index % 2 == 0 {
            let row = [&(micros - 200).to_le_bytes()[..], &[0; 4]].concat();
            log.data(magnetometer, micros - 200, &row).unwrap();
        }
    }
    log.finish().unwrap()
}

#[test]
fn only_replayed_topics_are_copied_and_problems_are_named() {
    let folder = Folder::with_log(&log());
    let run = folder.run(&["replay-log", "flight.ulg", "-o", "replay.ulg"]);
    run.assert_status(
        0,
        &[
            "250 records",
            "3 topics",
            "missing: vehicle_air_data",
            "missing: vehicle_status",
            "vehicle_magnetometer: 50 of 100 records that EKF2 used are not in the log",
            "SDLOG_MODE is 0",
        ],
    );
    let info = folder.run(&["info", "--json", "replay.ulg"]).assert_success();
    let info = &info.json_lines()[0];
    let topics = info["topics"].as_array().unwrap().iter();
    let topics = topics.filter(|topic| topic["records"].as_u64() > Some(0));
    let topics: Vec<_> = topics.map(|topic| &topic["name"]).collect();
    assert_eq!(topics, ["ekf2_timestamps", "sensor_combined", "vehicle_magnetometer"]);
}

#[test]
fn log_without_imu_and_other_formats_are_refused() {
    let folder = Folder::new();
    let run = |log: &str| folder.run(&["replay-log", &testdata(log), "-o", "r.ulg"]);
    run("pasta.ulg")
        .assert_status(1, &["no records of sensor_combined", "SDLOG_PROFILE"]);
    run("rover.bag")
        .assert_status(1, &["it is a ROS bag, and only ULogs can be replayed by PX4"]);
    assert_eq!(folder.list("."), [""; 0]);
}

#[test]
fn name_of_another_kind_of_file_is_refused() {
    let folder = Folder::with_log(&log());
    for (name, kind) in [("x.csv", "a CSV table"), ("x.mcap", "an MCAP file")] {
        let run = folder.run(&["replay-log", "flight.ulg", "-o", name]);
        let words = format!("{name} looks like {kind}, and the log for a replay is");
        run.assert_status(2, &[&words, "hint: let the name end in .ulg"]);
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}
