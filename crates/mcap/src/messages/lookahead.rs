//! Examines the first JSON messages of a log for the ranges of their integers, before
//! the types of the columns are chosen.

use std::collections::{BTreeMap, HashMap};

use logtool_core::{Block, Log, Result, Selection, TopicId, TopicSet};

use crate::{
    messages::{
        self,
        json::{IntegerTypes, RangeReader},
    },
    wire::PAYLOAD_HEADER_LEN,
};

/// The maximum number of bytes that are examined, so that large logs are not read
/// twice.
const LOOKAHEAD_BYTES: u64 = 8 << 20;

/// Returns the types of the integers that do not fit in the types that the schema implies,
/// by topic. It examines only the first messages of `log`. Errors are ignored here: they
/// are reported when the messages are read.
pub(crate) fn integer_types(log: &dyn Log) -> BTreeMap<u32, IntegerTypes> {
    let readers = log.manifest().topics().filter_map(|(id, topic)| {
        let reader = messages::json_reader(topic)?;
        reader.has_integers().then(|| (id, RangeReader::new(reader)))
    });
    let mut readers: HashMap<TopicId, RangeReader> = readers.collect();
    if !readers.is_empty() {
        let _ = examine_messages(log, &mut readers);
    }
    let types = readers.into_iter().map(|(topic, reader)| (topic.0, reader.types()));
    types.filter(|(_, types)| !types.is_empty()).collect()
}

/// Passes the first messages of the topics of `readers` to their readers.
fn examine_messages(
    log: &dyn Log,
    readers: &mut HashMap<TopicId, RangeReader>,
) -> Result<()> {
    let topics = TopicSet::from_iter(readers.keys().copied());
    let selection = Selection { topics, ..Selection::default() };
    let mut remaining_bytes = LOOKAHEAD_BYTES;
    let mut block = Block::default();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            for record in block.iter() {
                if let Some(reader) = readers.get_mut(&record.topic) {
                    let payload = record.payload.get(PAYLOAD_HEADER_LEN as usize..);
                    reader.read(payload.unwrap_or_default());
                }
            }
            match remaining_bytes.checked_sub(block.bytes().len() as u64) {
                Some(remaining) => remaining_bytes = remaining,
                None => return Ok(()),
            }
        }
    }
    Ok(())
}
