//! The compression of the chunks of a bag or an MCAP file, as text.

use logtool_core::{ChunkStatistics, CompressionStatistics, Value};

use crate::text::units::{Bytes, Count, count_of};

/// Returns a line for each compression in the metadata `chunks` of a log.
pub(super) fn lines(chunks: Option<&Value>) -> Vec<String> {
    let Some(all_chunks) = chunks.and_then(ChunkStatistics::from_value) else {
        return Vec::new();
    };
    let line = |(name, statistics): (&String, &CompressionStatistics)| {
        let CompressionStatistics { chunks, bytes, uncompressed_bytes } = *statistics;
        let share = bytes as f64 * 100.0 / uncompressed_bytes.max(1) as f64;
        let (bytes, uncompressed) = (Bytes(bytes), Bytes(uncompressed_bytes));
        let chunks = if all_chunks.inspected_chunks < all_chunks.chunks {
            let (chunks, inspected, total) = (
                Count(chunks),
                Count(all_chunks.inspected_chunks),
                Count(all_chunks.chunks),
            );
            format!("{chunks} of the {inspected} inspected, of {total}")
        } else {
            count_of(chunks, "chunk")
        };
        format!(
            "{name:?}: {chunks}, {bytes} of {uncompressed} uncompressed ({share:.1} %)"
        )
    };
    all_chunks.by_compression.iter().map(line).collect()
}
