//! Statistics of chunks and their index data, without decompression.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{
    MetadataKey, Part, Result, SizeDistribution, Timestamp, TopicId, Value,
};

use crate::{
    connections::connection_table::ConnectionTable,
    file::{
        bag::Bag,
        compression_stats::CompressionStats,
        toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    wire,
};

/// Adds the times of all messages of `part`, which is a chunk, to `times`. Returns `false`, without
/// changes, if the index data after the chunk do not list them all.
pub(crate) fn times(
    bag: &Bag,
    table: &ConnectionTable,
    part: &Part,
    times: &mut Vec<(TopicId, Timestamp)>,
) -> Result<bool> {
    let len_before = times.len();
    let mut toplevel = TopLevelReader::new(bag.source.clone());
    let has_times = add_index_times(&mut toplevel, table, part, times)?;
    if !has_times {
        times.truncate(len_before);
    }
    Ok(has_times)
}

/// Adds the times in the index data of `part` to `times`; returns whether they are complete.
fn add_index_times(
    toplevel: &mut TopLevelReader,
    table: &ConnectionTable,
    part: &Part,
    times: &mut Vec<(TopicId, Timestamp)>,
) -> Result<bool> {
    let (start, end) = (part.bytes.start, part.bytes.end);
    let Some((_, data)) = toplevel.chunk(start)? else { return Ok(false) };
    let mut at = data.end;
    let mut connections = BTreeSet::new();
    while at < end {
        let Some(TopLevelRecord { kind, data }) = toplevel.record_at(at)? else {
            return Ok(false);
        };
        match kind {
            TopLevelKind::Index { connection, count, version: 1 } => {
                let topic = table.lookup(connection, start);
                let topic = topic.and_then(|entry| table.topic(entry));
                let entries = toplevel.data(&data)?.unwrap_or_default();
                let is_complete =
                    entries.len() as u64 == u64::from(count) * wire::INDEX_ENTRY_LEN;
                // If a connection has two records, only the chunk shows which messages it has.
                let is_first = connections.insert(connection);
                let Some(topic) = topic.filter(|_| is_complete && is_first) else {
                    return Ok(false);
                };
                let listed =
                    wire::index_entries(&entries).map(|(time, _)| (topic, time));
                times.extend(listed);
            }
            TopLevelKind::Padding | TopLevelKind::Other => {}
            _ => return Ok(false),
        }
        at = data.end;
    }
    Ok(!connections.is_empty())
}

/// Returns the compression statistics of the chunks of `parts`, with one read for each.
pub(crate) fn file_structure(
    bag: &Bag,
    parts: &[Part],
) -> Result<BTreeMap<String, Value>> {
    let mut toplevel = TopLevelReader::new(bag.source.clone());
    let (mut compression, mut sizes) = (CompressionStats::default(), Vec::new());
    for part in parts {
        if let Some((chunk_header, data)) = toplevel.chunk(part.bytes.start)? {
            let len = data.end.min(toplevel.len()).saturating_sub(data.start);
            sizes.push((len, u64::from(chunk_header.declared_size)));
            compression.add(&chunk_header, len);
        }
    }
    let distribution = |size: fn(&(u64, u64)) -> u64| {
        let distribution = SizeDistribution::new(sizes.iter().map(size).collect());
        distribution
            .map_or_else(|| Value::Map(BTreeMap::new()), SizeDistribution::to_value)
    };
    Ok(BTreeMap::from([
        (MetadataKey::Chunks.into(), compression.to_value()),
        (MetadataKey::ChunkBytes.into(), distribution(|(packed, _)| *packed)),
        (
            MetadataKey::UncompressedChunkBytes.into(),
            distribution(|(_, unpacked)| *unpacked),
        ),
    ]))
}
