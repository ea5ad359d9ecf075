//! Segments of time that are far from each other, for example because a clock was set.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// Times that are further apart belong to different segments: an hour, in nanoseconds.
const MIN_GAP: i64 = 3_600_000_000_000;

/// The maximum number of segments that are counted. If there are more, no segment dominates.
const MAX_SEGMENTS: usize = 1 << 16;

/// Segments of time that contain events and are more than an hour apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeSegments {
    /// For the first time of each segment, its last time and its number of events.
    segments: BTreeMap<i64, (i64, u64)>,
    count: u64,
}

impl TimeSegments {
    /// Adds an event at `time`, in nanoseconds.
    pub(crate) fn add(&mut self, time: i64) {
        self.count += 1;
        let (mut first, mut last, mut count) = (time, time, 1);
        let before = self.segments.range(..=time).next_back();
        if let Some((start, (end, others))) =
            before.map(|(start, segment)| (*start, *segment))
            && time.saturating_sub(MIN_GAP) <= end
        {
            (first, last, count) = (start, end.max(time), others + 1);
        }
        let after = self.segments.range(time.saturating_add(1)..).next();
        if let Some((start, (end, others))) =
            after.map(|(start, segment)| (*start, *segment))
            && start.saturating_sub(MIN_GAP) <= last
        {
            self.segments.remove(&start);
            (last, count) = (end, count + others);
        }
        if self.segments.len() < MAX_SEGMENTS || self.segments.contains_key(&first) {
            self.segments.insert(first, (last, count));
        }
    }

    /// Returns the first and the last time of the segment with at least nine of ten events, if
    /// there are events outside of it.
    pub(crate) fn main(&self) -> Option<RangeInclusive<i64>> {
        let is_main = |(_, (_, count)): &(&i64, &(i64, u64))| {
            *count < self.count && u128::from(*count) * 10 >= u128::from(self.count) * 9
        };
        self.segments.iter().find(is_main).map(|(first, (last, _))| *first..=*last)
    }

    /// Returns the first and the last time of all events.
    pub(crate) fn first_and_last(&self) -> Option<RangeInclusive<i64>> {
        let (first, (_, (last, _))) =
            (self.segments.keys().next()?, self.segments.last_key_value()?);
        Some(*first..=*last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_events_does_not_change_segments() {
        let hour = 3_600_000_000_000;
        // One event every half hour, from both ends to the middle, and one far away.
        let times = (0..20).flat_map(|n| [n, 39 - n]).map(|n| n * hour / 2);
        let mut segments = TimeSegments::default();
        times.for_each(|time| segments.add(time));
        assert_eq!(segments.main(), None);
        segments.add(i64::MAX);
        assert_eq!(segments.main(), Some(0..=39 * hour / 2));
        assert_eq!(segments.first_and_last(), Some(0..=i64::MAX));
        segments.add(i64::MIN);
        assert_eq!(segments.main(), Some(0..=39 * hour / 2));
    }

    #[test]
    fn number_of_segments_is_bounded() {
        let mut segments = TimeSegments::default();
        (0..100_000).for_each(|n| segments.add(n * 2 * MIN_GAP));
        assert_eq!((segments.segments.len(), segments.main()), (MAX_SEGMENTS, None));
    }
}
