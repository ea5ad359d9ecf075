//! ULogs as bags, and as MCAP files for ROS 2. Their values are checked in the conformance
//! suite, with the packages pyulog and rosbags.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

fn info(folder: &Folder, log: &str) -> Value {
    let info = folder.run(&["info", "--json", log]).assert_success().stdout;
    serde_json::from_str(&info).unwrap()
}

/// The type of a topic, and how many records it has.
fn topic(info: &Value, name: &str) -> Option<(String, u64)> {
    let topics = info["topics"].as_array().unwrap();
    let entry = topics.iter().find(|topic| topic["name"] == name)?;
    let type_name = entry["type_name"].as_str().unwrap().to_owned();
    Some((type_name, entry["records"].as_u64().unwrap()))
}

#[test]
fn bag_has_each_ulog_topic_and_translations_to_ros_types() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let run = folder.run(&["convert", &log, "-o", "new.bag"]);
    run.assert_status(0, &["new.bag", "left out: ", "parameters"]);
    let (old, new) = (info(&folder, &log), info(&folder, "new.bag"));
    for entry in old["topics"].as_array().unwrap() {
        let (name, records) = (entry["name"].as_str().unwrap(), &entry["records"]);
        let is_built_in = ["logged_strings", "events", "messages"].contains(&name);
        let name = match entry["instance"].as_u64().unwrap() {
            0 => format!("/{name}"),
            instance => format!("/{name}_{instance}"),
        };
        if !is_built_in && *records != 0 {
            let (type_name, count) = topic(&new, &name).unwrap();
            assert!(type_name.starts_with("ulog/"), "{type_name}");
            assert_eq!(count, records.as_u64().unwrap(), "{name}");
        }
    }
    for (name, type_name) in [
        ("/sensor_combined/imu", "sensor_msgs/Imu"),
        ("/vehicle_attitude/imu", "sensor_msgs/Imu"),
        ("/rosout", "rosgraph_msgs/Log"),
    ] {
        let (new_type, records) = topic(&new, name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(new_type, type_name);
        assert!(records > 0, "{name}");
    }
}

#[test]
fn ulog_is_converted_to_mcap_for_ros_2() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder
        .run(&["convert", &log, "-o", "new.mcap", "--ros2"])
        .assert_status(0, &["new.mcap"]);
    let new = info(&folder, "new.mcap");
    let (old_info, of) = (info(&folder, &log), "vehicle_attitude");
    let expected = topic(&old_info, of).unwrap().1;
    let own = ("ulog/msg/VehicleAttitude".to_owned(), expected);
    assert_eq!(topic(&new, "/vehicle_attitude"), Some(own));
    let imu = ("sensor_msgs/msg/Imu".to_owned(), expected);
    assert_eq!(topic(&new, "/vehicle_attitude/imu"), Some(imu));
}
