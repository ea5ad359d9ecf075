//! Tracks: their sources, their destinations, and the messages about them. The conformance
//! suite compares the positions with those of other programs.

use serde_json::Value;

use crate::{
    bytes::{keyed_message, message, subscription},
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn extension_of_the_output_selects_the_track_format() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let left_out = "5 rows dropped: no position was known";
    for end in ["kml", "gpx", "geojson"] {
        let out = format!("tracks/flight.{end}");
        folder.run(&["convert", &log, "-o", &out]).assert_status(
            0,
            &["1 track of 145 positions", left_out, &format!("→ {out}:")],
        );
    }
    assert_eq!(folder.list("tracks"), ["flight.geojson", "flight.gpx", "flight.kml"]);
    // The modes in testdata/README.md and in the log's own messages: loiter, take-off, …
    let kml = folder.read("tracks/flight.kml");
    let names: Vec<_> = kml.lines().filter(|l| l.starts_with("<name>v")).collect();
    assert_eq!(names[1], "<name>vehicle_gps_position: AUTO_LOITER</name>");
    assert_eq!(names[2], "<name>vehicle_gps_position: AUTO_TAKEOFF</name>");
    let gpx = folder.read("tracks/flight.gpx");
    assert_eq!(gpx.matches("<trkpt ").count(), 145);
    assert_eq!(gpx.matches("<time>2024-06-01T10:00:").count(), 145);
    // The file exists already.
    folder
        .run(&["convert", &log, "-o", "tracks/flight.kml"])
        .assert_status(1, &["--force"]);
    folder
        .run(&["convert", &log, "-q", "-f", "-o", "tracks/flight.kml"])
        .assert_success();
}

#[test]
fn folder_has_a_track_file_for_each_topic() {
    let folder = Folder::new();
    for (log, file, positions) in [
        ("rover.bag", "gps_fix.geojson", 50),
        ("car.vel", "gps.geojson", 2),
        ("puck.pcap", "position.geojson", 1),
    ] {
        let path = testdata(log);
        folder
            .run(&["convert", &path, "-q", "-o", log, "--format", "geojson"])
            .assert_success();
        assert_eq!(folder.list(log), [file]);
        let json: Value =
            serde_json::from_str(&folder.read(&format!("{log}/{file}"))).unwrap();
        let feature = &json["features"][0];
        assert_eq!(feature["properties"]["log"], log);
        let times = feature["properties"]["coordTimes"].as_array().unwrap();
        assert_eq!(times.len(), positions, "{log}");
    }
}

#[test]
fn ulog_converted_to_mcap_has_the_same_track() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder.run(&["convert", &log, "-o", "new.mcap", "-q"]).assert_success();
    // Protocol buffers have no 8-bit integers: `fix_type` and others become 32-bit integers.
    let left_out = "5 rows dropped: no position was known";
    folder.run(&["convert", "new.mcap", "-o", "new.gpx"]).assert_status(
        0,
        &["1 track of 145 positions", left_out, "of /vehicle_gps_position"],
    );
    folder.run(&["convert", &log, "-o", "old.gpx", "-q"]).assert_success();
    let places = |name: &str| {
        let gpx = folder.read(name);
        let points = gpx.lines().filter(|line| line.contains("<trkpt "));
        points.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(places("new.gpx").len(), 145);
    let place = |line: &String| line.split_once('>').unwrap().0.to_owned();
    let of = |name: &str| places(name).iter().map(place).collect::<Vec<_>>();
    assert_eq!(of("new.gpx"), of("old.gpx"));
}

#[test]
fn time_range_selects_a_part_of_the_track() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let part = ["--start", "2", "--end", "3", "--topic", "/gps/*"];
    folder
        .run(&[&["convert", &bag, "-o", "part.gpx"][..], &part].concat())
        .assert_status(0, &["1 track of 5 positions"]); // 5 Hz for a second
    let options = ["--start", "500", "--format", "gpx"];
    folder
        .run(&[&["convert", &bag, "-o", "none"][..], &options].concat())
        .assert_status(1, &["no track", "no records at that time"]);
    assert_eq!(folder.list("."), ["part.gpx"]);
}

#[test]
fn single_track_file_has_the_receiver_topic() {
    let Some(log) = sample("ulog/px4ulogrs_esc_status_log.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["convert", &log, "-o", "one.kml"]).assert_status(
        0,
        &["of vehicle_gps_position; positions are also in vehicle_global_position"],
    );
    folder
        .run(&["convert", &log, "-o", "all", "--format", "kml"])
        .assert_status(0, &["2 tracks of 274 positions"]);
    assert_eq!(
        folder.list("all"),
        ["vehicle_global_position.kml", "vehicle_gps_position.kml"]
    );
    // Except for the command, which is stated.
    let read =
        |name: &str| folder.read(name).replace("convert --format kml", "convert");
    assert_eq!(read("one.kml"), read("all/vehicle_gps_position.kml"));
}

#[test]
fn unsuitable_track_is_an_error_without_output() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let imu = ["convert", &bag, "-o", "x.kml", "--topic", "/imu/data"];
    folder.run(&imu).assert_status(1, &["none of 1 topic has positions", "`latitude`"]);
    let log = testdata("quad_flight.ulg");
    folder
        .run(&["convert", &bag, &log, "-o", "x.kml"])
        .assert_status(2, &["several logs"]);
    folder
        .run(&["convert", &bag, "-o", "x.kml", "--flat"])
        .assert_status(2, &["no columns"]);
    let other = ["convert", &bag, "-o", "x.kml", "--format", "gpx"];
    folder.run(&other).assert_status(2, &["x.kml looks like a file"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

/// Returns a log of a release of PX4, with the flight modes 6, 7 and 8.
fn log_of_release(release: u32) -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    log.extend(keyed_message(b'I', "char[3] sys_name", b"PX4"));
    log.extend(keyed_message(b'I', "uint32_t ver_sw_release", &release.to_le_bytes()));
    log.extend(message(b'F', b"vehicle_status:uint64_t timestamp;uint8_t nav_state;"));
    let position = b"vehicle_global_position:uint64_t timestamp;double lat;double lon;";
    log.extend(message(b'F', position));
    log.extend(subscription(0, 0, "vehicle_status"));
    log.extend(subscription(0, 1, "vehicle_global_position"));
    for second in 1..=6_u8 {
        let time = (u64::from(second) * 1_000_000).to_le_bytes();
        let mode = 6 + (second - 1) / 2;
        log.extend(message(b'D', &[&[0, 0][..], &time, &[mode]].concat()));
        let lat = (47.0 + f64::from(second) / 1e3).to_le_bytes();
        let lon = 8_f64.to_le_bytes();
        log.extend(message(b'D', &[&[1, 0][..], &time, &lat, &lon].concat()));
    }
    log
}

#[test]
fn modes_of_a_track_have_the_names_of_the_release_of_px4() {
    // vehicle_status.msg of v1.9.2, and VehicleStatus.msg of v1.17.0 and of 1.18.
    for (release, names) in [
        (0x0109_02ff, ["AUTO_RCRECOVER", "AUTO_RTGS", "AUTO_LANDENGFAIL"]),
        (0x0111_00ff, ["POSITION_SLOW", "FREE5", "ALTITUDE_CRUISE"]),
        (0x0112_00ff, ["POSITION_SLOW", "GUIDED_COURSE", "ALTITUDE_CRUISE"]),
    ] {
        let folder = Folder::with_log(&log_of_release(release));
        for out in ["x.kml", "x.geojson"] {
            folder.run(&["convert", "flight.ulg", "-o", out, "-q"]).assert_success();
            let track = folder.read(out);
            for name in names {
                assert!(track.contains(name), "{release:x} {name}: {track}");
            }
        }
    }
}
