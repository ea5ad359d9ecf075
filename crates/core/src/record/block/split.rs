//! Splitting blocks and runs.

use std::iter;

use super::{Block, RecordEntry, Run};

impl Block {
    /// Moves the records from `index` on into a new block with the same bytes. The
    /// damage stays in this block.
    #[must_use]
    pub fn split_off(&mut self, index: usize) -> Self {
        let mut tail = Self::default();
        let entries = self.entries.split_off(index.min(self.entries.len()));
        tail.share_records(self, entries);
        tail
    }
}

impl<'b> Run<'b> {
    /// Splits the run into runs with at most `max_bytes` bytes of payloads, or with one
    /// longer record.
    pub(crate) fn split(self, max_bytes: usize) -> impl Iterator<Item = Self> {
        let mut remaining = self.entries;
        iter::from_fn(move || {
            let count = leading_records(remaining, max_bytes).max(1);
            let (entries, later) = remaining.split_at_checked(count)?;
            remaining = later;
            Some(Self { block: self.block, entries })
        })
    }
}

/// Returns how many of the first records have at most `max_bytes` bytes of payloads
/// together.
fn leading_records(entries: &[RecordEntry], max_bytes: usize) -> usize {
    let mut bytes = 0_usize;
    for (index, entry) in entries.iter().enumerate() {
        bytes = bytes.saturating_add(entry.end.saturating_sub(entry.start) as usize);
        if bytes > max_bytes {
            return index;
        }
    }
    entries.len()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::model::{
        damage::{Damage, DamageKind},
        time::Timestamp,
        topic::TopicId,
    };

    #[test]
    fn split_off_moves_records_and_keeps_damage() {
        let mut block = Block::default();
        block.reset(Bytes::from_static(b"abcd"), 100);
        for index in 0..4 {
            block.push(
                TopicId(7),
                Timestamp::from_nanos(index as i64),
                index..index + 1,
            );
        }
        block.report(Damage::new(DamageKind::Garbled, 104..105));
        let tail = block.split_off(3);
        let payloads = |block: &Block| -> Vec<(u64, Vec<u8>)> {
            block
                .iter()
                .map(|record| (record.offset, record.payload.to_vec()))
                .collect()
        };
        assert_eq!(
            payloads(&block),
            [(100, b"a".to_vec()), (101, b"b".to_vec()), (102, b"c".to_vec())]
        );
        assert_eq!(payloads(&tail), [(103, b"d".to_vec())]);
        assert_eq!((block.damage().len(), tail.damage().len()), (1, 0));
        assert!(block.split_off(9).is_empty());
        assert_eq!(block.len(), 3);
    }

    #[test]
    fn run_is_split_by_bytes_or_into_single_long_records() {
        let mut block = Block::default();
        block.reset(Bytes::from_static(b"abcdefghij"), 0);
        for range in [0..2, 2..4, 4..4, 4..5, 5..9, 9..10] {
            block.push(TopicId(7), Timestamp::from_nanos(0), range);
        }
        let run = block.runs().next().unwrap();
        let payloads: Vec<Vec<&[u8]>> =
            run.split(3).map(|short_run| short_run.payloads().collect()).collect();
        let expected: [Vec<&[u8]>; 4] =
            [vec![b"ab"], vec![b"cd", b"", b"e"], vec![b"fghi"], vec![b"j"]];
        assert_eq!(payloads, expected);
    }
}
