//! `logtool messages`.

use serde_json::json;

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn messages_are_printed_as_text() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["messages", "flight.ulg"]).assert_success();
    let text =
        "[00:00:01.100] INFO   ready, \"set\"\n[00:00:02.100] WARN   low battery\n";
    assert_eq!(run.stdout, text);
    let run =
        folder.run(&["messages", "flight.ulg", "--level", "warning"]).assert_success();
    assert_eq!(run.stdout, "[00:00:02.100] WARN   low battery\n");
}

#[test]
fn levels_have_short_forms() {
    let folder = Folder::with_log(&bytes::log());
    for (short, long) in [
        ("warn", "warning"),
        ("err", "error"),
        ("crit", "critical"),
        ("emerg", "emergency"),
    ] {
        let shown =
            |level| folder.run(&["messages", "flight.ulg", "--level", level]).stdout;
        assert_eq!(shown(short), shown(long));
        assert_eq!(shown(short).is_empty(), short != "warn");
    }
}

#[test]
fn messages_are_printed_as_json() {
    let folder = Folder::with_log(&bytes::log());
    let run = folder.run(&["messages", "flight.ulg", "--json"]).assert_success();
    let lines = run.json_lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["timestamp"], json!(2_100_000));
    assert_eq!(lines[1]["level"], "warning");
    assert_eq!(lines[1]["message"], "low battery");
}

#[test]
fn rosout_messages_are_printed() {
    let Some(bag) = sample("rosbag/example.bag") else { return };
    let folder = Folder::new();
    let run = folder.run(&["messages", &bag]).assert_success();
    // The package rosbags reads these ten records of /rosout in the bag.
    assert_eq!(run.stdout.lines().count(), 10);
    let last = "INFO   /static_transform_publisher_1396293887803024259: Spinning until \
                killed publishing turtle1 to carrot";
    assert!(run.stdout.lines().last().unwrap().ends_with(last), "{run:?}");
    // From the start of the bag, to the nanosecond.
    let args = ["messages", &bag, "--clock", "relative"];
    let run = folder.run(&args).assert_success();
    let times = ["00:00:00.000", "00:00:00.000040566", "00:00:00.000657689"];
    for (line, time) in run.stdout.lines().zip(times) {
        assert!(line.starts_with(&format!("[{time}] ")), "{line}");
    }
    let json = folder.run(&["messages", &bag, "--json"]).assert_success().json_lines();
    let spawning = &json[8];
    let text = "Spawning turtle [turtle2] at x=[4.000000], y=[2.000000], \
                theta=[0.000000]";
    assert_eq!(spawning["message"], text);
    assert_eq!(spawning["level"], "info");
    assert_eq!((&spawning["name"], &spawning["line"]), (&json!("/sim"), &json!(164)));
    let run = folder.run(&["messages", &bag, "--level", "warning"]);
    assert_eq!(run.stdout, "");
    run.assert_status(0, &["no messages match the selected times"]);
    // The same messages in MCAP, as ROS 1 and ROS 2 write them.
    for (name, more) in [("one.mcap", None), ("two.mcap", Some("--ros2"))] {
        let args = ["convert", "-q", &bag, "-o", name];
        folder
            .run(&args.into_iter().chain(more).collect::<Vec<_>>())
            .assert_status(0, &[]);
        let same = folder.run(&["messages", name, "--json"]).assert_success();
        assert_eq!(same.json_lines(), json);
    }
}

#[test]
fn rosout_agg_is_dropped_and_reported() {
    let Some(bag) = sample("rosbag/example.bag") else { return };
    let folder = Folder::new();
    let rename = "/rosout=/rosout_agg";
    let args = ["filter", "-q", &bag, "-o", "agg.bag", "--rename", rename];
    folder.run(&args).assert_success();
    folder.run(&["merge", "-q", &bag, "agg.bag", "-o", "both.bag"]).assert_success();
    let run = folder.run(&["messages", "both.bag"]);
    let run = run.assert_status(0, &["left out: /rosout_agg, which repeats others"]);
    assert_eq!(run.stdout.lines().count(), 10);
    let run = folder.run(&["messages", "agg.bag"]).assert_success();
    assert_eq!(run.stdout.lines().count(), 10);
}

#[test]
fn bag_without_log_messages_names_the_expected_topics() {
    let folder = Folder::new();
    let run = folder.run(&["messages", &testdata("rover.bag")]);
    run.assert_status(1, &["it is a ROS bag without a topic", "rosgraph_msgs/Log"]);
}

#[test]
fn messages_are_selected_by_text_expression_and_source() {
    let flight = testdata("quad_flight.ulg");
    let folder = Folder::new();
    let count = |options: &[&str]| {
        let run = folder.run(&[&["messages", &flight][..], options].concat());
        assert_eq!(run.status, 0, "{run:?}");
        run.stdout.lines().count()
    };
    // The texts are listed in testdata/README.md and in the generator.
    assert_eq!(count(&[]), 9);
    assert_eq!(count(&["--contains", "TAKEOFF"]), 1);
    assert_eq!(count(&["--contains", "mission", "--contains", "land"]), 1);
    assert_eq!(count(&["--regex", r"item \d of"]), 2);
    assert_eq!(count(&["--source", "commander"]), 4);
    assert_eq!(count(&["--source", "comm*", "--source", "battery", "--json"]), 5);
    assert_eq!(count(&["--source", "event"]), 0);
    folder
        .run(&["messages", &flight, "--regex", "a("])
        .assert_status(2, &["`a(` is not a regular expression: unclosed group"]);
}

#[test]
fn messages_of_nodes_are_selected_by_node_and_own_text() {
    let Some(bag) = sample("rosbag/example.bag") else { return };
    let folder = Folder::new();
    let run = |options: &[&str]| {
        folder.run(&[&["messages", &bag][..], options].concat()).stdout
    };
    let nodes = run(&["--source", "/static_transform*"]);
    assert!(!nodes.is_empty() && nodes.lines().all(|line| line.contains("/static_tr")));
    let own = run(&["--regex", "^Spinning"]);
    assert!(own.contains(": Spinning until") && !own.is_empty());
    assert_eq!(run(&["--contains", "static_transform"]), "");
}
