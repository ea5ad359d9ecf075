//! Functions that several tests of this crate use.

use arrow_array::RecordBatch;
use logtool_core::{Block, Columns, Damage, Log as _, Selection, TopicId};
use logtool_mcap::McapLog;

/// Returns the columns of the topic `id`, and the damage found while decoding.
pub(crate) fn table(log: &McapLog, id: TopicId) -> (RecordBatch, Vec<Damage>) {
    let topics = [id].into_iter().collect();
    let (selection, mut damage) =
        (Selection { topics, ..Selection::default() }, Vec::new());
    let mut decoder = log.decoder(id, &Columns::default()).unwrap();
    let mut block = Block::default();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    (decoder.take().unwrap(), damage)
}
