//! Reads a bag or an MCAP file with logtool: `records_logtool JOB LOG [TOPIC]`.
//!
//! `read` touches every byte of every payload, in the order of the file; `ordered` does the same in time
//! order; `topic` reads only one topic; `columns` decodes one topic to Arrow, and sums up every value.
//! RAYON_NUM_THREADS sets the number of threads.

#[path = "../../../crates/cli/src/process/files/mmap.rs"]
mod map;

use std::{error::Error, fs::File, sync::Arc};

use arrow_array::{Array, cast::AsArray as _, types::*};
use arrow_schema::DataType;
use logtool_benches::touch;
use logtool_core::{
    Block, Columns, Cursor as _, Log, OpenOptions, ReadAhead, Result, Selection,
    TimeOrder, TopicOrigin, TopicSet, recognize,
};

fn main() -> std::result::Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: records_logtool read|ordered|topic|columns LOG [TOPIC]";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [job, path, topic @ ..] = &args[..] else { return Err(USAGE.into()) };
    let source = Arc::new(map::map(&Arc::new(File::open(path)?), ())?);
    let formats = [&logtool_rosbag::FORMAT as _, &logtool_mcap::FORMAT as _];
    let format = recognize(&formats, path, &*source)?;
    let log = &*format.open(source, OpenOptions::default())?;
    // Without derived topics, e.g. the points of point clouds.
    let topics = log.manifest().topics().filter(|(_, of_log)| {
        let is_logged = of_log.origin != TopicOrigin::Derived;
        is_logged && topic.first().is_none_or(|name| of_log.name == *name)
    });
    let topics = topics.map(|(id, _)| id).collect::<TopicSet>();
    let wanted = Selection { topics, ..Selection::default() };
    let (count, sum) = match job.as_str() {
        "read" | "topic" => read(log, wanted)?,
        "ordered" => read_in_time_order(log, wanted)?,
        "columns" => columns(log, wanted)?,
        _ => return Err(USAGE.into()),
    };
    println!("{count} messages, sum {sum:x}");
    Ok(())
}

fn read(log: &dyn Log, wanted: Selection) -> Result<(u64, u64)> {
    let plan = log.manifest().plan(&wanted, 1 << 20);
    let mut ahead = ReadAhead::new(log, plan, wanted);
    let (mut block, mut count, mut sum) = (Block::default(), 0, 0);
    while ahead.fill(&mut block)? {
        for record in block.iter() {
            count += 1;
            sum = touch(record.payload).wrapping_add(sum);
        }
    }
    Ok((count, sum))
}

fn read_in_time_order(log: &dyn Log, wanted: Selection) -> Result<(u64, u64)> {
    let mut cursor = TimeOrder::new(log, wanted);
    let (mut block, mut count, mut sum, mut last) = (Block::default(), 0, 0, None);
    while cursor.fill(&mut block)? {
        for record in block.iter() {
            assert!(last <= Some(record.time), "in time order");
            last = Some(record.time);
            count += 1;
            sum = touch(record.payload).wrapping_add(sum);
        }
    }
    Ok((count, sum))
}

fn columns(log: &dyn Log, wanted: Selection) -> Result<(u64, u64)> {
    let topics = log.manifest().topics();
    let mut decoders = topics
        .map(|(id, _)| {
            let is_wanted = wanted.topics.contains(id);
            is_wanted.then(|| log.decoder(id, &Columns::default())).transpose()
        })
        .collect::<Result<Vec<_>>>()?;
    let plan = log.manifest().plan(&wanted, 1 << 20);
    let mut ahead = ReadAhead::new(log, plan, wanted);
    let (mut block, mut sort, mut lost) =
        (Block::default(), Default::default(), vec![]);
    let (mut count, mut total) = (0, 0.0);
    loop {
        let goes_on = ahead.fill(&mut block)?;
        block.sort_by_topic(&mut sort);
        for run in block.runs().take(if goes_on { usize::MAX } else { 0 }) {
            if let Some(decoder) = &mut decoders[run.topic().index()] {
                decoder.append(run, &mut lost);
            }
        }
        for decoder in decoders.iter_mut().flatten() {
            if decoder.rows() > 0 && (!goes_on || decoder.rows() >= 1 << 14) {
                let batch = decoder.take()?;
                count += batch.num_rows() as u64;
                total += batch.columns().iter().map(|column| sum(column)).sum::<f64>();
            }
        }
        if !goes_on {
            return Ok((count, total.to_bits()));
        }
    }
}

/// Returns the sum of all values; strings count as their lengths.
fn sum(array: &dyn Array) -> f64 {
    macro_rules! add {
        ($type:ty) => {
            array
                .as_primitive::<$type>()
                .values()
                .iter()
                .map(|value| *value as f64)
                .sum()
        };
    }
    match array.data_type() {
        DataType::Int8 => add!(Int8Type),
        DataType::UInt8 => add!(UInt8Type),
        DataType::UInt16 => add!(UInt16Type),
        DataType::UInt32 => add!(UInt32Type),
        DataType::Float64 => add!(Float64Type),
        DataType::Timestamp(_, _) => add!(TimestampNanosecondType),
        DataType::Utf8 => array.as_string::<i32>().value_data().len() as f64,
        DataType::FixedSizeList(_, _) => sum(array.as_fixed_size_list().values()),
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|column| sum(column)).sum()
        }
        other => panic!("a column of {other}"),
    }
}
