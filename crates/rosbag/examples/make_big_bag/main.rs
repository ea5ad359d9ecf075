//! Makes a big bag: `make_big_bag OUT.bag drive|small none|lz4|bz2 AMOUNT`.
//!
//! `drive` is AMOUNT seconds of a road vehicle, 9.6 MB each: Imu 200 Hz, NavSatFix 5 Hz,
//! tf of two nodes 120 Hz, PointCloud2 10 Hz, Image 10 Hz. `small` is AMOUNT small
//! messages of 20 topics. The same arguments give the same bag, byte for byte.

mod bag_file;
mod messages;

use std::{error::Error, path::Path};

use bag_file::{BagFile, Packing};
use messages::{Random, definition};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: make_big_bag OUT.bag drive|small none|lz4|bz2 AMOUNT";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, kind, packing, amount] = &args[..] else { return Err(USAGE.into()) };
    let mut bag =
        BagFile::create(Path::new(path), Packing::from_name(packing).ok_or(USAGE)?)?;
    let amount: u64 = amount.parse()?;
    match kind.as_str() {
        "drive" => drive(&mut bag, amount)?,
        "small" => small(&mut bag, amount)?,
        _ => return Err(USAGE.into()),
    }
    eprintln!("{path}: {} bytes", bag.finish()?);
    Ok(())
}

/// The publishers: topic, type, messages per second, and offset of the first message.
const DRIVE: [(&str, &str, u64, u64); 7] = [
    ("/imu/data", "sensor_msgs/Imu", 200, 1),
    ("/gps/fix", "sensor_msgs/NavSatFix", 5, 2),
    ("/tf", "tf2_msgs/TFMessage", 100, 3),
    ("/tf", "tf2_msgs/TFMessage", 20, 4),
    ("/velodyne_points", "sensor_msgs/PointCloud2", 10, 5),
    ("/camera/image_raw", "sensor_msgs/Image", 10, 6),
    ("/tf_static", "tf2_msgs/TFMessage", 0, 0),
];

fn drive(bag: &mut BagFile, seconds: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut due = vec![(0, 6, 0)];
    for (number, (topic, type_name, rate, first)) in DRIVE.into_iter().enumerate() {
        bag.connect(
            topic,
            type_name,
            &definition(type_name).ok_or(type_name)?,
            &format!("/node{number}"),
        )?;
        let of_connection = (0..seconds * rate)
            .map(|i| (i * SECOND / rate.max(1) + first * 100_000, number, i as u32));
        due.extend(of_connection);
    }
    due.sort_unstable();
    let mut payload = Vec::new();
    for (after, number, seq) in due {
        let received = START + after;
        // The measurement was 1.5 ms before its reception.
        let nanos = received - 1_500_000;
        payload.clear();
        match number {
            0 => messages::imu(&mut payload, seq, nanos, &mut random),
            1 => messages::fix(&mut payload, seq, nanos),
            2 => messages::tf(&mut payload, seq, nanos, 3, &mut random),
            3 => messages::tf(&mut payload, seq, nanos, 1, &mut random),
            4 => messages::cloud(&mut payload, seq, nanos, &mut random),
            5 => messages::image(&mut payload, seq, nanos, &mut random),
            _ => messages::tf(&mut payload, seq, nanos, 5, &mut random),
        }
        bag.write(number as u32, received, &payload)?;
    }
    Ok(())
}

fn small(bag: &mut BagFile, count: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for topic in 0..20 {
        let (name, type_name) = match topic {
            0..14 => (format!("/signals/s{topic:02}"), "std_msgs/Float64"),
            14 => ("/imu/data".to_owned(), "sensor_msgs/Imu"),
            15..19 => (format!("/twist{topic}"), "geometry_msgs/TwistStamped"),
            _ => ("/state".to_owned(), "std_msgs/String"),
        };
        let text = definition(type_name).ok_or(type_name)?;
        bag.connect(&name, type_name, &text, "/node")?;
    }
    let mut payload = Vec::new();
    for i in 0..count {
        let (nanos, topic, seq) = (START + i * 50_000, (i % 20) as u32, i as u32);
        payload.clear();
        match topic {
            0..14 => messages::number(&mut payload, &mut random),
            14 => messages::imu(&mut payload, seq, nanos, &mut random),
            15..19 => messages::twist(&mut payload, seq, nanos, &mut random),
            _ => messages::word(&mut payload, seq),
        }
        bag.write(topic, nanos, &payload)?;
    }
    Ok(())
}
