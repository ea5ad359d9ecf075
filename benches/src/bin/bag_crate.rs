//! Reads a bag with the crate rosbag: `bag_crate read|topic BAG [TOPIC]`.
//!
//! The crate returns messages in the order of the file, undecoded. For one topic, the index is used to
//! read only the chunks that contain it.

use std::error::Error;

use logtool_benches::touch;
use rosbag::{ChunkRecord, IndexRecord, MessageRecord, RosBag, record_types::Chunk};

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: bag_crate read|topic BAG [TOPIC]";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let bag = RosBag::new(args.get(1).ok_or(USAGE)?)?;
    let (count, sum) = match (args[0].as_str(), args.get(2)) {
        ("read", None) => read(&bag)?,
        ("topic", Some(topic)) => of_topic(&bag, topic)?,
        _ => return Err(USAGE.into()),
    };
    println!("{count} messages, sum {sum:x}");
    Ok(())
}

type Found = Result<(u64, u64), Box<dyn Error>>;

fn read(bag: &RosBag) -> Found {
    let (mut count, mut sum) = (0, 0);
    for record in bag.chunk_records() {
        if let ChunkRecord::Chunk(chunk) = record? {
            add(&chunk, |_| true, &mut count, &mut sum)?;
        }
    }
    Ok((count, sum))
}

fn of_topic(bag: &RosBag, topic: &str) -> Found {
    let (mut wanted, mut places) = (vec![], vec![]);
    for record in bag.index_records() {
        match record? {
            IndexRecord::Connection(connection) if connection.topic == topic => {
                wanted.push(connection.id);
            }
            IndexRecord::Connection(_) | IndexRecord::IndexData(_) => {}
            IndexRecord::ChunkInfo(info) => {
                if info.entries().any(|entry| wanted.contains(&entry.conn_id)) {
                    places.push(info.chunk_pos);
                }
            }
        }
    }
    let (mut count, mut sum) = (0, 0);
    let mut records = bag.chunk_records();
    for place in places {
        records.seek(place)?;
        if let Some(ChunkRecord::Chunk(chunk)) = records.next().transpose()? {
            add(&chunk, |id| wanted.contains(&id), &mut count, &mut sum)?;
        }
    }
    Ok((count, sum))
}

/// Adds up the wanted messages of a chunk.
fn add(
    chunk: &Chunk<'_>,
    is_wanted: impl Fn(u32) -> bool,
    count: &mut u64,
    sum: &mut u64,
) -> Result<(), Box<dyn Error>> {
    for message in chunk.messages() {
        if let MessageRecord::MessageData(message) = message?
            && is_wanted(message.conn_id)
        {
            *count += 1;
            *sum = touch(message.data).wrapping_add(*sum);
        }
    }
    Ok(())
}
