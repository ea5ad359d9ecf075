//! The first pass over a log, which finds everything that the manifest states.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Block, Clock, ClockZero, Columns, Cursor, Decoder as _, LogAccess, Manifest,
    OpenOptions, Part, RecordScanner, Result, Selection, Source, TimeRange, Topic,
    TopicSet,
};

use crate::{
    NAME,
    decode::decoder,
    log::{SentenceClock, SentenceCursor, Topics},
};

/// What was counted of one topic.
#[derive(Default)]
struct TopicStatistics {
    records: u64,
    bytes: u64,
    time: TimeRange,
}

/// Reads `source` once and returns its manifest.
pub(crate) fn build(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<Manifest> {
    let len = source.len();
    let mut cursor = SentenceCursor {
        walk: RecordScanner::new(source.clone(), 0..len, options),
        topics: Topics::Growing(HashMap::new()),
        clock: SentenceClock::default(),
        selection: Selection::default(),
    };
    let (mut block, mut damage) = (Block::default(), Vec::new());
    let mut statistics: Vec<TopicStatistics> = Vec::new();
    while cursor.fill(&mut block)? {
        for found in block.damage() {
            found.clone().add_to(&mut damage);
        }
        for record in block.iter() {
            let index = record.topic.index();
            if statistics.len() <= index {
                statistics.resize_with(index + 1, || TopicStatistics {
                    time: TimeRange::EMPTY,
                    ..TopicStatistics::default()
                });
            }
            if let Some(topic) = statistics.get_mut(index) {
                topic.records += 1;
                topic.bytes += record.payload.len() as u64;
                topic.time = topic.time.cover(&TimeRange::from_timestamp(record.time));
            }
        }
    }
    let (Topics::Growing(kinds) | Topics::Known(kinds)) = cursor.topics;
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, id)| *id);
    let mut topics = Vec::new();
    for ((kind, _), counted) in kinds.into_iter().zip(&statistics) {
        let schema = decoder(&kind, &Columns::default())?.schema().clone();
        topics.push(Topic {
            encoding: NAME.to_owned(),
            type_name: kind.clone(),
            records: Some(counted.records),
            bytes: Some(counted.bytes),
            time: Some(counted.time),
            ..Topic::new(kind, schema)
        });
    }
    let time =
        statistics.iter().fold(TimeRange::EMPTY, |time, topic| time.cover(&topic.time));
    // The date is in few sentences, so that a part cannot start anywhere: the whole log is
    // one part. Larger formats have a part for each chunk, or one for each few megabytes.
    let part = (len > 0).then_some(Part { bytes: 0..len, topics: TopicSet::All, time });
    Ok(Manifest {
        format: NAME.to_owned(),
        bytes: len,
        access: LogAccess::Scanned,
        topics,
        parts: part.into_iter().collect(),
        clock: Clock { zero: ClockZero::Unix, to_unix: None },
        time: (!time.is_empty()).then_some(time),
        damage,
        ..Manifest::default()
    })
}
