//! How often records come, as far as the manifest tells.

use logtool_core::{Manifest, Part, TimeRange, Topic, TopicId};

/// How often there was a record, from the first to the last of which the time can be
/// right.
pub(super) fn rate_hz(manifest: &Manifest, topic: &Topic) -> Option<f64> {
    let (records, time) = (topic.records?, topic.time?);
    let known = manifest.time.unwrap_or(time);
    let (start, end) = (time.start.max(known.start), time.end.min(known.end));
    let nanos = TimeRange { start, end }.span_nanos();
    (records > 1 && nanos > 0).then(|| (records - 1) as f64 * 1e9 / nanos as f64)
}

/// How often there was a record, judged by the parts that may hold some.
pub(super) fn about_rate_hz(
    parts: &[(&Part, TimeRange)],
    id: TopicId,
    topic: &Topic,
) -> Option<f64> {
    let records = topic.records?;
    let parts = parts.iter().filter(|(part, _)| part.topics.contains(id));
    let time = parts.fold(TimeRange::EMPTY, |all, (_, time)| all.cover(time));
    let nanos = time.span_nanos();
    let is_known = !time.is_empty() && time.start != TimeRange::ALL.start;
    (is_known && records > 1 && nanos > 0)
        .then(|| (records - 1) as f64 * 1e9 / nanos as f64)
}
