//! Reads files whose messages differ in their last byte.

use logtool_core::{Block, Damage, Log as _, Selection};
use logtool_mcap::McapLog;

/// Returns the last byte of each message, and the damage.
pub(crate) fn read(log: &McapLog) -> (Vec<u8>, Vec<Damage>) {
    let (selection, mut block) = (Selection::default(), Block::default());
    let (mut messages, mut damage) = (Vec::new(), Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            messages.extend(block.iter().map(|record| *record.payload.last().unwrap()));
            damage.extend_from_slice(block.damage());
        }
    }
    (messages, damage)
}
