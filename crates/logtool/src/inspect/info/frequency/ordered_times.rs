//! Counts the periods of topics whose records are in the order of time.

use std::collections::BTreeMap;

use logtool_core::{Log, Selection, Timestamp, TopicId, TopicSet};

use crate::{
    error::Result,
    inspect::info::frequency::{is_possible, periods::Periods},
    time::{part_times::PartTimes, period_values::FreeSlots},
};

/// The maximum number of times that wait for the end of their part.
const MAX_PENDING_TIMES: usize = 1 << 20;

/// The periods of all topics, if the times of each topic are in the order of the file.
pub(super) struct OrderedTimes {
    /// The periods of each topic.
    pub(super) periods: Vec<Periods>,
    pub(super) free_slots: FreeSlots,
    /// The topics that have a record with an earlier time than that of a record in an earlier
    /// part. Their periods are not complete.
    pub(super) late_topics: TopicSet,
    /// The earliest possible time of a record in each part, by the offset of the part. The
    /// times of the parts in the manifest include impossible ones.
    pub(super) part_starts: BTreeMap<u64, Timestamp>,
    /// Times of the current part.
    pending_times: Vec<(TopicId, Timestamp)>,
    /// The last time of each topic in `pending_times`.
    last_pending: Vec<Timestamp>,
    /// Whether the times of each topic in `pending_times` are in order.
    is_ordered: bool,
}

impl OrderedTimes {
    /// Creates the periods of `log`, before it is read.
    pub(super) fn new(log: &dyn Log) -> Self {
        let topics = &log.manifest().topics;
        Self {
            periods: topics.iter().map(|_| Periods::default()).collect(),
            free_slots: FreeSlots::new(),
            late_topics: [].into_iter().collect(),
            part_starts: BTreeMap::new(),
            pending_times: Vec::new(),
            last_pending: vec![Timestamp::MIN; topics.len()],
            is_ordered: true,
        }
    }

    /// Counts the periods of all logged topics of `log`.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn read(&mut self, log: &dyn Log) -> Result<()> {
        let topics = log.manifest().logged_topics();
        let mut times =
            PartTimes::new(log, Selection { topics, ..Selection::default() });
        while let Some(offset) =
            times.remaining_parts().first().map(|part| part.bytes.start)
        {
            let mut first = Timestamp::MAX;
            times.read_part(&mut |topic, time| {
                if is_possible(log, topic, time) {
                    first = first.min(time);
                    self.add(topic, time);
                }
            })?;
            self.count_pending();
            let start = self.part_starts.entry(offset).or_insert(first);
            *start = first.min(*start);
        }
        Ok(())
    }

    /// Returns whether there are late topics.
    pub(super) fn has_late_topics(&self) -> bool {
        self.late_topics.ids(self.periods.len()).next().is_some()
    }

    fn add(&mut self, topic: TopicId, time: Timestamp) {
        if self.pending_times.len() >= MAX_PENDING_TIMES {
            self.count_pending();
        }
        if let Some(last) = self.last_pending.get_mut(topic.index()) {
            self.is_ordered &= *last <= time;
            *last = time;
        }
        self.pending_times.push((topic, time));
    }

    /// Counts the periods that end at the waiting times.
    fn count_pending(&mut self) {
        // The index of a chunk has the times of one connection after those of another one, and
        // both may be of one topic.
        if !self.is_ordered {
            self.pending_times.sort_by_key(|(_, time)| *time);
        }
        for (topic, time) in self.pending_times.drain(..) {
            let Some(periods) = self.periods.get_mut(topic.index()) else { continue };
            if let Some(last) = self.last_pending.get_mut(topic.index()) {
                *last = Timestamp::MIN;
            }
            if periods.is_late(time) {
                periods.clear(&mut self.free_slots);
                self.late_topics.insert(topic);
            }
            periods.add(time, &mut self.free_slots);
        }
        self.is_ordered = true;
    }
}
