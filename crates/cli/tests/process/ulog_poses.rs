//! Poses of the vehicle in ULogs, as messages. The numbers were computed by hand: north and
//! east of PX4 are y and x of ROS, and a heading of 0 is a rotation of 90 degrees from x.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_8};

use serde_json::Value;

use crate::{
    bytes::{message, subscription},
    program::Folder,
    samples::testdata,
};

/// The numbers of the topics.
const POSITION: u8 = 0;
const OTHER_POSITION: u8 = 1;
const ATTITUDE: u8 = 2;
const OTHER_ATTITUDE: u8 = 3;
const TF: u8 = 4;

const VALID: [u8; 2] = [1, 1];

/// Returns a position that was measured at `sampled` microseconds: north, east, down.
fn position(id: u8, time: u64, sampled: u64, at: [f32; 3], valid: [u8; 2]) -> Vec<u8> {
    let axes = at.map(f32::to_le_bytes).concat();
    let (time, sampled) = (time.to_le_bytes(), sampled.to_le_bytes());
    message(b'D', &[&[id, 0][..], &time, &sampled, &axes, &valid].concat())
}

/// Returns an attitude that was measured at `sampled` microseconds: w, x, y, z.
fn attitude(id: u8, sampled: u64, q: [f64; 4]) -> Vec<u8> {
    let parts = q.map(|part| (part as f32).to_le_bytes()).concat();
    let (time, sampled) = ((sampled + 5_000).to_le_bytes(), sampled.to_le_bytes());
    message(b'D', &[&[id, 0][..], &time, &sampled, &parts].concat())
}

/// Returns a log with five valid poses of the first instance, and others that are not.
fn log() -> Vec<u8> {
    let half = FRAC_1_SQRT_2;
    let (north, east) = ([1.0, 0.0, 0.0, 0.0], [half, 0.0, 0.0, half]);
    let nose_up = [half, 0.0, half, 0.0];
    let mut log = [&b"ULog\x01\x12\x35\x01"[..], &1_000_000_u64.to_le_bytes()].concat();
    log.extend(message(b'B', &[0; 40]));
    let local = "vehicle_local_position:uint64_t timestamp;uint64_t timestamp_sample;\
                 float x;float y;float z;bool xy_valid;bool z_valid;";
    let turned =
        "vehicle_attitude:uint64_t timestamp;uint64_t timestamp_sample;float[4] q;";
    for format in [local, turned, "tf:uint64_t timestamp;float x;"] {
        log.extend(message(b'F', format.as_bytes()));
    }
    log.extend(subscription(0, POSITION, "vehicle_local_position"));
    log.extend(subscription(1, OTHER_POSITION, "vehicle_local_position"));
    log.extend(subscription(0, ATTITUDE, "vehicle_attitude"));
    log.extend(subscription(1, OTHER_ATTITUDE, "vehicle_attitude"));
    log.extend(subscription(0, TF, "tf"));
    let at = [1.0, 2.0, -3.0];
    // Before the first attitude.
    log.extend(position(POSITION, 1_005_000, 995_000, at, VALID));
    log.extend(attitude(ATTITUDE, 1_000_000, north));
    log.extend(attitude(OTHER_ATTITUDE, 1_100_000, [0.0, 1.0, 0.0, 0.0]));
    log.extend(position(POSITION, 1_210_000, 1_000_000, at, VALID));
    log.extend(position(OTHER_POSITION, 1_215_000, 1_205_000, at, VALID));
    log.extend(position(POSITION, 1_220_000, 1_200_000, [-1.0, 0.0, 0.5], VALID));
    log.extend(position(POSITION, 1_230_000, 1_220_000, at, [0, 1]));
    log.extend(position(POSITION, 1_240_000, 1_230_000, at, [1, 0]));
    log.extend(position(POSITION, 1_250_000, 1_240_000, [f32::NAN, 0.0, 0.0], VALID));
    log.extend(message(b'D', &[&[TF, 0][..], &[0; 12]].concat()));
    log.extend(attitude(ATTITUDE, 1_400_000, east));
    log.extend(attitude(ATTITUDE, 1_450_000, [f64::NAN; 4]));
    log.extend(position(POSITION, 1_410_000, 1_400_000, [0.0; 3], VALID));
    // Attitudes that are not numbers are skipped.
    log.extend(position(POSITION, 1_610_000, 1_600_000, [0.0; 3], VALID));
    log.extend(attitude(ATTITUDE, 1_800_000, east.map(|part| part * 2.0)));
    // Between attitudes that are more than half a second apart.
    log.extend(position(POSITION, 2_110_000, 2_100_000, at, VALID));
    log.extend(attitude(ATTITUDE, 3_000_000, nose_up));
    log.extend(position(POSITION, 3_010_000, 3_000_000, [0.0; 3], VALID));
    // After the last attitude.
    log.extend(position(POSITION, 3_020_000, 3_010_000, at, VALID));
    log
}

/// The poses of [`log`]: the times of their records and of their measurements in microseconds,
/// their positions, and their quaternions x, y, z, w.
fn poses() -> [(i64, i64, [f64; 3], [f64; 4]); 5] {
    let (sin, cos) = FRAC_PI_8.sin_cos();
    let north = [0.0, 0.0, FRAC_1_SQRT_2, FRAC_1_SQRT_2];
    let (north_east, east) = ([0.0, 0.0, sin, cos], [0.0, 0.0, 0.0, 1.0]);
    // Forward is up, left is west, and up is south.
    let nose_up = [0.5, -0.5, 0.5, 0.5];
    [
        (1_210_000, 1_000_000, [2.0, 1.0, 3.0], north),
        (1_220_000, 1_200_000, [0.0, -1.0, -0.5], north_east),
        (1_410_000, 1_400_000, [0.0; 3], east),
        (1_610_000, 1_600_000, [0.0; 3], east),
        (3_010_000, 3_000_000, [0.0; 3], nose_up),
    ]
}

fn is_near<const N: usize>(value: &Value, axes: [&str; N], expected: [f64; N]) -> bool {
    let mut pairs = axes.iter().zip(expected);
    pairs
        .all(|(axis, expected)| (value[axis].as_f64().unwrap() - expected).abs() < 1e-7)
}

/// Returns the lines of `cat` about the topic `name`.
fn lines(folder: &Folder, log: &str, name: &str) -> Vec<Value> {
    folder.run(&["cat", log, "--topic", name]).assert_success().json_lines()
}

/// Checks messages: the lines of `cat` about them, and the stamp, the position and the attitude
/// of one.
fn check(lines: &[Value], parts: impl Fn(&Value) -> [&Value; 3]) {
    assert_eq!(lines.len(), poses().len());
    for (line, (time, stamp, position, attitude)) in lines.iter().zip(poses()) {
        let pose = parts(&line["data"]);
        assert_eq!(line["time"], time * 1000);
        assert_eq!(pose[0], stamp * 1000, "{line}");
        assert!(is_near(pose[1], ["x", "y", "z"], position), "{line}");
        assert!(is_near(pose[2], ["x", "y", "z", "w"], attitude), "{line}");
    }
}

/// Returns the name and the type of each topic of `log`.
fn types(folder: &Folder, log: &str) -> Vec<[String; 2]> {
    let info = folder.run(&["info", "--json", log]).assert_success().json_lines();
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    let topics = info[0]["topics"].as_array().unwrap().iter();
    topics.map(|topic| [text(&topic["name"]), text(&topic["type_name"])]).collect()
}

fn has_topic(types: &[[String; 2]], name: &str, type_name: &str) -> bool {
    types.iter().any(|one| one[0] == name && one[1] == type_name)
}

#[test]
fn valid_positions_and_attitudes_are_foxglove_transforms_and_poses() {
    let folder = Folder::new();
    folder.write("flight.ulg", &log());
    folder
        .run(&["convert", "flight.ulg", "-o", "new.mcap"])
        .assert_status(0, &["new.mcap"]);
    let types = types(&folder, "new.mcap");
    assert!(has_topic(&types, "/tf", "foxglove.FrameTransform"), "{types:?}");
    assert!(has_topic(&types, "/tf_x2", "ulog.tf"), "{types:?}");
    let pose = "/vehicle_local_position/pose";
    assert!(has_topic(&types, pose, "foxglove.PoseInFrame"), "{types:?}");
    check(&lines(&folder, "new.mcap", "/tf"), |message| {
        assert_eq!(message["parent_frame_id"], "map");
        assert_eq!(message["child_frame_id"], "base_link");
        [&message["timestamp"], &message["translation"], &message["rotation"]]
    });
    check(&lines(&folder, "new.mcap", pose), |of| {
        assert_eq!(of["frame_id"], "map");
        [&of["timestamp"], &of["pose"]["position"], &of["pose"]["orientation"]]
    });
}

#[test]
fn valid_positions_and_attitudes_are_ros_transforms_and_poses() {
    let folder = Folder::new();
    folder.write("flight.ulg", &log());
    let convert = ["convert", "flight.ulg", "-o"];
    for (more, kinds) in [
        (
            &["new.bag"][..],
            ["tf2_msgs/TFMessage", "geometry_msgs/PoseStamped", "ulog/Tf"],
        ),
        (
            &["new.mcap", "--ros2"],
            ["tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PoseStamped", "ulog/msg/Tf"],
        ),
    ] {
        folder.run(&[&convert[..], more].concat()).assert_status(0, &[more[0]]);
        let types = types(&folder, more[0]);
        let pose = "/vehicle_local_position/pose";
        for (name, kind) in ["/tf", pose, "/tf_x2"].into_iter().zip(kinds) {
            assert!(has_topic(&types, name, kind), "{name} {kind}: {types:?}");
        }
        check(&lines(&folder, more[0], "/tf"), |of| {
            let [transform] = &of["transforms"].as_array().unwrap()[..] else {
                panic!("{of}");
            };
            assert_eq!(transform["header"]["frame_id"], "map");
            assert_eq!(transform["child_frame_id"], "base_link");
            let moved = &transform["transform"];
            [&transform["header"]["stamp"], &moved["translation"], &moved["rotation"]]
        });
        check(&lines(&folder, more[0], pose), |message| {
            assert_eq!(message["header"]["frame_id"], "map");
            let pose = &message["pose"];
            [&message["header"]["stamp"], &pose["position"], &pose["orientation"]]
        });
    }
}

#[test]
fn poses_are_written_if_their_positions_are_selected() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    folder.run(&["convert", &log, "-q", "-o", "all.mcap"]).assert_success();
    let all = lines(&folder, "all.mcap", "/tf");
    let convert = ["convert", &log, "-q", "--format", "mcap", "-o"];
    let attitudes = ["attitudes.mcap", "--topic", "vehicle_attitude"];
    folder.run(&[&convert[..], &attitudes].concat()).assert_success();
    assert_eq!(types(&folder, "attitudes.mcap").len(), 1);
    let some = ["some.mcap", "--topic", "vehicle_local_position"];
    let times = ["--start", "6", "--end", "9"];
    folder.run(&[&convert[..], &some, &times].concat()).assert_success();
    assert_eq!(types(&folder, "some.mcap").len(), 3);
    let some = lines(&folder, "some.mcap", "/tf");
    // The attitudes around the start are also used.
    let start = all.iter().position(|line| *line == some[0]).unwrap();
    assert!(start > 20 && some.len() > 10, "{start} {}", some.len());
    assert_eq!(some, all[start..start + some.len()]);
}

#[test]
fn frames_of_another_vehicle_have_a_prefix() {
    let folder = Folder::new();
    folder.write("flight.ulg", &log());
    folder.write("other.ulg", &log());
    for new in ["new.mcap", "new.bag"] {
        let merge =
            ["merge", "flight.ulg", "other.ulg", "--offset", "2=1.5", "-o", new];
        let expected = "and frames, as other/base_link";
        folder.run(&merge).assert_status(0, &[expected]);
        let frames = |name: &str| {
            let lines = lines(&folder, new, name);
            let data = &lines[0]["data"];
            let is_ros = data["transforms"].is_array();
            let (transform, parent) = match is_ros {
                true => (
                    &data["transforms"][0],
                    &data["transforms"][0]["header"]["frame_id"],
                ),
                false => (data, &data["parent_frame_id"]),
            };
            [parent, &transform["child_frame_id"]]
                .map(|frame| frame.as_str().unwrap().to_owned())
        };
        assert_eq!(frames("/tf"), ["map", "base_link"]);
        assert_eq!(frames("/other/tf"), ["other/map", "other/base_link"]);
    }
    let imu = lines(&folder, "new.bag", "/other/vehicle_attitude/imu");
    assert_eq!(imu[0]["data"]["header"]["frame_id"], "other/base_link");
}
