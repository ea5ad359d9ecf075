//! Row groups that are translated into messages, if the log has several parts.
//!
//! Each group is translated with the part in which it starts. Its other records are read
//! from adjacent parts too, so that parts can be read independently.

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
};

use crate::{
    log::{Log, RowGroup},
    model::{
        manifest::Part,
        time::TimeRange,
        topic::{TopicId, TopicSet},
    },
};

/// The row groups of each source topic that has some.
#[derive(Debug, Default)]
pub(super) struct RowGroups(BTreeMap<TopicId, Vec<RowGroup>>);

/// The row groups of a topic that start in a part.
#[derive(Clone, Debug)]
pub(super) struct PartRowGroups {
    pub(super) numbers: Range<u32>,
    /// The file offsets of the records that they may consist of, if there are any.
    pub(super) records: Option<RangeInclusive<u64>>,
}

impl RowGroups {
    pub(super) fn new(groups: BTreeMap<TopicId, Vec<RowGroup>>) -> Self {
        Self(groups)
    }

    pub(super) fn topics(&self) -> TopicSet {
        self.0.keys().copied().collect()
    }

    /// Returns the groups that start in `bytes`, for each of `topics` that has groups.
    pub(super) fn part_groups(
        &self,
        topics: &TopicSet,
        bytes: &Range<u64>,
    ) -> Vec<(TopicId, PartRowGroups)> {
        let grouped = self.0.iter().filter(|(topic, _)| topics.contains(**topic));
        grouped
            .map(|(topic, groups)| (*topic, PartRowGroups::starting_in(groups, bytes)))
            .collect()
    }

    /// Returns the times of the groups of `topic` that start in `bytes`.
    fn time(&self, topic: TopicId, bytes: &Range<u64>) -> TimeRange {
        let groups = self.0.get(&topic).map(Vec::as_slice).unwrap_or_default();
        let first = groups.partition_point(|group| group.start < bytes.start);
        let part_groups = groups.iter().skip(first).take_while(|g| g.start < bytes.end);
        part_groups.fold(TimeRange::EMPTY, |range, group| range.cover(&group.time))
    }

    /// Returns the parts of `log`, joined up to `part_bytes` bytes. Each has the times
    /// of its messages: the times of the groups, and of the records of the topics
    /// `others`, which are translated individually.
    pub(super) fn parts(
        &self,
        log: &dyn Log,
        others: &TopicSet,
        part_bytes: u64,
    ) -> Vec<Part> {
        let mut parts: Vec<(Part, TimeRange)> = Vec::new();
        for (part, time) in log.manifest().parts.iter().zip(log.part_times()) {
            let has_others = part.topics.overlaps(others);
            let time = if has_others { time } else { TimeRange::EMPTY };
            match parts.last_mut() {
                Some((last, range)) if last.joins(part, part_bytes) => {
                    last.join(part);
                    *range = range.cover(&time);
                }
                _ => parts.push((part.clone(), time)),
            }
        }
        let timed = parts.into_iter().map(|(part, time)| {
            let topics = self.0.keys().filter(|topic| part.topics.contains(**topic));
            let times = topics.map(|topic| self.time(*topic, &part.bytes));
            let time = times.fold(time, |range, time| range.cover(&time));
            // If no message starts here, the part can still contain damage.
            let time = if time.is_empty() { part.time } else { time };
            Part { time, ..part }
        });
        timed.collect()
    }
}

impl PartRowGroups {
    /// Returns the groups among `groups` that start in `bytes`.
    fn starting_in(groups: &[RowGroup], bytes: &Range<u64>) -> Self {
        let before = |offset: u64| groups.partition_point(|group| group.start < offset);
        let (first_group, end_group) = (before(bytes.start), before(bytes.end));
        let Some(group) = groups.get(first_group).filter(|_| first_group < end_group)
        else {
            return Self { numbers: 0..0, records: None };
        };
        let next = groups.get(end_group);
        // After the last group, there may be an unknown one.
        let end = if next.is_some() { end_group as u32 } else { u32::MAX };
        let latest = next.map_or(u64::MAX, |next| next.start);
        Self {
            numbers: first_group as u32..end,
            records: Some(group.earliest..=latest),
        }
    }

    /// Returns whether the groups may need a record with this file offset and length.
    pub(super) fn may_need(&self, offset: u64, len: usize) -> bool {
        let end = offset.saturating_add(len as u64);
        let records = self.records.as_ref();
        records.is_some_and(|range| end >= *range.start() && offset <= *range.end())
    }
}
