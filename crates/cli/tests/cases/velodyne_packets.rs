//! `.vel` messages, captures and the clocks of lidars.

use super::{
    program::{Folder, Run},
    samples::sample,
};

/// Runs the program with these arguments, and the sample `name` as its input.
fn run(name: &str, args: &[&str]) -> Option<Run> {
    let path = sample(&format!("cases/velodyne/{name}"))?;
    let mut all = args.to_vec();
    all.insert(1, &path);
    Some(Folder::new().run(&all))
}

#[test]
fn field_4_of_a_gps_message_is_the_warning() {
    let Some(cat) = run("gps_warning1.vel", &["cat", "-t", "gps"]) else { return };
    let rows = cat.succeeded().json_lines();
    assert_eq!(rows.len(), 3);
    for (second, row) in (7..).zip(&rows) {
        assert_eq!(row["data"]["warning"], 1);
        assert_eq!(row["data"]["second"], second);
        assert!(row["data"].get("millisecond").is_none(), "{row}");
    }
    let info = run("gps_warning1.vel", &["info"]).unwrap().succeeded();
    assert!(info.stdout.contains("2010-09-30 13:11:07.000 UTC"), "{info:?}");
}

#[test]
fn field_6_of_an_obd_message_is_the_throttle_position() {
    let Some(cat) = run("obd_throttle.vel", &["cat"]) else { return };
    let rows = cat.succeeded().json_lines();
    let data = rows[0]["data"].as_object().unwrap();
    let mut names: Vec<&str> = data.keys().map(String::as_str).collect();
    names.retain(|name| !["validity", "version"].contains(name));
    names.sort_unstable();
    let expected = [
        "engine_speed",
        "speed",
        "throttle_position",
        "unused_3",
        "unused_4",
        "unused_5",
        "unused_7",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_log_ends_at_its_end_mark() {
    let name = "end_mark_then_old_messages.vel";
    let Some(cat) = run(name, &["cat", "--strict"]) else { return };
    // The three messages before the mark; what follows is of an older recording.
    let rows = cat.succeeded().json_lines();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["topic"] == "gps"), "{rows:?}");
    let info = run(name, &["info"]).unwrap();
    assert_eq!(info.status, 0, "{info:?}");
    assert!(info.stdout.contains("bytes follow the end mark"), "{info:?}");
    assert!(!info.stdout.contains("damage"), "{info:?}");
}
