//! Makes a large ULog from a real one: `make_big_ulog IN.ulg OUT.ulg MEGABYTES`.
//!
//! The log is copied. Then all its records, logged strings and dropouts are appended
//! repeatedly, each time shifted by the duration of the log, until the file is long
//! enough. The output is deterministic.

use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write as _},
    sync::Arc,
};

use logtool_core::{
    Block, FieldRole, FileSource, Layout, LayoutKind, Log as _, OpenOptions, Primitive,
    Selection, TopicOrigin, TopicSet,
};
use logtool_ulog::UlogLog;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, megabytes] = &args[..] else {
        return Err("usage: make_big_ulog IN.ulg OUT.ulg MEGABYTES".into());
    };
    let target = megabytes.parse::<u64>()? * 1_000_000;
    let log = UlogLog::open(
        Arc::new(FileSource::new(File::open(input)?)?),
        OpenOptions::default(),
    )?;
    let span = log.manifest().time.ok_or("the log has no records")?.span_nanos()
        / 1_000
        + 10_000;
    let repeat = Repeat::from_log(&log)?;

    let mut out = BufWriter::new(File::create(output)?);
    let head = std::fs::read(input)?;
    out.write_all(&head)?;
    let (mut written, mut round) = (head.len() as u64, 0);
    while written < target {
        round += 1;
        let bytes = repeat.later_by(round * span);
        out.write_all(&bytes)?;
        written += bytes.len() as u64;
    }
    out.flush()?;
    eprintln!("{output}: {written} bytes, {} times the records of {input}", round + 1);
    Ok(())
}

/// The messages of a log that are repeated, and the byte offsets of their times.
struct Repeat {
    bytes: Vec<u8>,
    times: Vec<usize>,
}

impl Repeat {
    fn from_log(log: &UlogLog) -> Result<Self, Box<dyn Error>> {
        let manifest = log.manifest();
        let ids = ids(log)?;
        let selection = Selection {
            topics: manifest
                .topics()
                .filter(|(_, topic)| {
                    topic.origin == TopicOrigin::Logged
                        || topic.name == "logged_strings"
                        || topic.name == "dropouts"
                })
                .map(|(id, _)| id)
                .collect::<TopicSet>(),
            ..Selection::default()
        };
        let (mut bytes, mut times, mut block) =
            (Vec::new(), Vec::new(), Block::default());
        for part in manifest.plan(&selection, u64::MAX) {
            let mut cursor = log.read(&part, &selection)?;
            while cursor.fill(&mut block)? {
                for record in block.iter() {
                    let size = record.payload.len() as u16;
                    match &ids[record.topic.index()] {
                        Some((id, offsets)) => {
                            bytes.extend((size + 2).to_le_bytes());
                            bytes.push(b'D');
                            bytes.extend(id.to_le_bytes());
                            times.extend(
                                offsets.iter().map(|offset| bytes.len() + offset),
                            );
                        }
                        None => {
                            // A message from its type on. The time of a string is after
                            // its level, that of a tagged string after its tag.
                            bytes.extend((size - 1).to_le_bytes());
                            match record.payload[0] {
                                b'L' => times.push(bytes.len() + 2),
                                b'C' => times.push(bytes.len() + 4),
                                _ => {}
                            }
                        }
                    }
                    bytes.extend_from_slice(record.payload);
                }
            }
        }
        Ok(Self { bytes, times })
    }

    /// Returns the messages with all times that are not 0 shifted by `micros`.
    fn later_by(&self, micros: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for at in &self.times {
            if let Some(time) = bytes.get_mut(*at..at + 8) {
                let micros_before =
                    u64::from_le_bytes(time.try_into().unwrap_or_default());
                if micros_before != 0 {
                    time.copy_from_slice(&(micros_before + micros).to_le_bytes());
                }
            }
        }
        bytes
    }
}

/// The message id of a logged topic, and the offsets of its times.
type Message = (u16, Vec<usize>);

/// Returns the message id and the time offsets of each logged topic.
fn ids(log: &UlogLog) -> Result<Vec<Option<Message>>, Box<dyn Error>> {
    let mut ids = vec![None; log.manifest().topics.len()];
    for (id, topic, layout) in log.subscriptions() {
        let mut offsets = Vec::new();
        if let Some(layout) = layout {
            times(layout, 0, &mut offsets);
        }
        ids[topic.index()] = Some((id, offsets));
    }
    Ok(ids)
}

/// Collects the offsets of all 64-bit fields whose names start with `timestamp`.
fn times(layout: &Layout, base: usize, offsets: &mut Vec<usize>) {
    for field in &layout.fields {
        for index in 0..field.count.unwrap_or(1) {
            let offset = base + (field.offset + index * field.kind.size()) as usize;
            match &field.kind {
                LayoutKind::Nested(inner) => times(inner, offset, offsets),
                LayoutKind::Primitive(Primitive::U64)
                    if field.name.starts_with("timestamp")
                        && field.role != FieldRole::Hidden =>
                {
                    offsets.push(offset);
                }
                _ => {}
            }
        }
    }
}
