//! Help for tests: reading whole tables.

use arrow_array::RecordBatch;
use logtool_core::{Block, Columns, Log, Selection, TopicId, TopicSort, View};

/// Returns all rows of the only topic of `log`.
pub(crate) fn table(log: &dyn Log, view: View) -> RecordBatch {
    let mut decoder = log.decoder(TopicId(0), &Columns::new(view)).unwrap();
    let (selection, mut block) = (Selection::default(), Block::default());
    let mut damage = Vec::new();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.sort_by_topic(&mut TopicSort::default());
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    decoder.take().unwrap()
}
