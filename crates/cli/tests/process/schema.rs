//! `logtool schema`.

use serde_json::Value;

use crate::{program::Folder, samples::testdata};

#[test]
fn schema_has_the_definition_and_the_columns_of_a_topic() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let text = folder.run(&["schema", &bag, "/gps/fix"]).assert_success().stdout;
    // As sensor_msgs/NavSatFix is defined by ROS.
    for line in [
        "/gps/fix  sensor_msgs/NavSatFix, ros1",
        "    float64[9] position_covariance",
        "    MSG: sensor_msgs/NavSatStatus",
        "    latitude                  Float64",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} in {text}");
    }
    let json = folder.run(&["schema", "--json", &bag, "/imu/*"]).json_lines();
    let [imu] = &json[..] else { panic!("{json:?}") };
    let columns = imu["columns"].as_array().unwrap();
    let names: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(names[..3], ["time", "header", "orientation"]);
    assert_eq!(columns[0]["type"], "Timestamp(ns)");
    folder.run(&["schema", &bag, "/nothing"]).assert_status(1, &["/nothing"]);
}

#[test]
fn schema_of_a_ulog_topic_has_its_nested_types() {
    let (folder, log) = (Folder::new(), testdata("hostile_types.ulg"));
    let text = folder.run(&["schema", &log, "outer"]).assert_success().stdout;
    // Nested types, as described in testdata/README.md.
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // A field is on each line.
    let at = lines.iter().position(|line| *line == "middle one;").unwrap();
    assert_eq!(lines[at + 1], "middle[2] two;");
    assert!(lines.contains(&"middle:uint8_t tag;"), "{text}");
    let at = lines.iter().position(|line| line.ends_with(":float x;")).unwrap();
    assert_eq!(lines[at + 1], "bool ok;");
}

#[test]
fn schema_of_vel_and_capture_topics_has_their_fields() {
    let folder = Folder::new();
    // As described in the manuals of Velodyne and the specification of `.vel`.
    for (log, topic, lines) in [
        (
            "puck.pcap",
            "velodyne_packets",
            &["block[12] blocks", "u16 azimuth # 0.01 deg", "u8 intensity"][..],
        ),
        (
            "puck.pcap",
            "position",
            &["char[306] sentence # NMEA 0183", "(VLP-16 manual"],
        ),
        ("car.vel", "velodyne_packets", &["u32 count", "u16 distance # 2 mm"]),
        ("car.vel", "image", &["i32 width # pixel", "u8[length] data"]),
    ] {
        let text =
            folder.run(&["schema", &testdata(log), topic]).assert_success().stdout;
        for line in lines {
            assert!(text.contains(line), "{log}, {topic}: no {line:?} in {text}");
        }
    }
}

#[test]
fn every_topic_of_every_format_has_a_schema() {
    let folder = Folder::new();
    for (log, topic) in [
        ("quad_flight.ulg", "vehicle_status"),
        ("rover.bag", "/points/points"),
        ("car.vel", "gps"),
        ("puck.pcap", "velodyne_packets"),
    ] {
        let text = folder.run(&["schema", &testdata(log)]).assert_success().stdout;
        assert!(text.lines().any(|line| line.starts_with(topic)), "{topic} in {text}");
    }
}
