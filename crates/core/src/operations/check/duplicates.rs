//! Finding duplicate records.

use std::collections::{BTreeMap, HashMap};

use crate::{
    model::{
        finding::{Finding, FindingCode, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static DUPLICATE: FindingCode = FindingCode::warning(
    "record.duplicate",
    "a record occurs twice, with the same topic, time and bytes",
);

/// The maximum number of records of one stream and time that are compared.
const MAX_COMPARED: usize = 64;
/// The size in bytes from which on payloads are hashed in four independent lanes.
const MIN_PARALLEL_BYTES: usize = 256;

/// Remembers the last records of each stream of each topic.
pub(super) struct DuplicateFinder {
    /// The first stream of each topic. Most topics have only one.
    first_streams: Vec<Option<(u32, LastRecords)>>,
    other_streams: HashMap<(TopicId, u32), LastRecords>,
    findings: BTreeMap<TopicId, Finding>,
}

/// The last records of a stream, which have the same time.
struct LastRecords {
    time: Timestamp,
    /// The hashes of their payloads.
    hashes: Vec<u64>,
}

impl DuplicateFinder {
    pub(super) fn new(topic_count: usize) -> Self {
        Self {
            first_streams: std::iter::repeat_with(|| None).take(topic_count).collect(),
            other_streams: HashMap::new(),
            findings: BTreeMap::new(),
        }
    }

    /// Compares the next record, whose payload has this [`hash`].
    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader, hash: u64) {
        let RecordHeader { topic, stream, time, .. } = *record;
        let no_records = || LastRecords { time, hashes: Vec::new() };
        let first_stream = self
            .first_streams
            .get_mut(topic.index())
            .map(|first| first.get_or_insert_with(|| (stream, no_records())));
        let last_records = match first_stream {
            Some((first_stream, last_records)) if *first_stream == stream => {
                last_records
            }
            _ => self.other_streams.entry((topic, stream)).or_insert_with(no_records),
        };
        if last_records.is_duplicate(time, hash) {
            self.count_duplicate(record);
        }
    }

    #[cold]
    fn count_duplicate(&mut self, record: &RecordHeader) {
        let time = TimeRange::from_timestamp(record.time);
        match self.findings.get_mut(&record.topic) {
            Some(finding) => {
                finding.count += 1;
                finding.time = finding.time.map(|range| range.cover(&time));
            }
            None => {
                let text = "a record occurs twice, with the same time and bytes";
                let finding = Finding::new(&DUPLICATE, text)
                    .with_topic(record.topic)
                    .with_time(time)
                    .with_bytes(record.bytes());
                self.findings.insert(record.topic, finding);
            }
        }
    }

    pub(super) fn report(self, findings: &mut Findings) {
        self.findings.into_values().for_each(|finding| findings.add(finding));
    }
}

impl LastRecords {
    /// Adds the next record. Returns whether it is a duplicate.
    #[inline]
    fn is_duplicate(&mut self, time: Timestamp, hash: u64) -> bool {
        if self.time != time {
            self.time = time;
            self.hashes.clear();
        } else if self.hashes.contains(&hash) {
            return true;
        }
        if self.hashes.len() < MAX_COMPARED {
            self.hashes.push(hash);
        }
        false
    }
}

/// Returns a hash of `bytes`. It is not cryptographic, because a forged
/// collision has no benefit.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut hash = bytes.len() as u64;
    let mut remaining = bytes;
    if bytes.len() >= MIN_PARALLEL_BYTES {
        // The processor computes four independent hashes in parallel.
        let (rows, tail) = bytes.as_chunks::<32>();
        let mut lanes = [1, 2, 3, 4];
        for row in rows {
            let (words, _) = row.as_chunks::<8>();
            for (lane, word_bytes) in lanes.iter_mut().zip(words) {
                *lane = mix(*lane, word(word_bytes));
            }
        }
        hash = lanes.into_iter().fold(hash, mix);
        remaining = tail;
    }
    let (words, tail) = remaining.as_chunks::<8>();
    hash = words.iter().fold(hash, |hash, word_bytes| mix(hash, word(word_bytes)));
    match bytes.last_chunk() {
        // The last word overlaps with bytes that were already hashed.
        Some(last_word) if !tail.is_empty() => mix(hash, word(last_word)),
        _ => tail.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_differ_for_any_flipped_bit_and_other_lengths() {
        for len in [
            0,
            1,
            7,
            8,
            9,
            31,
            MIN_PARALLEL_BYTES - 1,
            MIN_PARALLEL_BYTES,
            MIN_PARALLEL_BYTES + 1,
            MIN_PARALLEL_BYTES + 39,
        ] {
            let bytes = vec![7; len];
            assert_eq!(hash(&bytes), hash(&bytes.clone()), "{len}");
            assert_ne!(hash(&bytes), hash(&vec![7; len + 1]), "{len}");
            assert_ne!(hash(&vec![0; len]), hash(&vec![0; len + 1]), "{len}");
            for bit in 0..8 * len {
                let mut other = bytes.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(hash(&bytes), hash(&other), "{len}, {bit}");
            }
        }
    }
}
