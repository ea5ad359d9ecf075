//! Estimates the rates of topics from the times of the parts of the log.

use logtool_core::{Log, TimeRange, Topic, TopicId, TopicSet};

/// The times of the parts that may contain records of each topic. Parts may contain single
/// records with impossible times, so that only the time of the log counts.
pub(super) struct RateEstimates {
    log: TimeRange,
    /// For each topic, the times of the parts that list it.
    topics: Vec<TimeRange>,
    /// The times of the parts that may contain any topic.
    any_topic: TimeRange,
}

impl RateEstimates {
    /// Collects the times of the parts of `log`.
    pub(super) fn new(log: &dyn Log) -> Self {
        let manifest = log.manifest();
        let count = manifest.topics.len();
        let mut topics = vec![TimeRange::EMPTY; count];
        let mut any_topic = TimeRange::EMPTY;
        for (part, time) in manifest.parts.iter().zip(log.part_times()) {
            if part.topics == TopicSet::All {
                any_topic = any_topic.cover(&time);
                continue;
            }
            for id in part.topics.ids(count) {
                if let Some(own) = topics.get_mut(id.index()) {
                    *own = own.cover(&time);
                }
            }
        }
        Self { log: manifest.time.unwrap_or(TimeRange::ALL), topics, any_topic }
    }

    /// Returns the estimated number of records per second of `topic`, which is number `id`,
    /// if the times of its parts are known.
    pub(super) fn hz(&self, id: TopicId, topic: &Topic) -> Option<f64> {
        let records = topic.records?;
        let time = self.topics.get(id.index())?.cover(&self.any_topic);
        let time = TimeRange {
            start: time.start.max(self.log.start),
            end: time.end.min(self.log.end),
        };
        let is_known = !time.is_empty() && time.start != TimeRange::ALL.start;
        time.rate_hz(records).filter(|_| is_known)
    }
}
