//! What still holds at a time: the last records of topics that latch.

use std::collections::BTreeMap;

use crate::{
    error::Result,
    log::{Cursor as _, Log},
    model::{
        manifest::Selection,
        time::{TimeRange, Timestamp},
        topic::{TopicId, TopicSet},
    },
    operations::read_ahead::ReadAhead,
    record::block::{Block, Record},
};

/// The last record of a stream that [latches](crate::Topic::latched), before some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatchedRecord {
    topic: TopicId,
    stream: u32,
    time: Timestamp,
    offset: u64,
    payload: Vec<u8>,
}

impl LatchedRecord {
    /// The record, as if it came at `time`.
    pub fn at(&self, time: Timestamp) -> Record<'_> {
        Record {
            topic: self.topic,
            stream: self.stream,
            time,
            payload: &self.payload,
            offset: self.offset,
        }
    }

    /// When it was logged.
    pub fn time(&self) -> Timestamp {
        self.time
    }
}

/// The last record before `time` of each latching stream of `topics`, the earliest
/// first. A record for each is in memory.
///
/// # Errors
/// Whatever ends the reading; damage does not.
pub fn latched_records(
    log: &dyn Log,
    topics: &TopicSet,
    time: Timestamp,
) -> Result<Vec<LatchedRecord>> {
    let manifest = log.manifest();
    let latching = manifest
        .topics()
        .filter(|(id, topic)| topics.contains(*id) && !topic.latched.is_empty())
        .map(|(id, _)| id)
        .collect();
    let time = TimeRange { start: Timestamp::MIN, end: time };
    let selection = Selection { topics: latching, time };
    if selection.topics == TopicSet::EMPTY || time.is_empty() {
        return Ok(Vec::new());
    }
    let mut last: BTreeMap<(TopicId, u32), LatchedRecord> = BTreeMap::new();
    let mut block = Block::default();
    let mut ahead =
        ReadAhead::new(log, manifest.plan(&selection, 0), selection.clone());
    while ahead.fill(&mut block)? {
        for record in block.iter() {
            let is_latched = manifest
                .topics
                .get(record.topic.index())
                .is_some_and(|topic| topic.is_latched(record.stream));
            let known = last.get_mut(&(record.topic, record.stream));
            match known {
                _ if !is_latched => {}
                Some(known) if known.time > record.time => {}
                Some(known) => {
                    (known.time, known.offset) = (record.time, record.offset);
                    known.payload.clear();
                    known.payload.extend_from_slice(record.payload);
                }
                None => {
                    let Record { topic, stream, time, payload, offset } = record;
                    let payload = payload.to_vec();
                    let held = LatchedRecord { topic, stream, time, offset, payload };
                    last.insert((topic, stream), held);
                }
            }
        }
    }
    let mut all: Vec<LatchedRecord> = last.into_values().collect();
    all.sort_by_key(|held| held.time);
    Ok(all)
}
