//! Finding duplicate records.

use std::collections::{BTreeMap, HashMap};

use crate::{
    model::{
        finding::{Code, Finding, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static DUPLICATE: Code = Code::warning(
    "record.duplicate",
    "a record occurs twice, with the same topic, time and bytes",
);

/// The number of records of one topic and time that are compared.
const KEPT: usize = 64;
/// Payloads from this size in bytes on are hashed in four independent lanes.
const LONG: usize = 256;

/// Remembers the last records of each stream of each topic.
pub(super) struct DuplicateFinder {
    /// The first stream of each topic. Most topics have only one.
    first: Vec<Option<(u32, LastRecords)>>,
    other_streams: HashMap<(TopicId, u32), LastRecords>,
    by_topic: BTreeMap<TopicId, Finding>,
}

struct LastRecords {
    time: Timestamp,
    sums: Vec<u64>,
}

impl DuplicateFinder {
    pub(super) fn new(topics: usize) -> Self {
        let first = std::iter::repeat_with(|| None).take(topics).collect();
        Self { first, other_streams: HashMap::new(), by_topic: BTreeMap::new() }
    }

    /// Compares the next record, whose payload has this [`sum`].
    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader, sum: u64) {
        let RecordHeader { topic, stream, time, .. } = *record;
        let new = || LastRecords { time, sums: Vec::new() };
        let first = self.first.get_mut(topic.index());
        let first = first.map(|first| first.get_or_insert_with(|| (stream, new())));
        let last = match first {
            Some((first, last)) if *first == stream => last,
            _ => self.other_streams.entry((topic, stream)).or_insert_with(new),
        };
        if last.is_duplicate(time, sum) {
            self.count_duplicate(record);
        }
    }

    #[cold]
    fn count_duplicate(&mut self, record: &RecordHeader) {
        let entry = self.by_topic.get_mut(&record.topic);
        let time = TimeRange::from_timestamp(record.time);
        match entry {
            Some(entry) => {
                entry.count += 1;
                entry.time = entry.time.map(|range| range.cover(&time));
            }
            None => {
                let text = "a record occurs twice, with the same time and bytes";
                let finding = Finding::new(&DUPLICATE, text).with_topic(record.topic);
                let finding = finding.with_time(time).with_bytes(record.bytes());
                self.by_topic.insert(record.topic, finding);
            }
        }
    }

    pub(super) fn report(self, findings: &mut Findings) {
        self.by_topic.into_values().for_each(|finding| findings.add(finding));
    }
}

impl LastRecords {
    /// Adds the next record. Returns whether it is a duplicate.
    #[inline]
    fn is_duplicate(&mut self, time: Timestamp, sum: u64) -> bool {
        if self.time != time {
            self.time = time;
            self.sums.clear();
        } else if self.sums.contains(&sum) {
            return true;
        }
        if self.sums.len() < KEPT {
            self.sums.push(sum);
        }
        false
    }
}

/// Returns a hash of `bytes`. It is not cryptographic, because a forged
/// collision has no benefit.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
    let mut sum = bytes.len() as u64;
    let mut remaining = bytes;
    if bytes.len() >= LONG {
        // Four independent sums run in parallel in the processor.
        let (rows, end) = bytes.as_chunks::<32>();
        let mut sums = [1, 2, 3, 4];
        for row in rows {
            let (words, _) = row.as_chunks::<8>();
            for (sum, next) in sums.iter_mut().zip(words) {
                *sum = mix(*sum, word(next));
            }
        }
        sum = sums.into_iter().fold(sum, mix);
        remaining = end;
    }
    let (words, end) = remaining.as_chunks::<8>();
    sum = words.iter().fold(sum, |sum, next| mix(sum, word(next)));
    match bytes.last_chunk() {
        // The last word overlaps with bytes that were already hashed.
        Some(last) if !end.is_empty() => mix(sum, word(last)),
        _ => end.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_differ_for_any_flipped_bit_and_other_lengths() {
        for len in [0, 1, 7, 8, 9, 31, LONG - 1, LONG, LONG + 1, LONG + 39] {
            let bytes = vec![7; len];
            assert_eq!(sum(&bytes), sum(&bytes.clone()), "{len}");
            assert_ne!(sum(&bytes), sum(&vec![7; len + 1]), "{len}");
            assert_ne!(sum(&vec![0; len]), sum(&vec![0; len + 1]), "{len}");
            for bit in 0..8 * len {
                let mut other = bytes.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(sum(&bytes), sum(&other), "{len}, {bit}");
            }
        }
    }
}
