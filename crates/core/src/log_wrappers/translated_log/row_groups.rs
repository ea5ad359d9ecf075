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
    /// The indices of the groups among all groups of the topic.
    pub(super) indices: Range<u32>,
    /// The file offsets of the records that they may consist of, if there are any groups.
    pub(super) record_offsets: Option<RangeInclusive<u64>>,
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
        self.0
            .iter()
            .filter(|(topic, _)| topics.contains(**topic))
            .map(|(topic, groups)| (*topic, PartRowGroups::starting_in(groups, bytes)))
            .collect()
    }

    /// Returns the times of the groups of `topic` that start in `bytes`.
    fn times_in(&self, topic: TopicId, bytes: &Range<u64>) -> TimeRange {
        let groups = self.0.get(&topic).map(Vec::as_slice).unwrap_or_default();
        let first = groups.partition_point(|group| group.start < bytes.start);
        groups
            .iter()
            .skip(first)
            .take_while(|group| group.start < bytes.end)
            .fold(TimeRange::EMPTY, |range, group| range.cover(&group.time))
    }

    /// Returns the parts of `log`, joined up to `part_bytes` bytes. Each has the times
    /// of its messages: the times of the groups, and of the records of the topics
    /// `ungrouped_topics`, which are translated individually.
    pub(super) fn parts(
        &self,
        log: &dyn Log,
        ungrouped_topics: &TopicSet,
        part_bytes: u64,
    ) -> Vec<Part> {
        let mut parts: Vec<(Part, TimeRange)> = Vec::new();
        for (part, time) in log.manifest().parts.iter().zip(log.part_times()) {
            let has_ungrouped_topics = part.topics.overlaps(ungrouped_topics);
            let time = if has_ungrouped_topics { time } else { TimeRange::EMPTY };
            match parts.last_mut() {
                Some((last, range)) if last.can_join(part, part_bytes) => {
                    last.join(part);
                    *range = range.cover(&time);
                }
                _ => parts.push((part.clone(), time)),
            }
        }
        let with_message_times = |(part, ungrouped_time): (Part, TimeRange)| {
            let mut time = ungrouped_time;
            for topic in self.0.keys().filter(|topic| part.topics.contains(**topic)) {
                time = time.cover(&self.times_in(*topic, &part.bytes));
            }
            if time.is_empty() {
                time = part.time; // without messages, the part can still contain damage
            }
            Part { time, ..part }
        };
        parts.into_iter().map(with_message_times).collect()
    }
}

impl PartRowGroups {
    /// Returns the groups among `groups` that start in `bytes`.
    fn starting_in(groups: &[RowGroup], bytes: &Range<u64>) -> Self {
        let first_from =
            |offset: u64| groups.partition_point(|group| group.start < offset);
        let (first_index, end_index) = (first_from(bytes.start), first_from(bytes.end));
        let Some(first_group) =
            groups.get(first_index).filter(|_| first_index < end_index)
        else {
            return Self { indices: 0..0, record_offsets: None };
        };
        // After the last group, there may be an unknown one.
        let (end, last_offset) = match groups.get(end_index) {
            Some(next_group) => (end_index as u32, next_group.start),
            None => (u32::MAX, u64::MAX),
        };
        Self {
            indices: first_index as u32..end,
            record_offsets: Some(first_group.first_record..=last_offset),
        }
    }

    /// Returns whether the groups may need a record with this file offset and length.
    pub(super) fn may_need(&self, offset: u64, len: usize) -> bool {
        let end = offset.saturating_add(len as u64);
        self.record_offsets
            .as_ref()
            .is_some_and(|range| end >= *range.start() && offset <= *range.end())
    }
}
