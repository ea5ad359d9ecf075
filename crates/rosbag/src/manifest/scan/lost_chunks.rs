//! Chunks that the index lists and that cannot be found in the file.

use std::ops::Range;

use logtool_core::Result;

use crate::file::{
    bag::Bag,
    index_entries::{ListedMessages, MAX_INDEX},
    toplevel_record::TopLevelReader,
};

/// Returns the positions in `bytes`, which contain no records, where the index lists chunks that
/// are lost.
///
/// If bytes were inserted or are missing before, the chunks are displaced: the chunk that follows
/// `bytes` is not at its position in the index either. Chunks with the same displacement exist, and
/// are not lost.
pub(super) fn lost_chunks(
    bag: &Bag,
    toplevel: &mut TopLevelReader,
    bytes: Range<u64>,
) -> Result<Vec<u64>> {
    let listed = bag.listed_chunks()?;
    let first = listed.partition_point(|chunk| chunk.at < bytes.start);
    let end = listed.partition_point(|chunk| chunk.at < bytes.end);
    let listed = listed.get(first..end).unwrap_or_default();
    let listed_positions = listed.iter().map(|chunk| chunk.at);
    if listed.is_empty() || bag.listed_chunk(bytes.end)?.is_some() {
        return Ok(listed_positions.collect());
    }
    // Several chunk infos may refer to the same index data.
    let mut remaining_bytes = MAX_INDEX;
    let Some(next) =
        ListedMessages::after_chunk(toplevel, bytes.end, &mut remaining_bytes)?
    else {
        return Ok(listed_positions.collect());
    };
    // The listed chunk that follows `bytes` in the file.
    let Some(displaced) = listed.iter().rev().find(|chunk| chunk.lists(&next)) else {
        return Ok(listed_positions.collect());
    };
    let displacement = bytes.end - displaced.at;
    let mut lost_positions = Vec::new();
    for chunk in listed {
        let listed = ListedMessages::after_chunk(
            toplevel,
            chunk.at + displacement,
            &mut remaining_bytes,
        )?;
        if !listed.is_some_and(|listed| chunk.lists(&listed)) {
            lost_positions.push(chunk.at);
        }
    }
    Ok(lost_positions)
}
