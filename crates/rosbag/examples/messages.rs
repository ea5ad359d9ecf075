//! Prints the time, the connection, the topic and the payload of each message of a bag.
//!
//! ```text
//! cargo run --release -p logtool-rosbag --example messages -- drive.bag
//! ```

use std::{fs::File, io::Write as _, sync::Arc};

use logtool_core::{Block, FileSource, Log as _, Selection, hex::Hex};
use logtool_rosbag::{RosbagLog, RosbagOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: messages BAG")?;
    let source = Arc::new(FileSource::new(File::open(path)?)?);
    let log = RosbagLog::open(source, RosbagOptions::default())?;
    let connections: Vec<_> = log.connections().collect();
    // Derived topics, e.g. the points of point clouds, are not selected.
    let logged =
        Selection { topics: log.manifest().logged_topics(), ..Default::default() };
    let mut block = Block::default();
    let mut out = std::io::stdout().lock();
    for part in log.manifest().plan(&logged, 1 << 20) {
        let mut cursor = log.read(&part, &logged)?;
        while cursor.fill(&mut block)? {
            for record in block.iter() {
                let topic = log.manifest().topic(record.topic)?;
                let connection = connections[record.stream as usize].id;
                let (time, payload) = (record.time.as_nanos(), Hex(record.payload));
                writeln!(out, "{time} {connection} {} {payload}", topic.name)?;
            }
            for damage in block.damage() {
                eprintln!("{damage}");
            }
        }
    }
    Ok(())
}
