//! The cases of ROS 1 bags.

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
