//! Groups of rows that messages are made of, where the log is in several parts.
//!
//! Each group is made a message by whoever reads the part in which it begins, who for that looks
//! at what there is of it in the parts around, too. So parts can be read one without the other.

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

/// Of each topic of the log beneath that has groups, these.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<TopicId, Vec<RowGroup>>);

/// The groups of a topic that begin in a part.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) numbers: Range<u32>,
    /// Where records may lie that they are made of, if there are some.
    pub(super) records: Option<RangeInclusive<u64>>,
}

impl Groups {
    pub(super) fn new(groups: BTreeMap<TopicId, Vec<RowGroup>>) -> Self {
        Self(groups)
    }

    pub(super) fn topics(&self) -> TopicSet {
        self.0.keys().copied().collect()
    }

    /// Those that begin in `bytes`, of each of `topics` that has groups.
    pub(super) fn own(
        &self,
        topics: &TopicSet,
        bytes: &Range<u64>,
    ) -> Vec<(TopicId, Own)> {
        let grouped = self.0.iter().filter(|(topic, _)| topics.contains(**topic));
        grouped.map(|(topic, groups)| (*topic, Own::of(groups, bytes))).collect()
    }

    /// When those of `topic` are that begin in `bytes`.
    fn time(&self, topic: TopicId, bytes: &Range<u64>) -> TimeRange {
        let groups = self.0.get(&topic).map(Vec::as_slice).unwrap_or_default();
        let from = groups.partition_point(|group| group.start < bytes.start);
        let own = groups.iter().skip(from).take_while(|g| g.start < bytes.end);
        own.fold(TimeRange::EMPTY, |all, group| all.cover(&group.time))
    }

    /// The parts of `log`, joined to `part_bytes` where they are shorter, with the times that
    /// what is made of them has: of their groups, and of records of `others`, the topics of
    /// which each record becomes something.
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
                Some((last, all)) if last.joins(part, part_bytes) => {
                    last.join(part);
                    *all = all.cover(&time);
                }
                _ => parts.push((part.clone(), time)),
            }
        }
        let timed = parts.into_iter().map(|(part, time)| {
            let topics = self.0.keys().filter(|topic| part.topics.contains(**topic));
            let times = topics.map(|topic| self.time(*topic, &part.bytes));
            let time = times.fold(time, |all, time| all.cover(&time));
            // Where nothing begins, damage may still be told.
            let time = if time.is_empty() { part.time } else { time };
            Part { time, ..part }
        });
        timed.collect()
    }
}

impl Own {
    /// Those of `groups` that begin in `bytes`.
    fn of(groups: &[RowGroup], bytes: &Range<u64>) -> Self {
        let before = |place: u64| groups.partition_point(|group| group.start < place);
        let (from, to) = (before(bytes.start), before(bytes.end));
        let Some(first) = groups.get(from).filter(|_| from < to) else {
            return Self { numbers: 0..0, records: None };
        };
        let next = groups.get(to);
        // Behind the last may be another that is not known.
        let end = if next.is_some() { to as u32 } else { u32::MAX };
        let behind = next.map_or(u64::MAX, |next| next.start);
        Self { numbers: from as u32..end, records: Some(first.earliest..=behind) }
    }

    /// Whether a record of these bytes may be one that they are made of.
    pub(super) fn needs(&self, offset: u64, len: usize) -> bool {
        let end = offset.saturating_add(len as u64);
        let records = self.records.as_ref();
        records.is_some_and(|range| end >= *range.start() && offset <= *range.end())
    }
}
