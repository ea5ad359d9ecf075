//! Writes a big bag: `make_big_bag OUT.bag drive|small none|lz4|bz2 AMOUNT`.
//!
//! `drive` writes AMOUNT seconds of a road vehicle, with 9.6 MB per second: Imu at 200 Hz,
//! NavSatFix at 5 Hz, tf of two nodes at 120 Hz, PointCloud2 at 10 Hz, and Image at 10 Hz. `small`
//! writes AMOUNT small messages of 20 topics. The same arguments result in the same bytes.

mod bag_file;
mod messages;

use std::{error::Error, path::Path};

use bag_file::{BagFile, ChunkCompression};
use messages::{Random, definition};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: make_big_bag OUT.bag drive|small none|lz4|bz2 AMOUNT";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, kind, compression, amount] = &args[..] else { return Err(USAGE.into()) };
    let mut bag = BagFile::create(
        Path::new(path),
        ChunkCompression::from_name(compression).ok_or(USAGE)?,
    )?;
    let amount: u64 = amount.parse()?;
    match kind.as_str() {
        "drive" => drive(&mut bag, amount)?,
        "small" => small(&mut bag, amount)?,
        _ => return Err(USAGE.into()),
    }
    eprintln!("{path}: {} bytes", bag.finish()?);
    Ok(())
}

/// The publishers: the topic, the type, the number of messages per second, and the delay of the
/// first message in units of 100 µs.
const PUBLISHERS: [(&str, &str, u64, u64); 7] = [
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
    // The time after the start, the index of the publisher, and the sequence number of each
    // message.
    let mut messages = vec![(0, 6, 0)];
    for (number, (topic, type_name, rate, delay)) in PUBLISHERS.into_iter().enumerate()
    {
        bag.connect(
            topic,
            type_name,
            &definition(type_name).ok_or(type_name)?,
            &format!("/node{number}"),
        )?;
        let of_publisher = (0..seconds * rate)
            .map(|i| (i * SECOND / rate.max(1) + delay * 100_000, number, i as u32));
        messages.extend(of_publisher);
    }
    messages.sort_unstable();
    let mut payload = Vec::new();
    for (nanos_after_start, number, seq) in messages {
        let received = START + nanos_after_start;
        // The measurement is 1.5 ms before its reception.
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
