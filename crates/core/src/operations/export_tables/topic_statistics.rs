//! Statistics of the records of each topic.

use std::collections::BTreeMap;

use crate::{
    model::{time::Timestamp, topic::TopicId},
    record::block::Run,
};

/// Statistics of the records of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicStatistics {
    /// The number of records.
    pub records: u64,
    /// The total size of their payloads in bytes.
    pub bytes: u64,
    /// The earliest time.
    pub first: Timestamp,
    /// The latest time.
    pub last: Timestamp,
}

impl TopicStatistics {
    const NONE: Self =
        Self { records: 0, bytes: 0, first: Timestamp::MAX, last: Timestamp::MIN };

    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// Adds the records of `run` to the statistics.
pub(super) fn add(statistics: &mut BTreeMap<TopicId, TopicStatistics>, run: Run<'_>) {
    let mut run_statistics =
        TopicStatistics { records: run.len() as u64, ..TopicStatistics::NONE };
    for (time, payload) in run.times().zip(run.payloads()) {
        run_statistics.bytes += payload.len() as u64;
        run_statistics.first = run_statistics.first.min(time);
        run_statistics.last = run_statistics.last.max(time);
    }
    statistics.entry(run.topic()).or_insert(TopicStatistics::NONE).add(run_statistics);
}

/// Adds the statistics of `other`.
pub(super) fn join(
    statistics: &mut BTreeMap<TopicId, TopicStatistics>,
    other: BTreeMap<TopicId, TopicStatistics>,
) {
    for (topic, other) in other {
        statistics.entry(topic).or_insert(TopicStatistics::NONE).add(other);
    }
}
