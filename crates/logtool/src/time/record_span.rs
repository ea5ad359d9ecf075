//! The time range of the records of a log, without outliers.

use std::ops::RangeInclusive;

use logtool_core::{
    Log, Manifest, Part, Selection, TimeRange, Timestamp, Topic, TopicId, TopicOrigin,
    TopicSet,
};

use crate::{
    error::Result,
    time::{part_times::PartTimes, segments::TimeSegments},
};

const MINUTE: i64 = 60_000_000_000;
const HOUR: u64 = 3_600_000_000_000;

/// The time range of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// The time range of the records that are shown.
    pub shown: TimeRange,
    /// The possible time range of their values: values of derived records have times of their own.
    pub value_times: TimeRange,
    /// The time of the first or the last record that is not shown: it is far from 90 % of the
    /// records, and was not requested.
    pub outlier: Option<Timestamp>,
}

impl RecordSpan {
    /// Computes the range of the records of `topics`; `requested` is the requested range.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn from_log(
        log: &dyn Log,
        topics: &TopicSet,
        requested: TimeRange,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let log_time = manifest.time.unwrap_or(TimeRange::ALL);
        let plain = |time: TimeRange| {
            let value_times = intersection(extend(time), requested);
            let shown = intersection(time, value_times);
            let shown = if shown.is_empty() { value_times } else { shown };
            Self { shown, value_times, outlier: None }
        };
        let segments = segments(log, topics)?;
        let Some(ends) = segments.first_and_last() else { return Ok(plain(log_time)) };
        let ends = range(&ends);
        let Some(main) = segments.main() else {
            let shown = intersection(ends, plain(log_time).shown);
            let shown = if shown.is_empty() { plain(log_time).shown } else { shown };
            return Ok(Self { shown, ..plain(log_time) });
        };
        // A requested start includes records that are far from the others.
        let (is_from, is_to) =
            (requested.start > Timestamp::MIN, requested.end < Timestamp::MAX);
        let main = range(&main);
        let shown = TimeRange {
            start: if is_from { log_time.start } else { main.start },
            end: if is_to { log_time.end } else { main.end },
        };
        if !shown.overlaps(&requested) {
            return Ok(plain(log_time));
        }
        let first = (!is_from && ends.start < main.start).then_some(ends.start);
        let last = (!is_to && ends.end > main.end).then_some(ends.end.shifted_by(-1));
        Ok(Self { outlier: first.or(last), ..plain(shown) })
    }
}

/// Returns the longest time range that a plot of the log can show.
pub fn max_shown_range(manifest: &Manifest) -> TimeRange {
    extend(manifest.time.unwrap_or(TimeRange::ALL))
}

/// Returns the longest time range that a plot can show for records in the range `range`: it is
/// extended by its length, or by a minute, on both sides. Times farther away are impossible.
fn extend(range: TimeRange) -> TimeRange {
    if range == TimeRange::ALL {
        return range;
    }
    let room = i64::try_from(range.span_nanos()).unwrap_or(i64::MAX).max(MINUTE);
    TimeRange { start: range.start.shifted_by(-room), end: range.end.shifted_by(room) }
}

/// Returns the intersection of two ranges.
pub fn intersection(a: TimeRange, b: TimeRange) -> TimeRange {
    TimeRange { start: a.start.max(b.start), end: a.end.min(b.end) }
}

fn range(times: &RangeInclusive<i64>) -> TimeRange {
    let [start, end] = [times.start(), times.end()].map(|t| Timestamp::from_nanos(*t));
    TimeRange { start, end: end.shifted_by(1) }
}

/// Returns the segments of time that contain records of `topics`, or no segments if all
/// records are near each other.
fn segments(log: &dyn Log, topics: &TopicSet) -> Result<TimeSegments> {
    let (manifest, mut segments) = (log.manifest(), TimeSegments::default());
    if manifest.time.is_none_or(|time| time.span_nanos() <= HOUR) {
        return Ok(segments);
    }
    // The index does not contain the times of derived topics.
    let is_derived = |(id, topic): (TopicId, &Topic)| {
        topic.origin == TopicOrigin::Derived && topics.contains(id)
    };
    let topics = if manifest.topics().any(is_derived) {
        manifest.logged_topics()
    } else {
        topics.clone()
    };
    let selection = Selection { topics: topics.clone(), ..Selection::default() };
    let mut times = PartTimes::new(log, selection);
    let between = |pair: &[Part]| match pair {
        [one, next] => TimeRange { start: one.time.end, end: next.time.start },
        _ => TimeRange::EMPTY,
    };
    let parts = times.remaining_parts();
    let is_short = parts.iter().all(|part| part.time.span_nanos() <= HOUR);
    if is_short && parts.windows(2).all(|pair| between(pair).span_nanos() <= HOUR) {
        return Ok(segments);
    }
    let mut add = |topic, time: Timestamp| {
        if topics.contains(topic) && time != Timestamp::MAX {
            segments.add(time.as_nanos());
        }
    };
    while times.read_part(&mut add)? {}
    Ok(segments)
}
