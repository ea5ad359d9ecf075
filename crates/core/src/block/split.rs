//! Blocks in pieces.

use super::Block;

impl Block {
    /// Takes the records from number `at` on out of the block: another one of the same
    /// bytes. What is damaged stays told by the first.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        let mut rest = Self::default();
        let entries = self.entries.split_off(at.min(self.entries.len()));
        rest.share(self, entries);
        rest
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        damage::{Damage, DamageKind},
        time::Timestamp,
        topic::TopicId,
    };

    #[test]
    fn the_pieces_have_the_records_and_the_first_the_damage() {
        let mut block = Block::default();
        block.reset(Bytes::from_static(b"abcd"), 100);
        for at in 0..4 {
            block.push(TopicId(7), Timestamp::from_nanos(at as i64), at..at + 1);
        }
        block.report(Damage::new(DamageKind::Garbled, 104..105));
        let rest = block.split_off(3);
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
        assert_eq!(payloads(&rest), [(103, b"d".to_vec())]);
        assert_eq!((block.damage().len(), rest.damage().len()), (1, 0));
        assert!(block.split_off(9).is_empty());
        assert_eq!(block.len(), 3);
    }
}
