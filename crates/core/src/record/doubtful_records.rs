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
    /// Returns the records of `block` by topic if the block has doubtful damage, i.e. if a
    /// checksum is wrong. Then all its records are doubtful.
    pub(crate) fn in_block(block: &Block) -> Vec<Self> {
        let mut damage = block.damage().iter();
        let Some(doubtful) = damage.find(|damage| damage.kind == DamageKind::Doubtful)
        else {
            return Vec::new();
        };
        let mut by_topic: BTreeMap<TopicId, Self> = BTreeMap::new();
        for record in block.iter() {
            let (bytes, topic) = (doubtful.bytes.clone(), record.topic);
            let time = TimeRange::from_timestamp(record.time);
            let records_of_topic = by_topic.entry(topic).or_insert(Self {
                bytes,
                topic,
                records: 0,
                time,
            });
            records_of_topic.records += 1;
            records_of_topic.time = records_of_topic.time.cover(&time);
        }
        by_topic.into_values().collect()
    }

    /// Returns the damage to report if the records are dropped.
    pub(crate) fn drop_damage(&self) -> Damage {
        let damage = Damage::new(DamageKind::Garbled, self.bytes.clone())
            .with_records(self.records, Some(self.topic))
            .with_reason("left out: a checksum is wrong");
        Damage { time: Some(self.time), ..damage }
    }
}
