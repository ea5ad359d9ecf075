//! `geotag`: errors, exit statuses and outputs. The tags are compared with Pillow in `conformance/`.

use std::fs;

use logtool_ulog::write::{Subscription, Writer};

use crate::{program::Folder, samples::testdata};

/// A JPEG without an image, which is enough for its tags.
const PHOTO: &[u8] = b"\xff\xd8\xff\xda\x00\x02scan\xff\xd9";

/// A log with captures at these times, in seconds.
fn log(times: &[u64]) -> Vec<u8> {
    let mut log = Writer::new(Vec::new(), 1_000_000);
    let fields = "uint64_t timestamp;double lat;double lon;float alt;";
    log.format("camera_capture", fields).unwrap();
    let topic = log.subscribe(Subscription::new("camera_capture")).unwrap();
    for seconds in times {
        let micros = seconds * 1_000_000;
        let place = [47.5_f64.to_le_bytes(), 8.25_f64.to_le_bytes()].concat();
        let altitude = 500.5_f32.to_le_bytes();
        let payload = [&micros.to_le_bytes()[..], &place, &altitude].concat();
        log.data(topic, micros, &payload).unwrap();
    }
    log.finish().unwrap()
}

fn folder(photos: &[&str], times: &[u64]) -> Folder {
    let folder = Folder::with_log(&log(times));
    for photo in photos {
        folder.write(&format!("photos/{photo}"), PHOTO);
    }
    folder
}

const ARGS: [&str; 6] = ["geotag", "photos", "-o", "tagged", "--log", "flight.ulg"];

#[test]
fn photos_without_times_are_paired_by_name() {
    let folder = folder(&["IMG_10.jpg", "IMG_9.jpg"], &[2, 3]);
    let words =
        ["2 of 2 photos tagged, 2 shots in camera_capture", "the order of their names"];
    folder.run(&ARGS).assert_status(0, &words);
    let table = folder.read("tagged/photos.csv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    let want = "tagged,0,2.000000,,47.5,8.25,500.5,,camera_capture,,";
    assert_eq!(rows[0], format!("IMG_9.jpg,{want}"));
    let copy = fs::read(folder.path().join("tagged/IMG_10.jpg")).unwrap();
    assert!(copy.ends_with(&PHOTO[2..]) && copy.starts_with(b"\xff\xd8\xff\xe1"));

    folder.run(&ARGS).assert_status(1, &["exists already"]);
    folder.run(&[&ARGS[..], &["--force"]].concat()).assert_status(0, &["2 of 2"]);
}

#[test]
fn counts_that_differ_leave_no_output() {
    let folder = folder(&["a.jpg", "b.jpg", "c.jpg"], &[2, 3]);
    let words = ["3 photos and 2 shots in camera_capture", "they differ", "hint:"];
    folder.run(&ARGS).assert_status(1, &words);
    assert_eq!(folder.list("."), ["flight.ulg", "photos"]);
    let partial = [&ARGS[..], &["--match", "sequence", "--partial"]].concat();
    folder
        .run(&partial)
        .assert_status(3, &["2 of 3 photos", "1 photo left out", "c.jpg: no shot"]);
    assert_eq!(folder.list("tagged"), ["a.jpg", "b.jpg", "photos.csv", "photos.kml"]);
}

#[test]
fn broken_photo_is_named() {
    let folder = folder(&["a.jpg"], &[2]);
    folder.write("photos/b.jpg", b"\x89PNG");
    let words = ["b.jpg", "does not start as a JPEG at byte 0"];
    folder.run(&ARGS).assert_status(1, &words);
    let partial = [&ARGS[..], &["--partial"]].concat();
    folder
        .run(&partial)
        .assert_status(3, &["1 of 2 photos", "1 photo left out", words[1]]);
}

#[test]
fn missing_folder_is_an_error_also_if_photos_may_be_left_out() {
    let folder = folder(&["a.jpg"], &[2]);
    let args = ["geotag", "fotos", "-o", "tagged", "--log", "flight.ulg", "--partial"];
    let run = folder.run(&args);
    assert_eq!(run.stderr, "error: cannot open fotos: there is no such file\n");
    run.assert_status(1, &[]);
}

#[test]
fn log_without_shots_and_folder_of_the_photos_are_refused() {
    let folder = folder(&["a.jpg"], &[2]);
    let flight = testdata("quad_flight.ulg");
    let other = ["geotag", "photos", "-o", "tagged", "--log", &flight];
    folder.run(&other).assert_status(1, &["no shots of a camera"]);
    let same = ["geotag", "photos", "-o", "photos", "--log", "flight.ulg", "--force"];
    folder.run(&same).assert_status(2, &["is the folder of the photos"]);
    assert_eq!(fs::read(folder.path().join("photos/a.jpg")).unwrap(), PHOTO);
}

#[cfg(unix)]
#[test]
fn photo_that_is_a_pipe_cannot_be_read() {
    let folder = folder(&["a.jpg", "b.jpg"], &[2, 3]);
    let pipe = folder.path().join("photos/c.jpg");
    let status = std::process::Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(status.success());
    let words = ["c.jpg", "it is a pipe, and not a regular file"];
    folder.run(&ARGS).assert_status(1, &words);
    let run = folder.run(&[&ARGS[..], &["--partial"]].concat());
    run.assert_status(3, &["2 of 3 photos tagged", words[0], words[1]]);
    assert_eq!(folder.list("tagged"), ["a.jpg", "b.jpg", "photos.csv", "photos.kml"]);
}
