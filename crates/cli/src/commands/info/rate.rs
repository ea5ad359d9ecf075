//! How often records come, as far as the manifest tells.

use logtool_core::{Part, TimeRange, Topic, TopicId};

/// How often there was a record, judged by the parts that may hold some.
pub(super) fn about_rate_hz(
    parts: &[(&Part, TimeRange)],
    id: TopicId,
    topic: &Topic,
) -> Option<f64> {
    let records = topic.records?;
    let parts = parts.iter().filter(|(part, _)| part.topics.contains(id));
    let time = parts.fold(TimeRange::EMPTY, |all, (_, time)| all.cover(time));
    let is_known = !time.is_empty() && time.start != TimeRange::ALL.start;
    time.rate_hz(records).filter(|_| is_known)
}
