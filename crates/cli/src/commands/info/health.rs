//! How well a log is laid out.

use std::collections::BTreeMap;

use logtool_core::{Json, Log, Part, Result, TimeRange, Value};
use serde::{Serialize, Serializer};

/// How well a log is laid out.
#[derive(Serialize)]
pub(super) struct Health {
    /// Stretches that can be read one without the other: in a bag, its chunks.
    pub(super) parts: Parts,
    /// What only the format knows.
    #[serde(flatten, serialize_with = "as_json")]
    pub(super) layout: BTreeMap<String, Value>,
}

/// How the parts of a log lie.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Parts {
    pub(super) count: u64,
    pub(super) min_bytes: u64,
    pub(super) median_bytes: u64,
    pub(super) max_bytes: u64,
    /// How many begin before all that began earlier are at their end.
    pub(super) overlapping: u64,
    /// How many there are at one time, at most.
    pub(super) most_at_once: u64,
    /// How many begin earlier than the one before them in the file.
    pub(super) out_of_order: u64,
    /// Of how many the file does not tell the time.
    pub(super) of_unknown_time: u64,
}

impl Health {
    pub(super) fn of(log: &dyn Log) -> Result<Self> {
        let parts = Parts::of(&log.manifest().parts, log.part_times());
        Ok(Self { parts, layout: log.layout()? })
    }
}

impl Parts {
    /// How `parts` lie, which have these `times`.
    fn of(parts: &[Part], times: Vec<TimeRange>) -> Self {
        let mut lengths: Vec<u64> =
            parts.iter().map(|part| part.bytes.end - part.bytes.start).collect();
        lengths.sort_unstable();
        let times = times.into_iter().filter(|time| !time.is_empty());
        let (known, unknown): (Vec<TimeRange>, Vec<TimeRange>) =
            times.partition(|time| *time != TimeRange::ALL);
        let is_back = |pair: &&[TimeRange]| pair[1].start < pair[0].start;
        let out_of_order = known.windows(2).filter(is_back).count();

        // When parts begin and end, in order; at one time, ends come first.
        let begin = known.iter().map(|time| (time.start, 1_i64));
        let end = known.iter().map(|time| (time.end, -1));
        let mut changes: Vec<_> = begin.chain(end).collect();
        changes.sort_unstable();
        let (mut now, mut most, mut overlapping) = (0, 0, 0);
        for (_, change) in changes {
            overlapping += u64::from(change > 0 && now > 0);
            now += change;
            most = most.max(now);
        }
        Self {
            count: parts.len() as u64,
            min_bytes: lengths.first().copied().unwrap_or(0),
            median_bytes: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
            max_bytes: lengths.last().copied().unwrap_or(0),
            overlapping,
            most_at_once: most.unsigned_abs(),
            out_of_order: out_of_order as u64,
            of_unknown_time: unknown.len() as u64,
        }
    }
}

fn as_json<S: Serializer>(
    layout: &BTreeMap<String, Value>,
    out: S,
) -> std::result::Result<S::Ok, S::Error> {
    let plain: BTreeMap<&str, Json<'_>> =
        layout.iter().map(|(key, value)| (key.as_str(), value.json())).collect();
    plain.serialize(out)
}

#[cfg(test)]
mod tests {
    use logtool_core::{Timestamp, TopicSet};

    use super::*;

    fn part(bytes: std::ops::Range<u64>, start: i64, end: i64) -> Part {
        let (start, end) = (Timestamp::from_nanos(start), Timestamp::from_nanos(end));
        Part { bytes, topics: TopicSet::All, time: TimeRange { start, end } }
    }

    #[test]
    fn overlaps_and_order_are_as_counted_by_hand() {
        let mut parts = vec![
            part(0..10, 0, 10),
            part(10..40, 10, 20), // begins as the first ends
            part(40..60, 15, 30), // begins before the second ends
            part(60..65, 5, 18),  // goes back, and overlaps three
        ];
        let unknown = Part { time: TimeRange::ALL, ..part(65..70, 0, 0) };
        parts.push(unknown);
        parts.push(Part { time: TimeRange::EMPTY, ..part(70..71, 0, 0) });
        let want = Parts {
            count: 6,
            min_bytes: 1,
            median_bytes: 10,
            max_bytes: 30,
            overlapping: 3,
            most_at_once: 3,
            out_of_order: 1,
            of_unknown_time: 1,
        };
        let times = parts.iter().map(|part| part.time).collect();
        assert_eq!(Parts::of(&parts, times), want);
    }
}
