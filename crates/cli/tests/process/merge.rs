//! `logtool merge`.

use crate::{bytes, program::Folder, samples::testdata};

#[test]
fn bags_become_one_in_the_order_of_time() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    for (name, topic) in [("a.bag", "/imu*"), ("b.bag", "/gps/*")] {
        folder.run(&["filter", &bag, "-o", name, "-t", topic, "-q"]).succeeded();
    }
    folder.run(&["merge", "a.bag", "b.bag", "-o", "new.bag", "-q"]).succeeded();
    let lines = folder.run(&["cat", "--json", "new.bag"]).succeeded().json_lines();
    let topics = ["/imu/data", "/gps/fix"];
    let count = |name: &str| lines.iter().filter(|line| line["topic"] == name).count();
    let was = |name: &str| {
        folder.run(&["cat", "--json", &bag, "-t", name]).stdout.lines().count()
    };
    assert_eq!(topics.map(count), topics.map(was));
    let times: Vec<f64> =
        lines.iter().map(|line| line["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
}

#[test]
fn ulogs_that_may_be_of_different_flights_need_a_word() {
    let folder = Folder::with(&bytes::log());
    folder.write("other.ulg", &bytes::log());
    let args = ["merge", "flight.ulg", "other.ulg", "-o", "new.ulg"];
    folder.run(&args).ended(1, &["count from the same moment", "--same-clock"]);
    assert_eq!(folder.list("."), ["flight.ulg", "other.ulg"]);
    folder.run(&[&args[..], &["--same-clock", "-q"]].concat()).succeeded();
    let report = folder.run(&["info", "--json", "new.ulg"]).succeeded().json_lines();
    // Five records in two topics, and two strings, of each: see bytes.rs.
    let topics = report[0]["topics"].as_array().unwrap();
    let counts = ["att", "att.1", "logged_strings", "parameter_changes"].map(|name| {
        let topic = topics.iter().find(|topic| topic["topic"] == name).unwrap();
        topic["records"].as_u64().unwrap()
    });
    assert_eq!(counts, [6, 4, 4, 2]);
}

#[test]
fn logs_of_different_formats_are_refused() {
    let folder = Folder::with(&bytes::log());
    let args = ["merge", "flight.ulg", &testdata("rover.bag"), "-o", "new.ulg"];
    folder.run(&args).ended(2, &["is ulog", "is rosbag", "one format"]);
}
