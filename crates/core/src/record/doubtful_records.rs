//! Records with a wrong checksum.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    model::{
        damage::{Damage, DamageKind},
        time::TimeRange,
        topic::TopicId,
    },
    record::block::Block,
};

/// Records of one topic that are covered by a wrong checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubtfulRecords {
    /// The bytes of the file that the checksum covers.
    pub bytes: Range<u64>,
    /// The topic.
    pub topic: TopicId,
    /// The number of records.
    pub records: u64,
    /// The times of the records.
    pub time: TimeRange,
}

impl DoubtfulRecords {
    /// Returns the records of `block` by topic, if a checksum of its part is wrong. Then
    /// all records in the block are doubtful.
    pub(crate) fn in_block(block: &Block) -> Vec<Self> {
        let mut damage = block.damage().iter();
        let Some(entry) = damage.find(|damage| damage.kind == DamageKind::Doubtful)
        else {
            return Vec::new();
        };
        let mut topics: BTreeMap<TopicId, Self> = BTreeMap::new();
        for record in block.iter() {
            let (bytes, topic) = (entry.bytes.clone(), record.topic);
            let time = TimeRange::from_timestamp(record.time);
            let damage_of_topic =
                topics.entry(topic).or_insert(Self { bytes, topic, records: 0, time });
            damage_of_topic.records += 1;
            damage_of_topic.time = damage_of_topic.time.cover(&time);
        }
        topics.into_values().collect()
    }

    /// Returns the damage to report if the records are dropped.
    pub(crate) fn drop_damage(&self) -> Damage {
        let damage = Damage::new(DamageKind::Garbled, self.bytes.clone());
        let damage = damage.with_records(self.records, Some(self.topic));
        Damage { time: Some(self.time), ..damage }
            .with_reason("left out: a checksum is wrong")
    }
}
