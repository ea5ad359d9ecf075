//! Reads records, and checks the laws of each record.

use bytes::Bytes;
use logtool_core::{Block, Damage, Log, Part, Selection, Timestamp, TopicId};

/// An owned record, for comparisons.
pub type OwnedRecord = (TopicId, Timestamp, Vec<u8>);

/// Returns the records and the damage in the parts of `plan`.
pub fn read(
    log: &dyn Log,
    file: &Bytes,
    plan: &[Part],
    selection: &Selection,
) -> (Vec<OwnedRecord>, Vec<Damage>) {
    let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
    for part in plan {
        let mut cursor = log.read(part, selection).expect("a planned part opens");
        let mut fills = 0;
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            fills += 1;
            assert!(
                fills <= part.bytes.end - part.bytes.start,
                "the cursor makes progress"
            );
            for lost in block.damage() {
                let range = &lost.bytes;
                assert!(range.start <= range.end, "{lost:?}");
                assert!(part.bytes.start <= range.start, "{lost:?} before {part:?}");
                assert!(range.end <= part.bytes.end, "{lost:?} behind {part:?}");
                damage.push(lost.clone());
            }
            for record in block.iter() {
                let start = record.offset as usize;
                let bytes = file.get(start..start + record.payload.len());
                assert_eq!(
                    bytes,
                    Some(record.payload),
                    "a record is bytes of the file"
                );
                assert!(selection.contains(record.topic, record.time), "{record:?}");
                assert!(part.topics.contains(record.topic), "{record:?} in {part:?}");
                assert!(part.time.contains(record.time), "{record:?} in {part:?}");
                records.push((record.topic, record.time, record.payload.to_vec()));
            }
        }
        assert!(!cursor.fill(&mut block).expect("the end stays the end"));
    }
    (records, damage)
}
