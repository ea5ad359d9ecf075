//! How often records come, as far as the manifest tells.

use logtool_core::{Manifest, Part, TimeRange, Topic, TopicId};

/// How often there was a record, judged by the parts that may hold some, as far as they lie
/// in the time of the log: a part may have single records of times that cannot be right.
pub(super) fn about_rate_hz(
    manifest: &Manifest,
    parts: &[(&Part, TimeRange)],
    id: TopicId,
    topic: &Topic,
) -> Option<f64> {
    let records = topic.records?;
    let parts = parts.iter().filter(|(part, _)| part.topics.contains(id));
    let time = parts.fold(TimeRange::EMPTY, |all, (_, time)| all.cover(time));
    let all = manifest.time.unwrap_or(TimeRange::ALL);
    let time =
        TimeRange { start: time.start.max(all.start), end: time.end.min(all.end) };
    let is_known = !time.is_empty() && time.start != TimeRange::ALL.start;
    time.rate_hz(records).filter(|_| is_known)
}
