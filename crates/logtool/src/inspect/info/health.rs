//! The layout of a file: the sizes and the order of its parts.

use std::collections::BTreeMap;

use logtool_core::{Log, Part, TimeRange, Value};
use serde::Serialize;

use crate::{error::Result, inspect::info::as_json};

/// The layout of a file, which determines how fast selections of it can be read.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// The parts that can be read independently. In a bag, they are its chunks.
    pub parts: PartStatistics,
    /// Properties that only the format of the log states, for example the compression of chunks.
    #[serde(flatten, serialize_with = "as_json")]
    pub layout: BTreeMap<String, Value>,
}

/// Statistics of the parts of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartStatistics {
    /// The number of parts.
    pub count: u64,
    /// The length of the shortest part, in bytes.
    pub min_bytes: u64,
    /// The median length, in bytes.
    pub median_bytes: u64,
    /// The length of the longest part, in bytes.
    pub max_bytes: u64,
    /// The number of parts that start before all parts that started earlier have ended.
    pub overlapping: u64,
    /// The largest number of parts at the same time.
    pub most_at_once: u64,
    /// The number of parts that start earlier than the part before them in the file.
    pub out_of_order: u64,
    /// The number of parts whose time is unknown.
    pub of_unknown_time: u64,
}

impl Health {
    /// Inspects the layout of `log`.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn new(log: &dyn Log) -> Result<Self> {
        let parts = PartStatistics::new(&log.manifest().parts, log.part_times());
        Ok(Self { parts, layout: log.file_structure()? })
    }
}

impl PartStatistics {
    /// Computes the statistics of `parts`, whose times are `times`.
    fn new(parts: &[Part], times: Vec<TimeRange>) -> Self {
        let mut lengths: Vec<u64> =
            parts.iter().map(|part| part.bytes.end - part.bytes.start).collect();
        lengths.sort_unstable();
        let times = times.into_iter().filter(|time| !time.is_empty());
        let (known, unknown): (Vec<TimeRange>, Vec<TimeRange>) =
            times.partition(|time| *time != TimeRange::ALL);
        let pairs = known.windows(2);
        let out_of_order = pairs.filter(|pair| pair[1].start < pair[0].start).count();

        // The starts and ends of the parts in time order. At equal times, ends come first.
        let begin = known.iter().map(|time| (time.start, 1_i64));
        let end = known.iter().map(|time| (time.end, -1));
        let mut changes: Vec<_> = begin.chain(end).collect();
        changes.sort_unstable();
        let (mut current, mut max_current, mut overlapping) = (0, 0, 0);
        for (_, change) in changes {
            overlapping += u64::from(change > 0 && current > 0);
            current += change;
            max_current = max_current.max(current);
        }
        Self {
            count: parts.len() as u64,
            min_bytes: lengths.first().copied().unwrap_or(0),
            median_bytes: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
            max_bytes: lengths.last().copied().unwrap_or(0),
            overlapping,
            most_at_once: max_current.unsigned_abs(),
            out_of_order: out_of_order as u64,
            of_unknown_time: unknown.len() as u64,
        }
    }
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
    fn part_statistics_count_overlaps_and_parts_out_of_order() {
        let mut parts = vec![
            part(0..10, 0, 10),
            part(10..40, 10, 20), // starts when the first ends
            part(40..60, 15, 30), // starts before the second ends
            part(60..65, 5, 18), // starts earlier than the part before, and overlaps three
        ];
        let unknown = Part { time: TimeRange::ALL, ..part(65..70, 0, 0) };
        parts.push(unknown);
        parts.push(Part { time: TimeRange::EMPTY, ..part(70..71, 0, 0) });
        let want = PartStatistics {
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
        assert_eq!(PartStatistics::new(&parts, times), want);
    }
}
