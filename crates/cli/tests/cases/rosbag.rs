//! The cases of ROS 1 bags.

use std::fs;

use serde_json::{Value, json};

use crate::{program::Folder, samples::sample};

/// A case among the samples, if they are there.
fn case(name: &str) -> Option<String> {
    sample(&format!("cases/rosbag/{name}"))
}

/// The data of the lines that `cat` prints of a sound log.
fn cat(log: &str) -> Vec<Value> {
    let lines =
        Folder::new().run(&["cat", "--json", log]).assert_success().json_lines();
    lines.into_iter().map(|line| line["data"].clone()).collect()
}

#[test]
fn connections_with_one_md5_sum_use_their_own_definitions() {
    let Some(bag) = case("b05_md5_collision.bag") else { return };
    let list = |items: &[i64]| -> Value {
        let items: Vec<_> = items.iter().map(|data| json!({"data": data})).collect();
        json!({"field": items})
    };
    let one = |data: i64| json!({"field": {"data": data}});
    let expected = [one(7), list(&[8, 9]), one(10), list(&[11, 12])];
    assert_eq!(cat(&bag), expected);
    let folder = Folder::new();
    folder.run(&["check", &bag]).assert_status(0, &[]);
    for new in ["new.bag", "new.mcap"] {
        folder.run(&["filter", &bag, "-o", new]).assert_status(0, &[]);
        let new = folder.path().join(new);
        assert_eq!(cat(new.to_str().unwrap()), expected, "{new:?}");
    }
}

#[test]
fn field_named_time_keeps_its_name() {
    let Some(bag) = case("b21_field_time.bag") else { return };
    let data = json!({"date": "d", "time": "t", "stamp": 1_000_000_002, "topic": 3});
    assert_eq!(cat(&bag), [data]);
    let folder = Folder::new();
    let text = folder.run(&["cat", "--format", "text", &bag]).assert_success().stdout;
    assert!(text.contains(" time=\"t\" "), "{text}");
    // In a table, the field would have the name of the time column.
    folder.run(&["convert", &bag, "-o", "t", "--format", "csv"]).assert_status(0, &[]);
    let csv = folder.read("t/b21_field_time_x_0.csv");
    assert!(csv.starts_with("time,date,time_,stamp,topic\n"), "{csv}");
}

/// The time of a row and the stamps in it are all nanoseconds.
#[test]
fn merged_row_has_a_single_time_unit() {
    let Some(bag) = sample("cases/rosbag/scan_rate.bag") else { return };
    let folder = Folder::new();
    let args = ["convert", &bag, "--merge", "asof", "--rate", "10", "--format", "csv"];
    folder.run(&[&args[..], &["-o", "t"]].concat()).assert_status(0, &[]);
    let table = folder.read(&format!("t/{}", folder.list("t").remove(0)));
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let stamp = names.iter().position(|name| name.ends_with("header.stamp")).unwrap();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [time, stamp] = [cells[0], cells[stamp]].map(|cell| cell.parse::<i64>());
        let difference = time.unwrap() - stamp.unwrap();
        assert!(difference.abs() < 2_000_000_000, "{line}");
    }
}

/// 4,096 bytes are missing in the middle of the bag, in its only chunk. Of the block of LZ4 before
/// them, a decoder in Python makes 6,207 complete messages. With zeros instead of the missing
/// bytes, or cut there, the bag has the same messages.
#[test]
fn messages_before_bytes_that_are_missing_in_a_chunk_are_read() {
    const BEFORE: usize = 6_207;
    let Some(bag) = sample("rosbag/example-lz4.bag") else { return };
    let sound = cat(&bag);
    let bytes = fs::read(&bag).unwrap();
    let at = bytes.len() / 2 / 4_096 * 4_096;
    let (before, after) = (&bytes[..at], &bytes[at + 4_096..]);
    let folder = Folder::new();
    for inside in [&[][..], &[0; 4_096]] {
        folder.write("x.bag", &[before, inside, after].concat());
        let run = folder.run(&["cat", "--json", "x.bag"]);
        let run = run.assert_status(3, &["lost", "doubtful"]);
        let data: Vec<Value> =
            run.json_lines().iter().map(|line| line["data"].clone()).collect();
        assert_eq!(data[..BEFORE], sound[..BEFORE]);
        let run = folder.run(&["repair", "-f", "--json", "x.bag", "-o", "new.bag"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.status, &report["records"]), (3, &data.len().into()));
    }
    // The missing bytes include the end of the chunk and its index data.
    folder.write("x.bag", &[&bytes[..at], &bytes[325_364..]].concat());
    let run = folder.run(&["cat", "--json", "x.bag"]).assert_status(3, &["lost"]);
    assert!(run.json_lines().len() >= BEFORE);
}
