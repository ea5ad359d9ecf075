//! Chunks that are not at their position in the index, because bytes were inserted or are missing.

use std::ops::Range;

use logtool_core::Result;

use crate::file::{
    bag::Bag,
    index_entries::{ListedMessages, MAX_INDEX},
    toplevel_record::TopLevelReader,
};

/// Returns the positions of lost chunks in `bytes`, which contain no records, by the index. Chunks
/// that are as far from their position in the index as the chunk that follows `bytes` are only
/// displaced, and not lost.
pub(super) fn displaced_chunks(
    bag: &Bag,
    toplevel: &mut TopLevelReader,
    bytes: Range<u64>,
) -> Result<Vec<u64>> {
    let listed = bag.listed_chunks()?;
    let from = listed.partition_point(|chunk| chunk.at < bytes.start);
    let to = listed.partition_point(|chunk| chunk.at < bytes.end);
    let listed = listed.get(from..to).unwrap_or_default();
    let offsets_in_index = listed.iter().map(|chunk| chunk.at);
    if listed.is_empty() || bag.listed_chunk(bytes.end)?.is_some() {
        return Ok(offsets_in_index.collect());
    }
    // Several chunk infos may refer to the same index data.
    let mut remaining_bytes = MAX_INDEX;
    let Some(next) =
        ListedMessages::after_chunk(toplevel, bytes.end, &mut remaining_bytes)?
    else {
        return Ok(offsets_in_index.collect());
    };
    let Some(displaced) = listed.iter().rev().find(|chunk| chunk.lists(&next)) else {
        return Ok(offsets_in_index.collect());
    };
    let shift = bytes.end - displaced.at;
    let mut offsets = Vec::new();
    for chunk in listed {
        let listed = ListedMessages::after_chunk(
            toplevel,
            chunk.at + shift,
            &mut remaining_bytes,
        )?;
        if !listed.is_some_and(|listed| chunk.lists(&listed)) {
            offsets.push(chunk.at);
        }
    }
    Ok(offsets)
}
