//! The other outputs of the messages of a bag: images, points and names.

use std::{fs, path::Path};

use crate::program::Folder;

/// A folder with the repository's `rover.bag`, whose contents `testdata/README.md`
/// describes.
fn rover() -> Folder {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rover.bag");
    let folder = Folder::new();
    folder.write("rover.bag", &fs::read(path).unwrap());
    folder
}

#[test]
fn images_are_named_by_their_stamps_and_listed_in_a_table() {
    let folder = rover();
    let run = folder.run(&["convert", "rover.bag", "--format", "images", "-o", "out"]);
    assert!(run.status == 0 && run.stderr.contains("10 images"), "{run:?}");
    assert_eq!(folder.list("out"), ["camera_image_raw", "provenance.json"]);
    let files = folder.list("out/camera_image_raw");
    assert_eq!(files.len(), 11);
    assert_eq!(files[1], "1717236001.000000000.png");
    let png =
        fs::read(folder.path().join("out/camera_image_raw").join(&files[1])).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let index = folder.read("out/camera_image_raw/index.csv");
    let lines: Vec<&str> = index.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "time,stamp,file,width,height,encoding,frame_id",
            "1717236000002345678,1717236000000000000,1717236000.000000000.png,\
             32,24,rgb8,camera",
            "1717236001002345678,1717236001000000000,1717236001.000000000.png,\
             32,24,rgb8,camera",
        ]
    );
}

#[test]
fn images_are_selected_by_time_and_never_overwrite_files() {
    let folder = rover();
    let some = ["convert", "rover.bag", "-q", "--format", "images", "-o", "out"];
    let part = ["--clock", "relative", "--start", "2.5", "--end", "5"];
    folder.run(&[&some[..], &part].concat()).assert_success();
    assert_eq!(folder.list("out/camera_image_raw").len(), 3);
    let second_run = folder.run(&some);
    assert_eq!(second_run.status, 1, "{second_run:?}");
    assert!(second_run.stderr.contains("--force"), "{second_run:?}");
    assert_eq!(folder.list("out/camera_image_raw").len(), 3);
}

#[test]
fn log_without_images_is_an_error() {
    let folder = rover();
    let args = ["convert", "rover.bag", "--format", "images", "--topic", "/scan"];
    let run = folder.run(&args);
    assert_eq!(run.status, 1);
    assert!(run.stderr.contains("no images"), "{run:?}");
    let misused = folder.run(&["convert", "rover.bag", "--format", "images", "--flat"]);
    assert_eq!(misused.status, 2);
}

#[test]
fn points_are_rows_of_a_derived_topic() {
    let folder = rover();
    let cat = |topic| {
        folder.run(&["cat", "-q", "rover.bag", "-t", topic]).assert_success().stdout
    };
    let points = cat("/points/points");
    assert_eq!(points.lines().count(), 20 * 24);
    let start = r#"{"time":1717236000002345678,"topic":"/points/points","data":{"#;
    assert!(points.starts_with(start), "{points}");
    assert!(points.contains(r#""index":23,"x":"#));
    let beams = cat("/scan/points");
    assert_eq!(beams.lines().count(), 50 * 36);
    let door = beams.lines().nth(7).unwrap();
    assert!(door.contains(r#""x":null,"y":null,"z":null"#), "{door}");
    // Reading everything returns every message once.
    let all = folder.run(&["cat", "-q", "rover.bag"]).assert_success().stdout;
    assert_eq!(all.lines().count(), 491);
}

#[test]
fn derived_topics_are_not_copied_into_a_log() {
    let folder = rover();
    // 50 scans; testdata/README.md
    for (out, glob) in [("a.mcap", "/scan*"), ("b.bag", "/scan*")] {
        let run = folder.run(&["convert", "rover.bag", "-o", out, "-t", glob]);
        run.assert_status(0, &[": 50 records"]);
        let info = folder.run(&["info", out, "--json"]).assert_success().json_lines();
        assert_eq!(info[0]["topics"][0]["name"], "/scan");
        assert_eq!(info[0]["topics"][0]["records"], 50);
    }
    let run = folder.run(&["convert", "a.mcap", "-o", "c.bag", "-t", "*n*"]);
    run.assert_status(0, &[": 50 records"]);
    for (out, more) in [("d.mcap", &[][..]), ("d.bag", &[]), ("d.mcap", &["--ros2"])] {
        for log in ["rover.bag", "a.mcap"] {
            let args = ["convert", log, "-o", out, "-t", "/scan/points"];
            let run = folder.run(&[&args[..], more].concat());
            run.assert_status(1, &["no topic is left to copy", "derived topics"]);
        }
    }
    let car = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/car.vel");
    let run =
        folder.run(&["convert", car.to_str().unwrap(), "-o", "d.pcap", "-t", "points"]);
    run.assert_status(1, &["no topic is left to copy"]);
    let names = ["a.mcap", "b.bag", "c.bag", "rover.bag"];
    assert_eq!(folder.list("."), names);
    let batch = ["batch", "rover.bag", "--format", "mcap", "-o", "all", "-t"];
    let run = folder.run(&[&batch[..], &["/scan/points"]].concat());
    run.assert_status(0, &["1 log converted", "no topic is left to copy"]);
    assert!(!folder.list("all").contains(&"rover.mcap".to_owned()));
    let run = folder.run(&[&batch[..], &["/scan*"]].concat());
    run.assert_status(0, &["50 rows"]);
}

#[test]
fn vectors_are_not_points() {
    let folder = rover();
    // `Imu` has an acceleration with x, y and z, and `Twist` has velocities.
    let args = ["convert", "rover.bag", "-q", "--format", "ply", "-o", "out"];
    folder.run(&args).assert_success();
    assert_eq!(folder.list("out"), ["points_points", "scan_points"]);
    let run =
        folder.run(&["convert", "rover.bag", "--format", "ply", "--topic", "/imu*"]);
    run.assert_status(1, &["no points"]);
}

#[test]
fn value_names_are_columns_on_request() {
    let folder = rover();
    let topic = ["--topic", "/gps/fix"];
    let cat = |more: &[&str]| {
        let args = [&["cat", "rover.bag", "-n", "1"], &topic[..], more].concat();
        folder.run(&args).assert_success().stdout
    };
    assert!(!cat(&[]).contains("status_label"));
    // sensor_msgs/NavSatStatus: STATUS_FIX = 0.
    let named = cat(&["--labels"]);
    assert!(named.contains(r#""status":0,"status_label":"STATUS_FIX""#), "{named}");
    assert!(cat(&["--format", "text"]).contains("STATUS_FIX"));
    let args = ["convert", "rover.bag", "-q", "--labels", "-o", "out"];
    folder.run(&[&args[..], &topic].concat()).assert_success();
    let table = folder.read("out/rover_gps_fix_0.csv");
    assert!(
        table.lines().next().unwrap().contains("status.status,status.status_label")
    );
}

#[test]
fn images_of_an_unknown_encoding_are_reported() {
    let folder = rover();
    let args = ["filter", "rover.bag", "-qo", "plain.bag", "--compression", "none"];
    folder.run(&args).assert_success();
    let mut bag = fs::read(folder.path().join("plain.bag")).unwrap();
    for at in 0..bag.len() - 4 {
        if bag[at..].starts_with(b"rgb8") {
            bag[at..at + 4].copy_from_slice(b"zzz8");
        }
    }
    folder.write("odd.bag", &bag);
    let run = folder.run(&["convert", "odd.bag", "--format", "images", "-o", "out"]);
    run.assert_status(
        3,
        &["10 records not decoded", "\"zzz8\" is not supported", "/camera/image_raw"],
    );
    let strict =
        ["convert", "odd.bag", "--strict", "-q", "--format", "images", "-o", "no"];
    folder.run(&strict).assert_status(1, &["zzz8"]);
}

#[test]
fn mcap_file_of_either_encoding_has_the_points_and_images_of_its_bag() {
    let folder = rover();
    let files = |log: &str, to: &str| -> Vec<(String, Vec<u8>)> {
        let out = format!("{to} of {log}");
        folder
            .run(&["convert", log, "-q", "--format", to, "-o", &out])
            .assert_success();
        let mut all = Vec::new();
        for topic in folder.list(&out).iter().filter(|name| !name.contains('.')) {
            for name in folder.list(&format!("{out}/{topic}")) {
                let path = folder.path().join(&out).join(topic).join(&name);
                let mut bytes = fs::read(path).unwrap();
                // The header of a PLY file states its provenance.
                let end = b"end_header\n";
                let head = bytes.windows(end.len()).position(|at| at == end);
                bytes.drain(..head.unwrap_or(0));
                all.push((format!("{topic}/{name}"), bytes));
            }
        }
        all
    };
    folder.run(&["convert", "rover.bag", "-q", "-o", "ros1.mcap"]).assert_success();
    folder
        .run(&["convert", "rover.bag", "-q", "-o", "ros2.mcap", "--ros2"])
        .assert_success();
    for to in ["ply", "images"] {
        let of_bag = files("rover.bag", to);
        assert!(of_bag.len() > 10, "{to}: {}", of_bag.len());
        for log in ["ros1.mcap", "ros2.mcap"] {
            let of_mcap = files(log, to);
            let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
                files.iter().map(|(name, _)| name.clone()).collect()
            };
            assert_eq!(names(&of_mcap), names(&of_bag), "{to} of {log}");
            assert!(of_mcap == of_bag, "{to} of {log}: other bytes");
        }
    }
    // Reading everything returns every message once.
    let all = folder.run(&["cat", "-q", "ros2.mcap"]).assert_success().stdout;
    assert_eq!(all.lines().count(), 491);
}
