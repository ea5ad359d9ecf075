//! The latched records at a given time: the last records of latched topics.

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

/// The last record of a [latched](crate::Topic::latched) stream before some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatchedRecord {
    topic: TopicId,
    stream: u32,
    time: Timestamp,
    offset: u64,
    payload: Vec<u8>,
}

impl LatchedRecord {
    /// Returns the record with another `time`.
    pub fn record_at(&self, time: Timestamp) -> Record<'_> {
        Record {
            topic: self.topic,
            stream: self.stream,
            time,
            payload: &self.payload,
            offset: self.offset,
        }
    }

    /// Returns the time at which it was logged.
    pub fn time(&self) -> Timestamp {
        self.time
    }
}

/// Returns the last record before `time` of each latched stream of `topics`, in the order
/// of their times. One record per stream is in memory.
///
/// # Errors
/// Errors of reading the source. Damage is not an error.
pub fn latched_records(
    log: &dyn Log,
    topics: &TopicSet,
    time: Timestamp,
) -> Result<Vec<LatchedRecord>> {
    let manifest = log.manifest();
    let latched_topics = manifest
        .topics()
        .filter(|(id, topic)| topics.contains(*id) && !topic.latched.is_empty())
        .map(|(id, _)| id)
        .collect();
    let time = TimeRange { start: Timestamp::MIN, end: time };
    let selection = Selection { topics: latched_topics, time };
    if selection.topics == TopicSet::EMPTY || time.is_empty() {
        return Ok(Vec::new());
    }
    let mut last_records: BTreeMap<(TopicId, u32), LatchedRecord> = BTreeMap::new();
    let mut block = Block::default();
    let mut read_ahead =
        ReadAhead::new(log, manifest.plan(&selection, 0), selection.clone());
    while read_ahead.fill(&mut block)? {
        for record in block.iter() {
            let is_latched = manifest
                .topics
                .get(record.topic.index())
                .is_some_and(|topic| topic.is_latched(record.stream));
            if !is_latched {
                continue;
            }
            match last_records.get_mut(&(record.topic, record.stream)) {
                Some(last) if last.time > record.time => {}
                Some(last) => {
                    (last.time, last.offset) = (record.time, record.offset);
                    last.payload.clear();
                    last.payload.extend_from_slice(record.payload);
                }
                None => {
                    let Record { topic, stream, time, payload, offset } = record;
                    let payload = payload.to_vec();
                    let record = LatchedRecord { topic, stream, time, offset, payload };
                    last_records.insert((topic, stream), record);
                }
            }
        }
    }
    let mut records: Vec<LatchedRecord> = last_records.into_values().collect();
    records.sort_by_key(|record| record.time);
    Ok(records)
}
