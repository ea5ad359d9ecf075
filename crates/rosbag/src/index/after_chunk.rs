//! What lies behind a chunk, beside what the index at the end tells of it.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Result, TimeRange};

use crate::{
    index::IndexedChunk,
    toplevel::{Top, TopKind, Tops},
    wire,
};

/// What was found behind a chunk.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// Where there are chunks of which the index does not tell.
    pub(super) unnamed: Vec<u64>,
    /// Whether the chunk does not have the messages that the index tells, but others, or more.
    pub(super) is_other: bool,
}

/// Looks at `bytes`, which lie between `chunk` and the next of which the index tells. If they
/// are no more than its index data should be, only who is thorough does.
pub(super) fn look(
    tops: &mut Tops,
    chunk: &IndexedChunk,
    bytes: Range<u64>,
    is_thorough: bool,
) -> Result<Behind> {
    let mut behind = Behind::default();
    let told = chunk.counts.iter().filter(|(_, count)| *count > 0);
    let len =
        told.map(|(_, count)| wire::INDEX_HEAD + 12 * u64::from(*count)).sum::<u64>();
    if !is_thorough && bytes.end.saturating_sub(bytes.start) <= len {
        return Ok(behind);
    }
    let (mut at, mut found) = (bytes.start, BTreeMap::<u32, u64>::new());
    while at < bytes.end {
        let Some(Top { kind, data }) = tops.look(at)? else { break };
        match kind {
            TopKind::Chunk(_) => behind.unnamed.push(at),
            TopKind::Message => {
                behind.is_other = true;
                break; // behind them is no index data of this chunk
            }
            TopKind::Index { connection, count, .. } if behind.unnamed.is_empty() => {
                *found.entry(connection).or_default() += u64::from(count);
                behind.is_other |= is_thorough && !is_within(tops, &data, chunk.time)?;
            }
            _ => {}
        }
        at = data.end.max(at + 1);
    }
    let mut counts = BTreeMap::<u32, u64>::new();
    for (connection, count) in chunk.counts.iter().filter(|(_, count)| *count > 0) {
        *counts.entry(*connection).or_default() += u64::from(*count);
    }
    behind.is_other |= !found.is_empty() && found != counts;
    Ok(behind)
}

/// Whether the entries of index data, which are `data`, are of times within `time`.
fn is_within(tops: &mut Tops, data: &Range<u64>, time: TimeRange) -> Result<bool> {
    let entries = tops.data(data)?.unwrap_or_default();
    Ok(wire::index_entries(&entries).all(|(at, _)| time.contains(at)))
}
