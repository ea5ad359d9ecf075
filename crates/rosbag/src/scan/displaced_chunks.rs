//! Chunks that are not where the index tells, as bytes came in or are missing before them.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Result, TimeRange};

use crate::{
    bag::Bag,
    entries::{MAX_INDEX, each_entry},
    index::IndexedChunk,
    toplevel::Tops,
};

/// Where in `bytes`, which are no records, chunks began that are lost, as the index tells.
/// Those that are as far behind it as the chunk is that follows `bytes` were only moved.
pub(super) fn places(
    bag: &Bag,
    tops: &mut Tops,
    bytes: Range<u64>,
) -> Result<Vec<u64>> {
    let told = bag.told()?;
    let from = told.partition_point(|chunk| chunk.at < bytes.start);
    let to = told.partition_point(|chunk| chunk.at < bytes.end);
    let told = told.get(from..to).unwrap_or_default();
    let all = told.iter().map(|chunk| chunk.at);
    if told.is_empty() || bag.told_of(bytes.end)?.is_some() {
        return Ok(all.collect());
    }
    // Several may say that their index data are the same.
    let mut room = MAX_INDEX;
    let Some(next) = content(tops, bytes.end, &mut room)? else {
        return Ok(all.collect());
    };
    let Some(moved) = told.iter().rev().find(|chunk| is_of(&next, chunk)) else {
        return Ok(all.collect());
    };
    let shift = bytes.end - moved.at;
    let mut places = Vec::new();
    for chunk in told {
        let found = content(tops, chunk.at + shift, &mut room)?;
        if !found.is_some_and(|found| is_of(&found, chunk)) {
            places.push(chunk.at);
        }
    }
    Ok(places)
}

/// How many messages each connection has in a chunk, and when.
type Content = (BTreeMap<u32, u64>, TimeRange);

/// What index data tell of the chunk at `at`, if there is one and they are not too long.
fn content(tops: &mut Tops, at: u64, room: &mut u64) -> Result<Option<Content>> {
    // What has no head is the rest of one that was there.
    let chunk = tops.chunk(at)?.filter(|(_, data)| data.start > at);
    let Some((_, data)) = chunk else { return Ok(None) };
    let mut content = (BTreeMap::new(), TimeRange::EMPTY);
    let is_all = each_entry(tops, data.end, room, |connection, time, _| {
        *content.0.entry(connection).or_default() += 1;
        content.1 = content.1.cover(&TimeRange::from_timestamp(time));
    });
    Ok(Some(content).filter(|_| is_all))
}

/// Whether a chunk of this content is the one that the index tells of as `told`.
fn is_of((counts, time): &Content, told: &IndexedChunk) -> bool {
    let all = told.counts.iter().filter(|(_, count)| *count > 0);
    let all: BTreeMap<u32, u64> =
        all.map(|(id, count)| (*id, (*count).into())).collect();
    !all.is_empty() && *counts == all && told.time == *time
}
