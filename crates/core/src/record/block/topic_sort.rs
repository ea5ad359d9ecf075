//! Sorting records by topic.

use crate::record::block::RecordEntry;

/// The reusable buffers for sorting a block by topic.
#[derive(Debug, Default)]
pub struct TopicSort {
    /// The position of the next record of each topic in `sorted`.
    starts: Vec<u32>,
    sorted: Vec<RecordEntry>,
}

impl TopicSort {
    /// Sorts `entries` by topic.
    pub(super) fn sort_in_place(&mut self, entries: &mut Vec<RecordEntry>) {
        self.sort_copy(entries);
        std::mem::swap(entries, &mut self.sorted);
    }

    /// Returns `entries` sorted by topic, with a counting sort.
    pub(super) fn sort_copy(&mut self, entries: &[RecordEntry]) -> &[RecordEntry] {
        self.sorted.clear();
        self.sorted.extend_from_slice(entries);
        let max_topic =
            entries.iter().map(|entry| entry.topic.index()).max().unwrap_or(0);
        if max_topic > entries.len() * 4 + 1024 {
            // Few records with large topic ids: a comparison sort is faster than
            // counting.
            self.sorted.sort_by_key(|entry| entry.topic);
            return &self.sorted;
        }
        self.starts.clear();
        self.starts.resize(max_topic + 2, 0);
        for entry in entries {
            self.starts[entry.topic.index() + 1] += 1;
        }
        for topic in 1..self.starts.len() {
            self.starts[topic] += self.starts[topic - 1];
        }
        for entry in entries {
            let start = &mut self.starts[entry.topic.index()];
            self.sorted[*start as usize] = *entry;
            *start += 1;
        }
        &self.sorted
    }
}
