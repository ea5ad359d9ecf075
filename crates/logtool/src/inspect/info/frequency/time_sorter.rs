//! Counts the periods of topics whose records are not in the order of time.

use logtool_core::{Log, Selection, Timestamp, TopicId};

use crate::{
    error::Result,
    inspect::info::frequency::{is_possible, ordered_times::OrderedTimes},
    time::part_times::PartTimes,
};

/// The maximum number of times that wait to be sorted.
const MAX_UNSORTED_TIMES: usize = 4 << 20;

/// Sorts the times of records, and counts the periods between them.
pub(super) struct TimeSorter<'t> {
    target: &'t mut OrderedTimes,
    unsorted: Vec<(TopicId, Timestamp)>,
    /// The number of times that remained after the last sorting.
    remaining: usize,
}

impl<'t> TimeSorter<'t> {
    /// Creates a sorter for the late topics of `target`, whose periods it replaces.
    pub(super) fn new(target: &'t mut OrderedTimes) -> Self {
        for (id, periods) in (0..).map(TopicId).zip(&mut target.periods) {
            if target.late_topics.contains(id) {
                periods.clear(&mut target.free_slots);
            }
        }
        Self { target, unsorted: Vec::new(), remaining: 0 }
    }

    /// Reads and counts the times of the late topics of `log`.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn read(&mut self, log: &dyn Log) -> Result<()> {
        let topics = self.target.late_topics.clone();
        let selection = Selection { topics: topics.clone(), ..Selection::default() };
        let mut times = PartTimes::new(log, selection);
        let start = |offset: &u64| self.target.part_starts.get(offset).copied();
        let offsets = times.remaining_parts().iter().rev().map(|part| part.bytes.start);
        let mut next = Timestamp::MAX;
        // The earliest time of each part and all later ones, in the order of the last one first.
        let mut starts: Vec<Timestamp> = offsets
            .map(|offset| {
                next = next.min(start(&offset).unwrap_or(Timestamp::MIN));
                next
            })
            .collect();
        while times.read_part(&mut |topic, time| {
            if topics.contains(topic) && is_possible(log, topic, time) {
                self.add(topic, time);
            }
        })? {
            starts.pop();
            self.count_before(starts.last().copied());
        }
        Ok(())
    }

    fn add(&mut self, topic: TopicId, time: Timestamp) {
        if self.unsorted.len() >= MAX_UNSORTED_TIMES {
            self.count_before(None);
        }
        self.unsorted.push((topic, time));
    }

    /// Counts the periods that end before `next`, the earliest time that may still be added;
    /// `None` counts all.
    fn count_before(&mut self, next: Option<Timestamp>) {
        // If many parts overlap, most times remain after each part. Sorting them only after
        // their number has doubled keeps the cost linear.
        if next.is_some() && self.unsorted.len() < 2 * self.remaining {
            return;
        }
        self.unsorted.sort_unstable_by_key(|(_, time)| *time);
        let complete = self
            .unsorted
            .partition_point(|(_, time)| next.is_none_or(|next| *time < next));
        for (topic, time) in self.unsorted.drain(..complete) {
            if let Some(periods) = self.target.periods.get_mut(topic.index()) {
                periods.add(time, &mut self.target.free_slots);
            }
        }
        self.remaining = self.unsorted.len();
    }
}
