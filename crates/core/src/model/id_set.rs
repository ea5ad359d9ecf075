//! Sets of the ids that a file assigns to its connections, channels or subscriptions.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A set of ids, stored as ranges. These are few because recorders assign consecutive ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdSet {
    /// The first and the last id of each range, in ascending order.
    ranges: Vec<(u32, u32)>,
}

impl IdSet {
    /// Returns whether `id` is in the set.
    pub fn contains(&self, id: u32) -> bool {
        let count = self.ranges.partition_point(|(first, _)| *first <= id);
        let last_range = count.checked_sub(1).and_then(|index| self.ranges.get(index));
        last_range.is_some_and(|(_, last)| id <= *last)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the ranges of the set, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.ranges.iter().map(|(first, last)| *first..=*last)
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for id in ids {
            match ranges.last_mut() {
                Some((_, last)) if id <= last.saturating_add(1) => *last = id,
                _ => ranges.push((id, id)),
            }
        }
        Self { ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_ranges_without_the_ids_between_them() {
        let ids = [7, 1, 2, 9, 3, 2, u32::MAX, 8];
        let set: IdSet = ids.into_iter().collect();
        let ranges: Vec<_> = set.ranges().collect();
        assert_eq!(ranges, [1..=3, 7..=9, u32::MAX..=u32::MAX]);
        for id in [0, 4, 6, 10, u32::MAX - 1] {
            assert!(!set.contains(id), "{id}");
        }
        assert!(ids.into_iter().all(|id| set.contains(id)));
        assert!(IdSet::default().is_empty());
    }
}
