//! A field of points that was in none of the clouds that determine the columns. It has no
//! column, which is reported and is not damage.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_rosbag::{ConnectionHeader, Writer, WriterOptions};

use crate::program::Folder;

/// A cloud of 1000 points with these fields, all of them `float32` and zero.
fn cloud(fields: &[&str]) -> Vec<u8> {
    let step = 4 * fields.len();
    let mut message = vec![0; 16];
    let number = |message: &mut Vec<u8>, number: usize| {
        message.extend((number as u32).to_le_bytes());
    };
    [1, 1000, fields.len()].iter().for_each(|n| number(&mut message, *n));
    for (index, name) in fields.iter().enumerate() {
        number(&mut message, name.len());
        message.extend(name.as_bytes());
        number(&mut message, 4 * index);
        message.push(7);
        number(&mut message, 1);
    }
    message.push(0);
    [step, 1000 * step, 1000 * step].iter().for_each(|n| number(&mut message, *n));
    message.extend(vec![0; 1000 * step]);
    message.push(1);
    message
}

#[test]
fn field_without_a_column_is_reported_but_not_as_damage() {
    // 40 chunks of a cloud; the fifth is not inspected when the bag is opened.
    let options = WriterOptions::default().with_chunk_bytes(10_000);
    let mut bag = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let text = logtool_rosmsg::Definition::by_name("sensor_msgs/PointCloud2");
    let header = ConnectionHeader::new(
        "/points",
        "sensor_msgs/PointCloud2",
        &text.unwrap().text(),
    );
    let points = bag.connect(&header).unwrap();
    for number in 0..40 {
        let fields = ["x", "y", "z", "late"];
        let fields = if number == 4 { &fields[..] } else { &fields[..3] };
        let time = Timestamp::from_nanos(1_000_000_000 * (number + 1));
        bag.write(points, time, &cloud(fields)).unwrap();
    }
    let folder = Folder::new();
    folder.write("late.bag", &bag.finish().unwrap().into_inner());

    folder.run(&["check", "late.bag"]).assert_status(0, &[]);
    let args = ["convert", "late.bag", "-t", "/points/points", "-o", "out"];
    let run =
        folder.run(&args).assert_status(3, &["1 record with values", "no column"]);
    assert!(!run.stderr.contains("damaged"), "{}", run.stderr);
    // The suggested remedy.
    let args =
        ["filter", "late.bag", "--start", "4s", "--end", "6s", "-q", "-o", "cut.bag"];
    folder.run(&args).assert_success();
    let args = ["convert", "cut.bag", "-q", "-t", "/points/points", "-o", "cut"];
    folder.run(&args).assert_success();
}
