//! How often records come, as far as the manifest tells.

use logtool_core::{Log, TimeRange, Topic, TopicId, TopicSet};

/// The times of the parts that may hold records of each topic, as far as they lie in the time
/// of the log: a part may have single records of times that cannot be right.
pub(super) struct AboutRates {
    /// The times of the log.
    log: TimeRange,
    /// By topic: the times of the parts that list it.
    topics: Vec<TimeRange>,
    /// The times of the parts that may hold any topic.
    any_topic: TimeRange,
}

impl AboutRates {
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

    /// Returns how many records per second `topic`, of the number `id`, has, if that is known.
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
